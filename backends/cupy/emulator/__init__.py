"""The CuPy backend where there is no GPU: its own kernels, compiled by g++ and run on the CPU.

For people who change the kernels, and for CI. The host code is the real one and its arrays are
genuine `cupy.ndarray` objects over this process's memory; `emulated.hpp` stands in for CUDA. It is
about a thousand times slower than a GPU and no way to get work done: nothing chooses it unless it
is named, as ``opspec check cupy --emulated`` does.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from opspec.backends.cupy import ARRAYS, SIXTEEN_BITS, declared
from opspec.backends.cupy.emulator import build
from opspec.dtypes import FLOATING
from opspec.registry import Backend

BLIND = (
    "emulated: the kernels ran on a CPU. Not seen: speed, occupancy, weak memory ordering and "
    "races between blocks, the tensor cores' own order of adding, cuBLAS, streams, the "
    "memory pool, several devices"
)
BLIND_TO_CUDNN = (
    "emulated: cuDNN made the plans, for a device that is described, and NumPy computed what the "
    "plans say. Not seen: cuDNN's engines, speed, streams, the memory pool"
)


def _unavailable() -> str | None:
    if find_spec("cupy") is None:
        return "CuPy is not installed; pip install 'opspec[cuda13]' (it needs no GPU here)"
    return build.unavailable()


def _from_numpy(array: Any) -> Any:
    from opspec.backends.cupy.emulator.memory import from_numpy

    return from_numpy(array)


def _to_numpy(array: Any) -> Any:
    from opspec.backends.cupy.emulator.memory import to_numpy

    return to_numpy(array)


def _without_cudnn() -> str | None:
    if why := _unavailable():
        return why
    from opspec.backends.cupy.emulator import cudnn_port

    return cudnn_port.unavailable()


def emulated(
    name: str,
    dtypes: tuple[str, ...] = FLOATING,
    without: Callable[[], str | None] = _unavailable,
    caveat: str = BLIND,
) -> Backend:
    """Return a backend object whose kernels `on_host.py` hands in."""
    return Backend(
        name=name,
        arrays=ARRAYS,
        capabilities=declared(dtypes),
        kernel_modules=("opspec.backends.cupy.emulator.on_host",),
        unavailable=without,
        from_numpy=_from_numpy,
        to_numpy=_to_numpy,
        caveat=caveat,
    )


backend = emulated("cupy-emulated")
gemm = emulated("cupy-gemm-emulated")
simt = emulated("cupy-simt-emulated")
tensor = emulated("cupy-tensor-emulated", SIXTEEN_BITS)
cudnn = emulated("cupy-cudnn-emulated", without=_without_cudnn, caveat=BLIND_TO_CUDNN)
