"""New arrays, and one that is kept for the next call.

Fresh pages are dear: the system clears each when it is first touched, which takes longer than the
packing of what is then written into it.
"""

import threading
from math import prod
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

CACHE_LINE = 64
SMALL = 64 * 2**10
MOST_KEPT = 4 * 2**20

_own = threading.local()


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return a new array, not filled; all but small ones begin at a cache line."""
    size = prod(shape) * dtype.itemsize
    if size < SMALL:
        return np.empty(shape, dtype)
    room = np.empty(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + size].view(dtype).reshape(shape)


def borrowed(size: int) -> Array:
    """Return at least `size` bytes that are nobody else's until they are returned.

    A signal handler that calls opspec in the middle of a call finds none kept, and gets its own.
    """
    kept: Array | None = getattr(_own, "kept", None)
    if kept is None or kept.size < size:
        return aligned((size,), np.dtype(np.uint8))
    _own.kept = None
    return kept


def returned(room: Array) -> None:
    """Keep what was borrowed for this thread's next call, if it is not too much."""
    if room.size <= MOST_KEPT:
        _own.kept = room
