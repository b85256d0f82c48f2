"""Conv3D in NumPy: what the taps read, as one matrix, times the filter.

    result[n, o, j] = sum over t and c of input[n, i, c] * filter[t, c, j],
                      i = o * stride + t * dilation - before

`windows.gathered` has what is read as rows of taps x channels, and a tap and channel of the filter
is a row of out_channels: each sum is whole within one matrix product, and is rounded once.
"""

from typing import Any, TypeAlias

import numpy as np

from opspec import dtypes
from opspec.backends.numpy import backend
from opspec.backends.numpy.sums import summed_in, zeros
from opspec.backends.numpy.windows import channels_last, gathered
from opspec.geometry import ConvGeometry

Array: TypeAlias = np.ndarray[Any, Any]


@backend.implements("Conv3D")
def conv3d(geometry: ConvGeometry, input: Array, filter: Array, out: Array | None = None) -> Array:
    """Compute the result of a validated problem, in `out` if given; the module's text says how."""
    dtype = dtypes.numpy_dtype(geometry.dtype)
    sums = summed_in(dtype)
    # At the edges there may be positions that no tap reaches.
    result = zeros(geometry.output_shape, dtype, out)
    if geometry.empty:
        return result
    target, wide = channels_last(geometry, result), filter.astype(sums, copy=False)
    with np.errstate(all="ignore"):
        for part in gathered(geometry, input, sums):
            panel = wide[part.taps].reshape(part.rows.shape[1], -1)
            reached = target[part.places]
            reached[...] = np.matmul(part.rows, panel).reshape(reached.shape)
    return result
