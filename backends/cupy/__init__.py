"""The CuPy backend's place: its entry point and its reason for not running yet."""

from opspec.registry import Backend, Capabilities
from opspec.registry.backend import NUMPY_ARRAY


def _unavailable() -> str:
    return "this version of opspec has no CUDA kernels; convert to NumPy arrays (cupy.asnumpy)"


backend = Backend(
    name="cupy",
    arrays=NUMPY_ARRAY,
    capabilities=Capabilities(operations=(), dtypes=(), data_formats=(), device="cuda"),
    unavailable=_unavailable,
)
