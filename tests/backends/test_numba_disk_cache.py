"""Compiled kernels on disk: found again, never taken for others, and not needed."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import opspec

pytest.importorskip("numba", reason="numba is not installed; it comes with opspec[numba]")

import llvmlite
import numba

from opspec.backends.numba import disk_cache
from opspec.backends.numba.disk_cache import DiskCache
from opspec.cache_folder import ENVIRONMENT_VARIABLE, folder

CALL = """
    import logging, sys
    import numpy as np
    import opspec
    from opspec.backends.numba import kernels, target, ways

    logging.basicConfig(level=logging.WARNING, format="log: %(message)s")
    ways.TINY = 0

    def called(dtype, data_format="NDHWC"):
        data = np.arange(2 * 3 * 4 * 5 * 9).reshape(2, 3, 4, 5, 9) % 5 - 2
        filters = np.arange(2 * 3 * 2 * 18 * 9).reshape(2, 3, 2, 18, 9) % 7 - 3
        shape = [2, 6, 8, 10, 18]
        if data_format == "NCDHW":
            data, shape = np.moveaxis(data, -1, 1), [2, 18, 6, 8, 10]
        results = [
            opspec.nn.conv3d_transpose(
                data.astype(dtype), filters.astype(dtype), shape, 2,
                data_format=data_format, backend=backend,
            )
            for backend in ("numba", "numpy")
        ]
        assert np.array_equal(*results), (dtype, data_format)

    def hits():
        made = kernels.gather(target.host(), "float32", False)
        return made._cache.hits
"""


def run(program: str, cache: Path | str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CALL) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, ENVIRONMENT_VARIABLE: str(cache)},
        check=False,
    )


@pytest.mark.slow
def test_what_one_process_compiles_another_loads_among_its_own(tmp_path: Path) -> None:
    first = run('called("float32"); print(hits())', tmp_path)
    assert (first.returncode, first.stdout) == (0, "0\n"), first.stderr
    # Numba links by name. Kernels for other dtypes have parts of the same names.
    order = """
    called("float16"); called("float64", "NCDHW")
    called("float32"); called("float32", "NCDHW"); called("float16", "NCDHW"); called("float32")
    print(hits())
    """
    second = run(order, tmp_path)
    assert (second.returncode, second.stdout) == (0, "1\n"), second.stderr
    third = run(order, tmp_path)
    assert (third.returncode, third.stdout) == (0, "1\n"), third.stderr


@pytest.mark.slow
def test_a_damaged_file_is_compiled_anew(tmp_path: Path) -> None:
    assert run('called("float32")', tmp_path).returncode == 0
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:1000])
    again = run('called("float32"); print(hits())', tmp_path)
    assert (again.returncode, again.stdout) == (0, "0\n"), again.stderr
    assert run('called("float32"); print(hits())', tmp_path).stdout == "1\n"


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    done = run('called("float32"); called("float64")', in_the_way / "cache")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("log:")]
    assert len(said) == 1
    assert "not kept on disk" in said[0]
    assert ENVIRONMENT_VARIABLE in said[0]


class _Codegen:
    def __init__(self, cpu: str) -> None:
        self.cpu = cpu

    def magic_tuple(self) -> tuple[str, ...]:
        return ("triple", self.cpu, "+features")


@pytest.fixture
def forgotten() -> None:
    disk_cache._sources.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_the_name_depends_on_cpu_versions_sources_and_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def name(kernel: str = "gather", cpu: str = "zen", signature: str = "int64") -> str:
        disk_cache._sources.cache_clear()
        return DiskCache(kernel)._file(signature, _Codegen(cpu)).name

    names = [name(), name("scatter"), name(cpu="old"), name(signature="int32")]
    for module in (numba, llvmlite, opspec):
        with monkeypatch.context() as patched:
            patched.setattr(module, "__version__", "0.0")
            names.append(name())
    with monkeypatch.context() as patched:
        # As if one source file of the backend, the intrinsics say, had one more comment.
        for file in Path(disk_cache.__file__).parent.glob("*.py"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
        with (tmp_path / "vectors.py").open("a") as written:
            written.write("# changed\n")
        patched.setattr(disk_cache, "__file__", str(tmp_path / "disk_cache.py"))
        names.append(name())
    assert len(set(names)) == len(names)
    disk_cache._sources.cache_clear()
    assert name() == names[0]


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    assert folder() == tmp_path
    monkeypatch.delenv(ENVIRONMENT_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform != "darwin":
        assert folder() == tmp_path / "xdg" / "opspec"
