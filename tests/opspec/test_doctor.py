"""`opspec doctor`: every finding, and that one broken part is said and hides no other."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opspec
from opspec import doctor, threads
from opspec.backends.cupy import facts as cupy_facts
from opspec.cli import main
from opspec.registry import Backend, Capabilities, discovery

ROOT = Path(__file__).parents[2]
NOTHING = Capabilities(operations=(), dtypes=(), data_formats=())


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes these backends the only ones."""

    def only(*backends: tuple[str, Backend | None, str | None]) -> None:
        monkeypatch.setattr(doctor, "installed", lambda: list(backends))

    return only


def examined(capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert main(["doctor", "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["ok"] is (code == 0)
    return found


def test_it_says_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "kernel").write_bytes(bytes(2**20))
    monkeypatch.setenv("OPSPEC_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("OPSPEC_NUM_THREADS", "3")
    found = examined(capsys)
    assert found["versions"]["opspec"] == opspec.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert found["processor"]["threads for one call"] == 3
    assert found["processor"]["cores that may be used"] == threads.usable_cores()
    assert found["cache"] == {
        "folder": str(tmp_path),
        "files": 1,
        "size": "1.0 MiB",
        "writable": True,
    }
    assert found["environment"]["OPSPEC_NUM_THREADS"].startswith("'3': ")
    assert "blas" in str(found["BLAS"]).lower() or "mkl" in str(found["BLAS"]).lower()
    assert found["backends"]["numpy"]["can run"] is True
    assert re.match(
        r"(avx512: 512|avx2: 256|neon: 128|portable: 128) bits",
        found["backends"]["numba"]["vectors"],
    )


def test_it_can_be_read_at_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "\n  numpy: can run\n    arrays: numpy.ndarray\n" in text
    paths = re.compile(r"^ *\S+$")
    assert all(len(line) <= 80 or paths.match(line) for line in text.splitlines())


def test_every_variable_that_the_sources_read_is_known() -> None:
    read = re.compile(r'"((?:OPSPEC|XDG|CUDA)_[A-Z0-9_]+|NO_COLOR|FORCE_COLOR)"')
    # Children of tests and of generators get variables set for them; these two set, not read.
    files = [
        file
        for folder in ("opspec", "registry", "backends", "conformance")
        for file in (ROOT / folder).rglob("*.py")
        if file.name not in ("doctor.py", "tensorflow_child.py", "gradient_agreement.py")
    ]
    assert len(files) > 100
    found = {name for file in files for name in read.findall(file.read_text("utf-8"))}
    assert found == doctor.VARIABLES.keys()


def test_a_variable_that_nothing_reads_is_pointed_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPSPEC_NUMTHREADS", "2")
    said = examined(capsys)["environment"]["OPSPEC_NUMTHREADS"]
    assert said == "'2': opspec reads no variable of this name"


def test_what_is_broken_is_said_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPSPEC_NUM_THREADS", "many")
    monkeypatch.setenv("OPSPEC_CACHE_DIR", str(tmp_path / "file" / "under"))
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.setattr(np, "show_config", lambda mode: {})
    found = examined(capsys)
    threads_said = found["processor"]["threads for one call"]
    assert threads_said.startswith("cannot be found out: ValueError: the environment variable")
    assert found["processor"]["machine"]
    assert found["BLAS"]["libraries"] == "cannot be found out: KeyError: 'Build Dependencies'"
    assert found["cache"]["writable"] is False
    assert found["cache"]["files"] == 0


def test_without_threadpoolctl_numpy_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    assert "as NumPy was built" in examined(capsys)["BLAS"]["libraries"]


def broken() -> dict[str, Any]:
    raise OSError("the machine is on fire")


def test_where_no_backend_can_run_it_says_why_and_exits_with_1(
    installed: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = Backend(
        *("lacking", "numpy.ndarray", NOTHING),
        unavailable=lambda: "no device; buy one",
        facts=broken,
    )
    split = Capabilities(
        operations=("Conv3D",), dtypes=("float32",), data_formats=("NDHWC",), device="cuda"
    )
    torn = Backend("torn", "numpy.ndarray", split, kernel_modules=("no_such_kernels",))
    installed(
        ("lacking", lacking, None), ("torn", torn, None), ("gone", None, "cannot be loaded: why")
    )
    found = examined(capsys, code=1)["backends"]
    assert found["lacking"]["reason"] == "no device; buy one"
    assert found["lacking"]["facts"].endswith("OSError: the machine is on fire")
    assert found["torn"]["reason"].startswith("its kernel for Conv3D cannot be loaded: ModuleNot")
    assert found["torn"]["device"] == "cuda"
    assert found["gone"] == {"can run": False, "reason": "cannot be loaded: why"}


def test_one_fact_that_fails_hides_no_other(
    installed: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"fuel": broken, "colour": lambda: "red"}
    backend = Backend("mine", "numpy.ndarray", NOTHING, facts=lambda: facts)
    installed(("mine", backend, None))
    found = examined(capsys)["backends"]["mine"]
    assert found["fuel"] == "cannot be found out: OSError: the machine is on fire"
    assert found["colour"] == "red"


def test_cuda_is_asked_for_without_cupy_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cupy_facts, "find_spec", lambda name: None)
    driver = tmp_path / "version"
    monkeypatch.setattr(cupy_facts, "_DRIVER", driver)
    (ask,) = discovery.find("cupy").facts().values()
    assert ask() == "no NVIDIA driver is loaded"
    driver.write_text("NVRM version: NVIDIA UNIX Open Kernel Module 580.82\nGCC version: 12\n")
    assert ask() == "NVIDIA UNIX Open Kernel Module 580.82"


def test_what_cuda_has_is_said_part_by_part_with_cupy() -> None:
    pytest.importorskip("cupy", reason="CuPy is not installed")
    found = {name: doctor._answer(ask) for name, ask in cupy_facts.facts().items()}
    assert re.fullmatch(r"1[2-9]\.\d+", str(found["CUDA of CuPy"])) or "cannot be" in str(
        found["CUDA of CuPy"]
    )
    assert isinstance(found["GPUs"], list)
    assert set(found) == {
        *("driver", "CUDA of the driver", "CUDA of CuPy", "NVRTC", "headers", "GPUs")
    }
