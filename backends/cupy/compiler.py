"""CUDA C++ to machine code by NVRTC, kept on disk.

CuPy's own way, RawModule(code=...), always ends its options with -ftz=true, which would flush
float32's subnormal numbers to zero; so the compiler is called here and CuPy loads what it made. It
also chooses sm_90 and not sm_90a, which the instructions of these kernels do not need.
"""

# CuPy is an extra, and has no types.
# pyright: reportMissingImports=false

import hashlib
import os
import threading
from functools import cache
from pathlib import Path
from typing import Any

from opspec.backends.cupy.kernels import Kernel
from opspec.cache_folder import kept

_LOADING = threading.Lock()

OPTIONS = ("-std=c++17", "-ftz=false", "-fmad=true", "--ptxas-options=-v")


class KernelCompileError(RuntimeError):
    """NVRTC refuses a kernel: a fault of opspec, or a toolkit that is too old."""


def compiler_library() -> Any:
    """Return CuPy's NVRTC, with its shared library loaded.

    The first call of any of its functions loads the library. Where two threads do so at once,
    NVRTC does not find the second library that it needs, and every compilation fails.
    """
    from cupy.cuda import nvrtc

    with _LOADING:
        nvrtc.getVersion()
    return nvrtc


@cache
def headers() -> str | None:
    """Return the folder of CUDA's headers, or None."""
    places = [Path(place) / "include" for place in (os.environ.get("CUDA_PATH"),) if place]
    try:
        from cuda.pathfinder import find_nvidia_header_directory

        found = find_nvidia_header_directory("cudart")
        places += [Path(found)] if found else []
    # It comes with CuPy from 14 on.
    except ImportError:
        pass
    places.append(Path("/usr/local/cuda/include"))
    return next((str(place) for place in places if (place / "cuda_fp16.h").is_file()), None)


def target(capability: int) -> str:
    """Return what to compile for: machine code where NVRTC knows the device's generation.

    Machine code runs on every later device of the same major capability. For a device that is
    newer than NVRTC, it is the newest virtual architecture, and the driver compiles the rest.
    """
    nvrtc = compiler_library()
    known = [arch for arch in nvrtc.getSupportedArchs() if arch <= capability]
    if not known:
        raise KernelCompileError(
            f"this NVRTC compiles for {min(nvrtc.getSupportedArchs())} and later; the device has "
            f"compute capability {capability / 10}"
        )
    newest = max(known)
    kind = "sm" if newest // 10 == capability // 10 else "compute"
    return f"{kind}_{newest}"


def module_file(kernel: Kernel, capability: int) -> Path:
    """Return a file with a kernel's machine code for a device, compiled at the first need."""
    nvrtc = compiler_library()
    arch = target(capability)
    source = kernel.source()
    digest = hashlib.sha256(repr((source, OPTIONS, arch, nvrtc.getVersion())).encode()).hexdigest()
    ending = "cubin" if arch.startswith("sm") else "ptx"
    name = f"{kernel.name}-{arch}-{digest[:32]}.{ending}"
    return kept(name, lambda to: to.write_bytes(compiled(source, arch)[0]))


def compiled(source: str, arch: str) -> tuple[bytes, str]:
    """Return machine code, or PTX for a virtual architecture, and what the compiler printed.

    Raises
    ------
    KernelCompileError
        If the compiler refuses the source.
    """
    nvrtc = compiler_library()
    options = (*OPTIONS, f"-arch={arch}", f"-I{headers()}")
    program: Any = nvrtc.createProgram(source, "opspec.cu", (), ())
    try:
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError:
            log = nvrtc.getProgramLog(program)
            raise KernelCompileError(f"NVRTC refuses a kernel for {arch}:\n{log[:2000]}") from None
        log = nvrtc.getProgramLog(program)
        if arch.startswith("sm"):
            # CuPy drops the last byte, which the format ends with.
            return nvrtc.getCUBIN(program) + b"\0", log
        return nvrtc.getPTX(program).encode(), log
    finally:
        nvrtc.destroyProgram(program)
