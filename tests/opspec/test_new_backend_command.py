"""`opspec new-backend`: a package that passes as it stands, or a refusal and nothing written."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from opspec import new_backend_command
from opspec.cli import main
from opspec.conformance.runner import check


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_the_package_is_whole_and_nothing_else_is_left(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-backend", "my-own"]) == 0
    assert written(place) == {
        "my-own/pyproject.toml",
        "my-own/README.md",
        "my-own/LICENSE",
        "my-own/.gitignore",
        "my-own/src/my_own/__init__.py",
        "my-own/src/my_own/conv3d_backprop_input_v2.py",
        "my-own/tests/test_conformance.py",
        "my-own/.github/workflows/test.yml",
    }
    assert [entry.name for entry in place.iterdir()] == ["my-own"]
    printed = capsys.readouterr().out
    assert "  pip install --editable my-own\n  opspec check my-own\n" in printed
    assert "my-own/src/my_own/conv3d_backprop_input_v2.py" in printed


def test_no_placeholder_is_left_and_the_entry_point_leads_to_the_backend(place: Path) -> None:
    assert main(["new-backend", "my-own"]) == 0
    for file in written(place):
        text = (place / file).read_text("utf-8")
        assert "@name@" not in text
        assert "@module@" not in text
    project = tomllib.loads((place / "my-own" / "pyproject.toml").read_text("utf-8"))
    points = project["project"]["entry-points"]["opspec.backends"]
    assert points == {"my-own": "my_own:backend"}


def test_every_template_has_its_place() -> None:
    folder = Path(new_backend_command.__file__).with_name("new_backend")
    assert {file.name for file in folder.iterdir()} == set(new_backend_command.PLACES)


def test_it_does_all_that_it_declares_and_declares_all_that_it_does(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["new-backend", "fresh-one"]) == 0
    monkeypatch.syspath_prepend(place / "fresh-one" / "src")
    report = check("fresh_one:backend", strict=True)
    assert report.ok, report.objections
    assert report.executed > 100


def test_its_own_test_passes_and_fails_with_a_wrong_kernel(place: Path) -> None:
    assert main(["new-backend", "mine"]) == 0
    package = place / "mine"
    # Not installed, it goes by its place.
    test = package / "tests" / "test_conformance.py"
    test.write_text(test.read_text("utf-8").replace('"mine"', '"mine:backend"'), "utf-8")

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
            cwd=package,
            env=os.environ | {"PYTHONPATH": str(package / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    done = run()
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    kernel = package / "src" / "mine" / "conv3d_backprop_input_v2.py"
    right = kernel.read_text("utf-8")
    assert "taps[tap].T" in right
    kernel.write_text(right.replace("taps[tap].T", "taps[tap].T * 2"), "utf-8")
    done = run()
    assert done.returncode == 1
    assert "expected exactly" in done.stdout


def test_an_empty_folder_is_filled_and_another_one_made(place: Path) -> None:
    (place / "empty").mkdir()
    assert main(["new-backend", "mine", "--into", "empty"]) == 0
    assert main(["new-backend", "mine", "--into", str(place / "other")]) == 0
    assert written(place / "empty") == written(place / "other")
    assert sorted(entry.name for entry in place.iterdir()) == ["empty", "other"]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("Mine", "'Mine' is no name for a backend; allowed are lower-case letters"),
        ("9mine", "'9mine' is no name for a backend"),
        ("my--own", "'my--own' is no name for a backend"),
        ("my-", "'my-' is no name for a backend"),
        ("../up", "'../up' is no name for a backend"),
        ("mine\n", "'mine\\n' is no name for a backend"),
        ("", "'' is no name for a backend"),
        ("class", "'class' is a word of Python's"),
        ("numpy", "a backend named 'numpy' is installed already; allowed is any name but cupy,"),
        ("json", "there is a module named 'json' already"),
    ],
)
def test_a_name_that_cannot_be_is_refused(
    name: str, error: str, place: Path, complaint: Callable[[], str]
) -> None:
    assert main(["new-backend", name]) == 2
    assert f"opspec: {error}" in complaint()
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "error"),
    [
        ("full", "the folder full is not empty, and nothing is written over"),
        ("full/file", "full/file is no folder"),
        ("dangling", "dangling is no folder"),
        ("nowhere/mine", "there is no folder nowhere to write mine into"),
    ],
)
def test_a_place_that_is_taken_is_refused(
    folder: str, error: str, place: Path, complaint: Callable[[], str]
) -> None:
    (place / "full").mkdir()
    (place / "full" / "file").write_text("kept", "utf-8")
    (place / "dangling").symlink_to("nothing")
    assert main(["new-backend", "mine", "--into", folder]) == 2
    assert f"opspec: {error}" in complaint()
    assert written(place) == {"full/file"}
    assert (place / "full" / "file").read_text("utf-8") == "kept"


@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_left_of_a_package_that_cannot_be_finished(
    exists: bool, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if exists:
        (place / "mine").mkdir()
    monkeypatch.setitem(new_backend_command.PLACES, "missing.template", "missing")
    assert main(["new-backend", "mine"]) == 1
    assert written(place) == set()
    assert [entry.name for entry in place.iterdir()] == ["mine"] * exists
