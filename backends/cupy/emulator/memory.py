"""Genuine `cupy.ndarray` objects over this process's memory, between pages that nobody may touch.

The last byte of an array lies as close before such a page as alignment allows: a kernel that leaves
its arrays is stopped by the system.
"""

# CuPy is an extra, and has no types.
# pyright: reportMissingImports=false

import ctypes
import mmap
from typing import Any

import cupy
import numpy as np

PAGE = mmap.PAGESIZE
# What cudaMalloc gives out is aligned far better; kernels rely on this much of it.
ALIGNMENT = 16
POISON = 0xFF
# An array that spans more than this is mostly memory that nobody touches, and that costs nothing.
MOST_POISONED = 2**28
NO_ACCESS = 0
# Gaps between an operand's elements are kept as long as they are not most of the memory.
MOST_GAPS = 8

_libc = ctypes.CDLL(None, use_errno=True)


class _Room:
    """Poisoned bytes between two guarded pages."""

    def __init__(self, size: int) -> None:
        pages = -(-max(size, 1) // PAGE)
        self._map = mmap.mmap(-1, (pages + 2) * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        end = base + (pages + 1) * PAGE
        for guard in (base, end):
            if _libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(PAGE), NO_ACCESS):
                raise OSError(ctypes.get_errno(), "a guard page cannot be made")
        self.address = end - -(-size // ALIGNMENT) * ALIGNMENT
        ctypes.memset(self.address, POISON, min(size, MOST_POISONED))


def empty(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> Any:
    """Return a poisoned array; `strides` in bytes, C order if not given."""
    dtype = np.dtype(dtype)
    steps = _c_strides(shape, dtype.itemsize) if strides is None else strides
    before, after = _reach(shape, steps, dtype.itemsize)
    room = _Room(before + after)
    memory = cupy.cuda.UnownedMemory(room.address, max(before + after, 1), room, device_id=0)
    start = cupy.cuda.MemoryPointer(memory, before)
    return cupy.ndarray(shape, dtype, memptr=start, strides=steps)


def as_numpy(array: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy view of an emulated array. It must not outlive the array."""
    before, after = _reach(array.shape, array.strides, array.itemsize)
    if before + after == 0:
        return np.empty(array.shape, array.dtype)
    memory = (ctypes.c_char * (before + after)).from_address(array.data.ptr - before)
    return np.ndarray(array.shape, array.dtype, memoryview(memory), before, array.strides)


def to_numpy(array: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy copy."""
    return as_numpy(array).copy()


def from_numpy(array: np.ndarray[Any, Any]) -> Any:
    """Return a copy that lies in memory as the given array does, NaN in its gaps."""
    before, after = _reach(array.shape, array.strides, array.itemsize)
    wasteful = before + after > MOST_GAPS * array.nbytes
    made = empty(array.shape, array.dtype, None if wasteful else array.strides)
    as_numpy(made)[...] = array
    return made


def _c_strides(shape: tuple[int, ...], item: int) -> tuple[int, ...]:
    strides = [item]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * max(size, 1))
    return tuple(strides)


def _reach(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[int, int]:
    """Return how many bytes lie before the first element, and from it to the end."""
    if 0 in shape:
        return 0, 0
    steps = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    return -sum(step for step in steps if step < 0), sum(s for s in steps if s > 0) + item
