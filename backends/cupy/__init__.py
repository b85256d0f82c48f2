"""The CuPy backend: `cupy.ndarray` in, `cupy.ndarray` out, on the arrays' NVIDIA GPU.

The rooms of a call, from the top: an operation's module says which side of a convolution is sought,
`compute` chooses a tier (`choice`), takes or makes its plan (`plan`, `filter_kernels`, `columns`,
`spread`, `cudnn`), and hands launches to the device (`device`). `cuda/` has the kernels, `kernels`
lists them, and `emulator/` runs all of this where there is no GPU.
"""

# CuPy is an extra, and has no types.
# pyright: reportMissingImports=false

from collections.abc import Iterator
from typing import Any

from opspec.backends.cupy.available import unavailable
from opspec.backends.cupy.facts import facts as cuda_facts
from opspec.cache_folder import folder
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS
from opspec.registry import Backend, Capabilities, Cost

ARRAYS = "cupy.ndarray"
SIXTEEN_BITS = ("float16", "bfloat16")


def _to_device(array: Any) -> Any:
    import cupy

    return cupy.asarray(array)


def _to_host(array: Any) -> Any:
    import cupy

    return cupy.asnumpy(array)


def declared(dtypes: tuple[str, ...] = FLOATING) -> Capabilities:
    """Return what this backend declares: everything, or all of some dtypes."""
    return Capabilities(
        operations=("Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"),
        dtypes=dtypes,
        data_formats=DATA_FORMATS,
        device="cuda",
    )


def _warm(dtype: str, data_format: str) -> Iterator[str]:
    from opspec.backends.cupy.on_device import port
    from opspec.backends.cupy.warm import warm

    return warm(port, dtype, data_format)


def on_device(name: str, dtypes: tuple[str, ...] = FLOATING) -> Backend:
    """Return a backend object whose kernels `on_device.py` hands in."""
    return Backend(
        name=name,
        arrays=ARRAYS,
        capabilities=declared(dtypes),
        kernel_modules=("opspec.backends.cupy.on_device",),
        unavailable=unavailable,
        from_numpy=_to_device,
        to_numpy=_to_host,
        # Placeholders of the right order: nothing else takes these arrays.
        cost=Cost(start=1.0, call=15e-6, per_multiply_add=1e-12),
        warm=_warm,
        cached_in=folder,
        facts=cuda_facts,
        emulated="opspec.backends.cupy.emulator:backend",
    )


backend = on_device("cupy")
