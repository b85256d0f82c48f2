"""The Numba backend: compiled for this CPU at the first call, then kept on disk."""

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec

from opspec.cache_folder import folder
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS
from opspec.registry import Backend, Capabilities, Cost


def _unavailable() -> str | None:
    if find_spec("numba") is None:
        return "numba is not installed; pip install 'opspec[numba]'"
    return None


def _warm(dtype: str, data_format: str) -> Iterator[str]:
    # Imported when first needed, with Numba.
    from opspec.backends.numba.warm import warm

    return warm(dtype, data_format)


def _facts() -> Mapping[str, Callable[[], object]]:
    if find_spec("numba") is None:
        return {}
    # As above.
    from opspec.backends.numba.facts import processor, vectors

    return {"vectors": vectors, "processor": processor}


backend = Backend(
    name="numba",
    arrays="numpy.ndarray",
    capabilities=Capabilities(
        operations=("Conv3D", "Conv3DBackpropInputV2"),
        dtypes=FLOATING,
        data_formats=DATA_FORMATS,
    ),
    kernel_modules=(
        "opspec.backends.numba.conv3d",
        "opspec.backends.numba.conv3d_backprop_input_v2",
    ),
    unavailable=_unavailable,
    cost=Cost(start=4.0, call=15e-6, per_multiply_add=1.5e-11),
    warm=_warm,
    cached_in=folder,
    facts=_facts,
)
