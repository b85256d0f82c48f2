"""Conv3DBackpropInputV2 with Numba: four kernels share the problems.

`direct` takes the tiny ones; `scatter` those whose made channels are too few to fill a vector;
`dots` those whose positions are too few to repay packing the filter, or whose packed filter would
be fetched again and again; `gather` all others. Which one it is, and how, is worked out once per
shape, dtype and layout (`ways`).
"""

from typing import Any, TypeAlias

import numpy as np

from opspec.backends.numba import backend
from opspec.backends.numba.target import host
from opspec.backends.numba.ways import way_for
from opspec.geometry import ConvGeometry

Array: TypeAlias = np.ndarray[Any, Any]


@backend.implements("Conv3DBackpropInputV2")
def conv3d_backprop_input_v2(
    geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
) -> Array:
    """Compute the result of a validated problem, into `out` if there is one."""
    compute = way_for(geometry, host())
    return compute(np.ascontiguousarray(filter), np.ascontiguousarray(out_backprop), out)
