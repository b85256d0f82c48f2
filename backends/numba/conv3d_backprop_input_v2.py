"""Conv3DBackpropInputV2 with Numba: three kernels share the problems.

`direct` takes the tiny ones; `scatter` those whose made channels are too few to fill a vector;
`gather` all others. Which one it is, and how, is worked out once per shape (`ways.recipe`).
"""

from typing import Any, TypeAlias

import numpy as np

from opspec import threads
from opspec.backends.numba import backend
from opspec.backends.numba.buffers import aligned
from opspec.backends.numba.target import Target, host
from opspec.backends.numba.ways import recipe
from opspec.geometry import ConvGeometry

Array: TypeAlias = np.ndarray[Any, Any]


@backend.implements("Conv3DBackpropInputV2")
def conv3d_backprop_input_v2(
    geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
) -> Array:
    """Compute the result of a validated problem, into `out` if there is one."""
    return compute(geometry, filter, out_backprop, out, host(), threads.limit())


def compute(
    geometry: ConvGeometry,
    filter: Array,
    out_backprop: Array,
    out: Array | None,
    target: Target,
    limit: int,
) -> Array:
    """Compute a problem for a target in at most `limit` threads."""
    shape, dtype, fill = recipe(geometry, target, limit)
    if out is None:
        out = aligned(shape, dtype)
    fill(np.ascontiguousarray(filter), np.ascontiguousarray(out_backprop), out)
    return out
