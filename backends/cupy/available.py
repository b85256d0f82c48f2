"""Why the CuPy backend cannot run here, and what to install. Asked once, when first needed."""

# CuPy is an extra, and has no types.
# pyright: reportMissingImports=false

from importlib.util import find_spec

EXTRAS = "pip install 'opspec[cuda13]' (or 'opspec[cuda12]' for a driver of CUDA 12)"


def unavailable() -> str | None:
    """Say why there is no device to compute on, or None."""
    if find_spec("cupy") is None:
        return f"CuPy is not installed; {EXTRAS}"
    import cupy

    # Never raises, unlike all else that asks the driver; an installed CuPy says nothing about it.
    if not cupy.cuda.is_available():
        return _without_device(cupy.cuda.runtime.driverGetVersion())
    return _without_compiler()


def _without_device(driver: int) -> str:
    if driver == 0:
        return "no NVIDIA driver is loaded, so CuPy finds no GPU; install the driver"
    version = f"{driver // 1000}.{driver % 1000 // 10}"
    return (
        f"CuPy finds no GPU that it can use (the driver supports CUDA {version}); see nvidia-smi, "
        "CUDA_VISIBLE_DEVICES, and whether this CuPy is for a CUDA that the driver supports"
    )


def _without_compiler() -> str | None:
    """Say what is missing for compiling kernels, or None."""
    from opspec.backends.cupy.compiler import compiler_library, headers

    try:
        compiler_library()
    # A library that is not found shows as one of several types, by CuPy's version.
    except Exception as error:
        return f"NVRTC, which compiles the kernels, cannot be loaded ({error}); {EXTRAS}"
    if headers() is None:
        return f"CUDA's headers (cuda_fp16.h) are not installed; {EXTRAS}"
    return None
