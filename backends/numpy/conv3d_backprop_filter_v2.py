"""Conv3DBackpropFilterV2 in NumPy: what the taps read, as one matrix, times the gradient.

    result[t, c, j] = sum over n and o of input[n, i, c] * out_backprop[n, o, j],
                      i = o * stride + t * dilation - before

`windows.gathered` has what is read, a box of positions at a time; the products of all boxes are
added up in float32 or wider and rounded once.
"""

from typing import Any, TypeAlias

import numpy as np

from opspec import dtypes
from opspec.backends.numpy import backend
from opspec.backends.numpy.sums import summed_in
from opspec.backends.numpy.windows import channels_last, gathered
from opspec.geometry import ConvGeometry

Array: TypeAlias = np.ndarray[Any, Any]


@backend.implements("Conv3DBackpropFilterV2")
def conv3d_backprop_filter_v2(
    geometry: ConvGeometry, input: Array, out_backprop: Array, out: Array | None = None
) -> Array:
    """Compute the result of a validated problem, in `out` if given; the module's text says how."""
    dtype = dtypes.numpy_dtype(geometry.dtype)
    kind = summed_in(dtype)
    sums = np.zeros(geometry.filter_shape, kind)
    if not geometry.empty:
        gradient = channels_last(geometry, out_backprop)
        with np.errstate(all="ignore"):
            for part in gathered(geometry, input, kind):
                there = gradient[part.places].reshape(part.rows.shape[0], -1)
                reached = sums[part.taps]
                product = np.matmul(part.rows.T, there.astype(kind, copy=False))
                reached += product.reshape(reached.shape)
    if out is None:
        return sums.astype(dtype, copy=False)
    out[...] = sums
    return out
