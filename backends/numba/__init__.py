"""The Numba backend's place: its entry point and its reason for not running yet."""

from opspec.registry import Backend, Capabilities


def _unavailable() -> str:
    return "this version of opspec has no Numba kernels; the numpy backend takes its calls"


backend = Backend(
    name="numba",
    arrays="numpy.ndarray",
    capabilities=Capabilities(operations=(), dtypes=(), data_formats=()),
    unavailable=_unavailable,
)
