"""A complete opspec backend: each filter tap adds its matrix product where it lands."""

import numpy as np

from opspec.geometry import ConvGeometry
from opspec.registry import Backend, Capabilities, Cost

declared = Capabilities(
    operations=("Conv3DBackpropInputV2",), dtypes=("float32", "float64"), data_formats=("NDHWC",)
)
backend = Backend("plain", "numpy.ndarray", declared, cost=Cost(0, 300e-6, 1.2e-10))


@backend.implements("Conv3DBackpropInputV2")
@np.errstate(all="ignore")
def kernel(geometry: ConvGeometry, filter: np.ndarray, out_backprop: np.ndarray) -> np.ndarray:
    """Compute the result of a validated problem."""
    result = np.zeros(geometry.input_shape, geometry.dtype)
    for tap in np.ndindex(filter.shape[:3]):
        met = [(w, t, w.positions(t)) for w, t in zip(geometry.windows, tap, strict=True)]
        source = [slice(p.start, p.stop) for _, _, p in met]
        target = [slice(w.landing(p.start, t), w.landing(p.stop, t), w.stride) for w, t, p in met]
        result[:, *target] += out_backprop[:, *source] @ filter[tap].T
    return result
