"""Who may import whom, and that nothing is installed beside opspec."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINKS = ("backends", "conformance", "registry")


def test_the_folders_are_linked_into_the_one_import_root() -> None:
    for name in LINKS:
        link = ROOT / "opspec" / name
        assert link.is_symlink()
        assert str(link.readlink()) == f"../{name}"


@pytest.mark.slow
def test_the_layers_are_kept() -> None:
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout
    assert "0 broken" in found.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", folder, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_wheel_installs_opspec_and_nothing_else(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"opspec", f"{wheel.name[:12]}.dist-info"}
    for wanted in (
        "opspec/py.typed",
        "opspec/registry/selection.py",
        "opspec/backends/numpy/conv3d_backprop_input_v2.py",
        "opspec/conformance/golden/conv3d_transpose/real.safetensors",
        "opspec/conformance/golden/conv3d_transpose/real.json",
    ):
        assert wanted in names


@pytest.mark.slow
def test_the_sdist_holds_one_import_root(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    inside = {name.split("/")[1] for name in names if "/" in name}
    assert "opspec" in inside
    assert not inside & {*LINKS, "tests", "benchmarks", "examples"}


def test_no_module_is_imported_by_its_bare_folder_name() -> None:
    for file in (ROOT / "opspec").glob("*.py"):
        for name in LINKS:
            assert f"from {name}" not in file.read_text("utf-8")
    banned = ROOT / "pyproject.toml"
    for name in LINKS:
        assert f"{name}.msg" in banned.read_text("utf-8")
