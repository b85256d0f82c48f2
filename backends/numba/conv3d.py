"""Conv3D with Numba: gathered as the gradient by the input is, the two sides in each other's place.

    result[o, k] = sum over t, c of input[o * stride + t * dilation - before, c] * filter[t, c, k]

is what the kernel of `gather` computes with a gap of the stride.
"""

from typing import Any, TypeAlias

import numpy as np

from opspec.backends.numba import backend
from opspec.backends.numba.target import host
from opspec.backends.numba.ways import forward_way_for
from opspec.geometry import ConvGeometry

Array: TypeAlias = np.ndarray[Any, Any]


@backend.implements("Conv3D")
def conv3d(geometry: ConvGeometry, input: Array, filter: Array, out: Array | None = None) -> Array:
    """Compute the result of a validated problem, into `out` if there is one."""
    compute = forward_way_for(geometry, host())
    return compute(np.ascontiguousarray(filter), np.ascontiguousarray(input), out)
