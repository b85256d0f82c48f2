"""Conv3DBackpropInputV2 in NumPy: matrix products, then one strided addition per filter tap.

Idea: position o of `out_backprop` spreads its vector of channels through every tap t of the filter
and lands at i = o * stride + t * dilation - before (`Window.landing`):

    result[n, i, c] += sum over j of out_backprop[n, o, j] * filter[t, c, j]

The sums over j, for many positions at once, are one matrix product. What one tap makes of
neighbouring positions lands a stride apart, so it is added as one strided slice. Positions are
taken in boxes, which bounds the temporary memory and lets the additions find the products in the
cache. float16 and bfloat16 are summed in float32, a slab of the result at a time, and rounded once.

The additions cost as much as the products, so the products are laid out for them: channels last as
the result is, unless there are so few that a run along the width is longer. Then, and in NCDHW, all
taps go into one large product; else each tap has its own, which keeps its additions contiguous.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from opspec import dtypes
from opspec.backends.numpy import backend
from opspec.backends.numpy.boxes import boxes
from opspec.backends.numpy.sums import zeros
from opspec.backends.numpy.windows import channels_last
from opspec.geometry import ConvGeometry, Window

Array: TypeAlias = np.ndarray[Any, Any]
Tap: TypeAlias = tuple[int, ...]
Meeting: TypeAlias = tuple[slice, slice]
Slices: TypeAlias = tuple[slice, ...]

PRODUCTS_OF_ALL_TAPS = 8 * 2**20
PRODUCTS_OF_ONE_TAP = 2**20
SLAB = 16 * 2**20
FEW_CHANNELS = 8


@backend.implements("Conv3DBackpropInputV2")
def conv3d_backprop_input_v2(
    geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
) -> Array:
    """Compute the result of a validated problem, in `out` if given; the module's text says how."""
    dtype = dtypes.numpy_dtype(geometry.dtype)
    if geometry.empty:
        return zeros(geometry.input_shape, dtype, out)
    with np.errstate(all="ignore"):
        if dtype.itemsize >= 4:
            result = zeros(geometry.input_shape, dtype, out)
            _spread(geometry, np.ascontiguousarray(filter), out_backprop, result)
            return result
        result = np.empty(geometry.input_shape, dtype) if out is None else out
        wide = filter.astype(np.float32, order="C")
        for slab, batch, part in _slabs(geometry, result):
            sums = np.zeros(part.shape, np.float32)
            _spread(slab, wide, out_backprop[batch], sums)
            part[...] = sums
    return result


def _slabs(geometry: ConvGeometry, result: Array) -> Iterator[tuple[ConvGeometry, slice, Array]]:
    """Cut the result; each slab is a problem of its own, its padding shifted to where it starts."""
    places = [range(geometry.batch), *(range(window.input) for window in geometry.windows)]
    for box in boxes(places, SLAB // (4 * geometry.in_channels)):
        depth, height, width = (
            replace(window, input=len(span), before=window.before + span.start)
            for window, span in zip(geometry.windows, box[1:], strict=True)
        )
        batch, *spans = (slice(span.start, span.stop) for span in box)
        channels = [slice(None)] * (geometry.data_format == "NCDHW")
        part = result[batch, *channels, *spans]
        slab = replace(geometry, batch=len(box[0]), windows=(depth, height, width))
        yield slab, batch, part


def _spread(geometry: ConvGeometry, filter: Array, out_backprop: Array, sums: Array) -> None:
    """Add to `sums` all that `out_backprop` spreads into it."""
    windows = geometry.windows
    source, target = channels_last(geometry, out_backprop), channels_last(geometry, sums)
    taps = list(product(*(range(window.kernel) for window in windows)))
    together = _taps_go_together(geometry)
    groups = [taps] if together else [[tap] for tap in taps]
    room = (PRODUCTS_OF_ALL_TAPS if together else PRODUCTS_OF_ONE_TAP) // sums.itemsize
    widest = max(len(groups[0]) * geometry.in_channels, geometry.out_channels)
    positions = [range(geometry.batch), *(_reaching(window) for window in windows)]
    for box in boxes(positions, room // widest):
        meetings = [_meetings(window, span) for window, span in zip(windows, box[1:], strict=True)]
        batch, *spans = (slice(span.start, span.stop) for span in box)
        vectors = source[batch, *spans].astype(sums.dtype, copy=False)
        for group in groups:
            landings = [_landing(meetings, tap) for tap in group]
            if not any(landings):
                continue
            products = _products(vectors, filter, group, _channels_are_rows(geometry))
            for landing, spread in zip(landings, products, strict=True):
                if landing is not None:
                    inside, places = landing
                    reached = target[batch, *places]
                    reached += spread[:, *inside]


def _channels_are_rows(geometry: ConvGeometry) -> bool:
    """Whether the products have the width innermost, not the made channels."""
    return geometry.data_format == "NCDHW" or geometry.in_channels < FEW_CHANNELS


def _taps_go_together(geometry: ConvGeometry) -> bool:
    """Whether one product serves all taps; with long runs and many channels each has its own."""
    contiguous = geometry.windows[2].stride == 1 and geometry.in_channels >= 2 * FEW_CHANNELS
    return _channels_are_rows(geometry) and not contiguous


def _reaching(window: Window) -> range:
    """Return the positions from the first to the last that have a tap inside."""
    reached = [window.positions(tap) for tap in range(window.kernel)]
    reached = [positions for positions in reached if positions]
    if not reached:
        return range(0)
    return range(min(r.start for r in reached), max(r.stop for r in reached))


def _meetings(window: Window, span: range) -> list[Meeting | None]:
    """Return per tap which part of `span` lands inside, counted in the span, and where it lands."""
    found: list[Meeting | None] = []
    for tap in range(window.kernel):
        inside = window.positions(tap)
        start, stop = max(inside.start, span.start), min(inside.stop, span.stop)
        if start >= stop:
            found.append(None)
            continue
        first, last = window.landing(start, tap), window.landing(stop - 1, tap)
        part = slice(start - span.start, stop - span.start)
        found.append((part, slice(first, last + 1, window.stride)))
    return found


def _landing(meetings: list[list[Meeting | None]], tap: Tap) -> tuple[Slices, Slices] | None:
    """Return which part of the box `tap` brings inside, and where to; None if it brings nothing."""
    met = [along[index] for along, index in zip(meetings, tap, strict=True)]
    landed = [meeting for meeting in met if meeting is not None]
    if len(landed) < len(met):
        return None
    return tuple(part for part, _ in landed), tuple(place for _, place in landed)


def _products(vectors: Array, filter: Array, group: list[Tap], channels_are_rows: bool) -> Array:
    """Return taps of the group x batch x depth x height x width x made channels."""
    panel = (filter if len(group) > 1 else filter[group[0]]).reshape(-1, filter.shape[-1])
    shape = vectors.shape[:-1]
    products: Array
    if channels_are_rows:
        columns = np.moveaxis(vectors, -1, 0).reshape(vectors.shape[-1], -1)
        products = np.matmul(panel, columns).reshape(len(group), -1, *shape)
        return np.moveaxis(products, 1, -1)
    products = np.matmul(vectors.reshape(-1, vectors.shape[-1]), panel.T)
    return np.moveaxis(products.reshape(*shape, len(group), -1), -2, 0)
