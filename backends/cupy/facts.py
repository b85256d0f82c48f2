"""What ``opspec doctor`` says about CUDA: the driver, its version and CuPy's, NVRTC, the GPUs."""

# CuPy is an extra, and has no types.
# pyright: reportMissingImports=false

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

_DRIVER = Path("/proc/driver/nvidia/version")


def facts() -> Mapping[str, Callable[[], object]]:
    """Return what there is to find out; without CuPy, whether there is a driver."""
    if find_spec("cupy") is None:
        return {"driver": _driver}
    return {
        "driver": _driver,
        "CUDA of the driver": _driver_version,
        "CUDA of CuPy": _runtime_version,
        "NVRTC": _compiler_version,
        "headers": _headers,
        "GPUs": _devices,
    }


def _driver() -> str:
    if not _DRIVER.exists():
        return "no NVIDIA driver is loaded"
    return _DRIVER.read_text().splitlines()[0].removeprefix("NVRM version: ").strip()


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _driver_version() -> str:
    import cupy

    found = cupy.cuda.runtime.driverGetVersion()
    return _dotted(found) if found else "none: no driver is loaded"


def _runtime_version() -> str:
    import cupy

    return _dotted(cupy.cuda.get_local_runtime_version())


def _compiler_version() -> str:
    from opspec.backends.cupy.compiler import compiler_library

    return ".".join(map(str, compiler_library().getVersion()))


def _headers() -> str:
    from opspec.backends.cupy.compiler import headers

    return headers() or "cuda_fp16.h is not found"


def _devices() -> list[str]:
    import cupy

    if not cupy.cuda.is_available():
        return []
    kinds = (cupy.cuda.Device(n) for n in range(cupy.cuda.runtime.getDeviceCount()))
    return [
        f"{cupy.cuda.runtime.getDeviceProperties(kind.id)['name'].decode()} "
        f"(compute capability {int(kind.compute_capability) / 10})"
        for kind in kinds
    ]
