"""The choice among the ways to compute a problem.

It depends on shapes, dtype, layout and CPU alone, so that the same call always gives the same bits.
"""

from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from opspec import dtypes
from opspec.backends.numba import kernels
from opspec.backends.numba.axis import merged
from opspec.backends.numba.direct import direct_numbers
from opspec.backends.numba.dots_layout import dots_layout
from opspec.backends.numba.in_tasks import InTasks, LayOut
from opspec.backends.numba.layout import forward_layout, gather_layout, panels_overflow
from opspec.backends.numba.lines import STORED_BYTES, sum_bytes
from opspec.backends.numba.plain_ways import Directly, Nothing, OnCopies, Way
from opspec.backends.numba.scatter_layout import scatter_layout, scatters
from opspec.backends.numba.target import Target
from opspec.geometry import ConvGeometry

# Products that plain loops make before laying out, packing and sharing would have repaid itself;
# turning one element of the filter for them takes as long as so many.
TINY, TURNED = 1_000_000, 16
# What it takes to pack an element of the filter, and what a dot product of vectors costs more than
# one of a packed panel: at each end, and per element. As measured on one CPU; ratios matter.
PACKED, PER_DOT, PER_PRODUCT = 2.7, 0.5, 0.012
# Products that repay waking another thread: gathered or dotted, and scattered.
WORTH_THREADS, WORTH_SCATTERING = 8_000_000, 4_000_000


@lru_cache(maxsize=1024)
def way_for(geometry: ConvGeometry, target: Target) -> Way:
    """Return the way to compute a problem for a target."""
    multiply_adds = _products(geometry)
    if not multiply_adds:
        return Nothing(geometry.input_shape, dtypes.numpy_dtype(geometry.dtype))
    if multiply_adds + TURNED * prod(geometry.filter_shape) < TINY:
        return directly(geometry, target)
    simple = _merged(geometry)
    if scatters(simple, target):
        return scattering(geometry, target, multiply_adds)
    if few_positions(geometry) or panels_overflow(simple, target):
        return dotting(geometry, target, multiply_adds)
    return gathering(geometry, target, multiply_adds)


def _products(geometry: ConvGeometry) -> int:
    """Return how many products there are, those of taps that land outside left out."""
    met = (sum(len(w.positions(tap)) for tap in range(w.kernel)) for w in geometry.windows)
    return prod(met) * geometry.batch * geometry.in_channels * geometry.out_channels


def few_positions(geometry: ConvGeometry) -> bool:
    """Whether packing an element of the filter would cost more than using it as it lies."""
    positions = geometry.batch * prod(w.output for w in geometry.windows)
    return positions * (PER_DOT / geometry.out_channels + PER_PRODUCT) < PACKED


def directly(geometry: ConvGeometry, target: Target) -> Way:
    """Return the way of a tiny problem."""
    size, sums = sum_bytes(geometry.dtype), _sums(geometry)
    plain = Directly(
        _last(geometry).input_shape, sums, direct_numbers(geometry), kernels.direct(target, size)
    )
    return _on_copies(plain, geometry, sums)


def dotting(geometry: ConvGeometry, target: Target, multiply_adds: int) -> Way:
    """Return the way of a problem that has few positions."""
    stored = dtypes.numpy_dtype(geometry.dtype)
    kernel = kernels.dots(target, geometry.dtype)
    last = _last(geometry)
    inner = _in_tasks(
        last, _sums(geometry), target, multiply_adds, dots_layout, None, kernel, WORTH_THREADS
    )
    return _on_copies(inner, geometry, stored)


def _on_copies(inner: Way, geometry: ConvGeometry, filters: np.dtype[Any]) -> Way:
    """Copy what the way does not take as it is."""
    stored, sums = dtypes.numpy_dtype(geometry.dtype), _sums(geometry)
    channels_first = geometry.data_format == "NCDHW"
    if stored == sums and not channels_first:
        return inner
    return OnCopies(inner, sums, filters, stored, channels_first)


def _sums(geometry: ConvGeometry) -> np.dtype[Any]:
    return np.dtype(f"float{8 * sum_bytes(geometry.dtype)}")


def _last(geometry: ConvGeometry) -> ConvGeometry:
    return replace(geometry, data_format="NDHWC")


def gathering(
    geometry: ConvGeometry, target: Target, multiply_adds: int, *, forward: bool = False
) -> Way:
    """Return the way of a problem whose results are gathered, or of a convolution itself."""
    dtype, first = geometry.dtype, geometry.data_format == "NCDHW"
    kernel, pack = kernels.gather(target, dtype, first), kernels.pack(target, dtype)
    stored = dtypes.numpy_dtype(dtype)
    lay_out = forward_layout if forward else gather_layout
    way = _in_tasks(geometry, stored, target, multiply_adds, lay_out, pack, kernel, WORTH_THREADS)
    return replace(way, shape=geometry.output_shape) if forward else way


@lru_cache(maxsize=1024)
def forward_way_for(geometry: ConvGeometry, target: Target) -> Way:
    """Return the way of a convolution itself."""
    multiply_adds = _products(geometry)
    if not multiply_adds:
        return Nothing(geometry.output_shape, dtypes.numpy_dtype(geometry.dtype))
    return gathering(geometry, target, multiply_adds, forward=True)


def scattering(geometry: ConvGeometry, target: Target, multiply_adds: int) -> Way:
    """Return the way of a problem whose products are scattered."""
    dtype, first = geometry.dtype, geometry.data_format == "NCDHW"
    kernel, pack = kernels.scatter(target, dtype, first), kernels.pack_matrix(target, dtype)
    stored = dtypes.numpy_dtype(dtype)
    return _in_tasks(
        geometry, stored, target, multiply_adds, scatter_layout, pack, kernel, WORTH_SCATTERING
    )


def _in_tasks(
    geometry: ConvGeometry,
    dtype: np.dtype[Any],
    target: Target,
    multiply_adds: int,
    lay_out: LayOut,
    pack: Any,
    kernel: Any,
    worth: int,
) -> InTasks:
    # Lanes that do not exist are packed from zeros.
    zeros = np.zeros(geometry.out_channels * STORED_BYTES[geometry.dtype], np.uint8)
    simple, shape = _merged(geometry), geometry.input_shape
    return InTasks(shape, dtype, simple, target, multiply_adds, lay_out, pack, kernel, zeros, worth)


def _merged(geometry: ConvGeometry) -> ConvGeometry:
    return replace(geometry, windows=merged(geometry.windows))
