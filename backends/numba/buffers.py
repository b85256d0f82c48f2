"""New arrays; all but small ones begin at a cache line."""

from math import prod
from typing import Any

import numpy as np

CACHE_LINE = 64
SMALL = 64 * 2**10


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a new array, not filled."""
    size = prod(shape) * dtype.itemsize
    if size < SMALL:
        return np.empty(shape, dtype)
    room = np.empty(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + size].view(dtype).reshape(shape)
