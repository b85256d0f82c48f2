"""What the CuPy backend says where it cannot run, and how kernels are compiled and held to a table.

A CuPy made up for the test stands in for the installed one, so that every machine can be played.
"""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from opspec.backends.cupy import available, compiler, kernels, resources
from opspec.backends.cupy.resources import Compiled, Resources, key, worse


def no_library() -> tuple[int, int]:
    raise RuntimeError("libnvrtc.so.13 not found")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Install a CuPy with a GPU, a compiler and headers; a test takes away what it likes."""
    facts = SimpleNamespace(
        gpu=True, driver=13000, version=lambda: (13, 0), architectures=[75, 80, 86, 90, 100]
    )
    cupy, cuda, nvrtc = ModuleType("cupy"), ModuleType("cupy.cuda"), ModuleType("cupy.cuda.nvrtc")
    parts: dict[ModuleType, dict[str, Any]] = {
        cupy: {"cuda": cuda},
        cuda: {
            "is_available": lambda: facts.gpu,
            "runtime": SimpleNamespace(driverGetVersion=lambda: facts.driver),
            "nvrtc": nvrtc,
        },
        nvrtc: {
            "getVersion": lambda: facts.version(),
            "getSupportedArchs": lambda: facts.architectures,
        },
    }
    for module, attributes in parts.items():
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(available, "find_spec", lambda name: object())
    monkeypatch.setattr(compiler, "headers", lambda: "/usr/include")
    return facts


def test_nothing_is_missing(installed: SimpleNamespace) -> None:
    assert available.unavailable() is None


def test_cupy_is_missing(installed: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available, "find_spec", lambda name: None)
    reason = available.unavailable()
    assert reason is not None
    assert reason.startswith("CuPy is not installed; pip install 'opspec[cuda13]'")


def test_the_driver_is_missing(installed: SimpleNamespace) -> None:
    installed.gpu, installed.driver = False, 0
    assert available.unavailable() == (
        "no NVIDIA driver is loaded, so CuPy finds no GPU; install the driver"
    )


def test_the_gpu_is_missing(installed: SimpleNamespace) -> None:
    installed.gpu, installed.driver = False, 12040
    reason = available.unavailable()
    assert reason is not None
    assert "(the driver supports CUDA 12.4)" in reason
    assert "CUDA_VISIBLE_DEVICES" in reason


def test_the_compiler_is_missing(installed: SimpleNamespace) -> None:
    installed.version = no_library
    reason = available.unavailable()
    assert reason is not None
    assert "cannot be loaded (libnvrtc.so.13 not found); pip install 'opspec[cuda13]'" in reason


def test_headers_are_missing(installed: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "headers", lambda: None)
    reason = available.unavailable()
    assert reason is not None
    assert reason.startswith("CUDA's headers (cuda_fp16.h) are not installed; pip install")


def test_headers_are_found_where_the_toolkit_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cuda_fp16.h").touch()
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    compiler.headers.cache_clear()
    assert compiler.headers() == str(tmp_path / "include")
    compiler.headers.cache_clear()


@pytest.mark.parametrize(
    ("capability", "expected"),
    [(75, "sm_75"), (87, "sm_86"), (90, "sm_90"), (103, "sm_100"), (120, "compute_100")],
)
def test_what_a_device_gets(installed: SimpleNamespace, capability: int, expected: str) -> None:
    assert compiler.target(capability) == expected


def test_a_device_older_than_the_compiler_is_named(installed: SimpleNamespace) -> None:
    with pytest.raises(compiler.KernelCompileError, match=r"for 75 and later.*capability 7\.0"):
        compiler.target(70)


def test_a_kernel_is_held_to_the_table() -> None:
    kernel = kernels.gather("float32")
    found = Compiled(kernel, 90, Resources(40, 8, 0), ("HMMA",))
    name = key(kernel, 90)
    assert worse(found._replace(missing=()), {name: [40, 8, 0]}) == []
    assert worse(found._replace(missing=()), {name: [64, 8, 512]}) == []
    assert worse(found, {name: [39, 0, 0]}) == [
        f"{name}: 40 registers, 39 allowed",
        f"{name}: 8 spilled, 0 allowed",
        f"{name}: no HMMA in it",
    ]
    assert worse(found, {}) == [f"{name}: not in the table"]


def test_only_what_can_run_on_an_architecture_is_compiled_for_it() -> None:
    found = resources.tasks()
    assert {capability for _, capability in found} == set(resources.ARCHITECTURES)
    assert not any(kernel.file == "tensor.cu" and capability < 80 for kernel, capability in found)
    assert len(found) >= 450
