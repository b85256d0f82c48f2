"""Versions, and what the device says of itself."""

# CuPy and cuDNN's frontend are not installed where types are checked.
# pyright: reportMissingImports=false

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gpu.machines import Machine

PACKAGES = ("opspec", "numpy", "cupy-cuda12x", "cupy-cuda13x", "torch", "nvidia-cudnn-frontend")


def facts(machine: Machine) -> dict[str, Any]:
    """Return what a reader of the timings has to know."""
    traits = machine.port.traits()
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": dict(_versions()),
        "traits": {name: getattr(traits, name) for name in type(traits).__slots__},
        "tiers": list(machine.backends),
    }
    if not machine.dry:
        import cupy

        runtime = cupy.cuda.runtime
        found["driver"] = runtime.driverGetVersion()
        found["runtime"] = runtime.runtimeGetVersion()
        found["nvrtc"] = cupy.cuda.nvrtc.getVersion()
        found["device"] = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in runtime.getDeviceProperties(0).items()
        }
    if "cudnn" in machine.backends:
        import cudnn

        # What the emulator's devices.json holds from public specifications.
        found["cudnn"] = cudnn.backend_version_string()
        found["cudnn device"] = bytes(cudnn.create_device_properties(0).serialize()).decode()
    return found


def _versions() -> Any:
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue
