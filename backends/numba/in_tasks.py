"""The way of all large problems: pack the filter, then share a kernel's tasks among threads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opspec import threads
from opspec.backends.numba.buffers import aligned, borrowed, returned
from opspec.backends.numba.pack import Filter
from opspec.backends.numba.plan import Layout
from opspec.backends.numba.pool import run
from opspec.backends.numba.target import Target
from opspec.geometry import ConvGeometry

Array: TypeAlias = np.ndarray[Any, Any]
LayOut: TypeAlias = Callable[[ConvGeometry, Target, int, int], Layout]

MOST_THREADS = 256
# Bytes of packed filter that repay waking another thread.
WORTH_PACKING = 2**20
# More tasks than there are.
ALL = 2**62


@dataclass(frozen=True, slots=True)
class InTasks:
    """Pack the filter, then share the tasks of a kernel among threads.

    Parameters
    ----------
    shape, dtype
        Of the result.
    geometry, target, multiply_adds
        The problem, what it is compiled for, and its products.
    lay_out, pack, kernel
        How it is laid out, packed and computed.
    zeros
        What lanes that do not exist are packed from.
    worth
        Products that repay waking another thread.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    geometry: ConvGeometry
    target: Target
    multiply_adds: int
    lay_out: LayOut
    pack: Any
    kernel: Any
    zeros: Array
    worth: int

    def __call__(self, filter: Array, source: Array, out: Array | None) -> Array:
        """Compute in as many threads as are allowed, if they repay themselves."""
        if out is None:
            out = aligned(self.shape, self.dtype)
        limit = 1 if self.multiply_adds < self.worth else min(threads.limit(), MOST_THREADS)
        layout = self.lay_out(self.geometry, self.target, limit, self.multiply_adds)
        plan, room, turn, packed_bytes, cleared = layout
        if cleared:
            out.fill(0)
        given = Filter(filter.ctypes.data, self.zeros.ctypes.data)
        read, written = source.ctypes.data, out.ctypes.data
        packed = borrowed(packed_bytes)
        panels = packed.ctypes.data
        taken = Filter(panels, given.zeros) if packed_bytes else given

        def pack(counter: int, memory: int) -> bool:
            return bool(self.pack(plan, given, panels, counter, memory, ALL))

        def compute(counter: int, memory: int) -> bool:
            return bool(self.kernel(plan, read, written, taken, counter, memory, turn))

        if packed_bytes:
            run(pack, room, limit if packed_bytes > WORTH_PACKING else 1)
        run(compute, room, limit)
        returned(packed)
        return out
