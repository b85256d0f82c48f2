"""The ways to compute a problem, and the choice among them.

It depends on the shapes alone, so that the same call always gives the same bits.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from opspec import dtypes
from opspec.backends.numba import kernels
from opspec.backends.numba.buffers import aligned
from opspec.backends.numba.direct import Loops, direct_loops
from opspec.backends.numba.layout import Layout, gather_layout
from opspec.backends.numba.lines import STORED_BYTES, sum_bytes
from opspec.backends.numba.pack import Filter
from opspec.backends.numba.pool import run
from opspec.backends.numba.scatter_layout import scatter_layout, scatters
from opspec.backends.numba.target import Target
from opspec.geometry import ConvGeometry

Array: TypeAlias = np.ndarray[Any, Any]

TINY = 20_000
WORTH_THREADS = 400_000
ALL = 2**62


class Way(Protocol):
    """A way to compute a problem."""

    def __call__(self, filter: Array, source: Array, result: Array) -> None:
        """Fill `result` from contiguous operands."""


class Recipe(NamedTuple):
    """The shape and dtype of the result, and the way to it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    way: Way


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing lands inside, or there is nothing: the result is zeros."""

    def __call__(self, filter: Array, source: Array, result: Array) -> None:
        """Fill the result."""
        result.fill(0)


@dataclass(frozen=True, slots=True)
class Directly:
    """Plain loops. What is stored in half the width is computed on as a copy: it is tiny."""

    loops: Loops
    kernel: Any
    sums: Any

    def __call__(self, filter: Array, source: Array, result: Array) -> None:
        """Fill the result."""
        if self.sums is None:
            self.kernel(self.loops, source, filter, result)
            return
        sums = np.empty(result.shape, self.sums)
        self.kernel(self.loops, source.astype(self.sums), filter.astype(self.sums), sums)
        with np.errstate(all="ignore"):
            result[...] = sums


@dataclass(frozen=True, slots=True)
class InTasks:
    """Pack the filter, then share the tasks of a kernel among threads."""

    layout: Layout
    pack: Any
    kernel: Any
    threads: int
    zeros: Array

    def __call__(self, filter: Array, source: Array, result: Array) -> None:
        """Fill the result."""
        plan, room, turn, packed_bytes, cleared = self.layout
        if cleared:
            result.fill(0)
        given = Filter(filter.ctypes.data, self.zeros.ctypes.data)
        if packed_bytes:
            packed = aligned((packed_bytes,), np.dtype(np.uint8))
            panels = packed.ctypes.data

            def pack(counter: int, memory: int) -> bool:
                return bool(self.pack(plan, given, panels, counter, memory, ALL))

            run(pack, room, self.threads)
            given = Filter(panels, given.zeros)
        read, written = source.ctypes.data, result.ctypes.data

        def compute(counter: int, memory: int) -> bool:
            return bool(self.kernel(plan, read, written, given, counter, memory, turn))

        run(compute, room, self.threads)


@lru_cache(maxsize=1024)
def recipe(geometry: ConvGeometry, target: Target, threads: int) -> Recipe:
    """Return how to compute a problem for a target, in at most `threads` threads."""
    way = _way(geometry, target, threads)
    return Recipe(geometry.input_shape, dtypes.numpy_dtype(geometry.dtype), way)


def _way(geometry: ConvGeometry, target: Target, threads: int) -> Way:
    multiply_adds = prod(
        sum(len(w.positions(tap)) for tap in range(w.kernel)) for w in geometry.windows
    )
    multiply_adds *= geometry.batch * geometry.in_channels * geometry.out_channels
    if not multiply_adds:
        return Nothing()
    if multiply_adds < TINY:
        return directly(geometry)
    if multiply_adds < WORTH_THREADS:
        threads = 1
    if scatters(geometry, target):
        return scattering(geometry, target, threads, multiply_adds)
    return gathering(geometry, target, threads, multiply_adds)


def directly(geometry: ConvGeometry) -> Way:
    """Return the way of a tiny problem."""
    sums = np.float32 if STORED_BYTES[geometry.dtype] < 4 else None
    return Directly(direct_loops(geometry), kernels.direct(sum_bytes(geometry.dtype)), sums)


def gathering(geometry: ConvGeometry, target: Target, threads: int, multiply_adds: int) -> Way:
    """Return the way of a problem whose results are gathered."""
    dtype, first = geometry.dtype, geometry.data_format == "NCDHW"
    layout = gather_layout(geometry, target, threads, multiply_adds)
    kernel, pack = kernels.gather(target, dtype, first), kernels.pack(target, dtype)
    return InTasks(layout, pack, kernel, threads, _zeros(geometry))


def scattering(geometry: ConvGeometry, target: Target, threads: int, multiply_adds: int) -> Way:
    """Return the way of a problem whose products are scattered."""
    dtype, first = geometry.dtype, geometry.data_format == "NCDHW"
    layout = scatter_layout(geometry, target, threads, multiply_adds)
    kernel, pack = kernels.scatter(target, dtype, first), kernels.pack_matrix(target, dtype)
    return InTasks(layout, pack, kernel, threads, _zeros(geometry))


def _zeros(geometry: ConvGeometry) -> Array:
    """Return what lanes that do not exist are packed from."""
    return np.zeros(geometry.out_channels * STORED_BYTES[geometry.dtype], np.uint8)
