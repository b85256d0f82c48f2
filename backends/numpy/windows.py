"""What the taps of a filter read from the large side, as matrices.

A row for each position, and along it taps x channels: row (n, o), column (t, c) holds

    input[n, o * stride + t * dilation - before, c]

Only taps that land inside are there, so nothing is padded and no NaN leaks: at the edges, where
fewer taps are inside, positions have shorter rows (`Window.segments`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from opspec.backends.numpy.boxes import boxes
from opspec.geometry import ConvGeometry

Array: TypeAlias = np.ndarray[Any, Any]
Slices: TypeAlias = tuple[slice, ...]

ROOM = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the taps read at some positions.

    Parameters
    ----------
    places
        Batch entries and positions of the small side.
    taps
        Which taps, as slices of the filter.
    rows
        Batch x positions, by taps x channels.
    """

    places: Slices
    taps: Slices
    rows: Array


def gathered(geometry: ConvGeometry, input: Array, sums: np.dtype[Any]) -> Iterator[Gathered]:
    """Yield what the taps read, converted to the dtype of the sums, a box of positions at a time.

    Positions at which no tap is inside are left out.
    """
    source = channels_last(geometry, input)
    for parts in product(*(window.segments() for window in geometry.windows)):
        taps = [part.taps for part in parts]
        width = prod(map(len, taps)) * geometry.in_channels
        if width == 0:
            continue
        places = [range(geometry.batch), *(part.positions for part in parts)]
        for box in boxes(places, ROOM // width):
            rows = _read(geometry, source, box, taps).astype(sums, order="C")
            yield Gathered(_slices(box), _slices(taps), rows.reshape(-1, width))


def channels_last(geometry: ConvGeometry, array: Array) -> Array:
    """Return a view of one of the sides that are no filter, its channels last."""
    return np.moveaxis(array, 1, -1) if geometry.data_format == "NCDHW" else array


def _read(
    geometry: ConvGeometry, source: Array, box: tuple[range, ...], taps: list[range]
) -> Array:
    """Return a view: batch x positions x taps x channels."""
    batch, *spans = box
    windows = list(zip(geometry.windows, spans, taps, strict=True))
    firsts = [window.landing(span[0], taps[0]) for window, span, taps in windows]
    corner = source[batch.start : batch.stop, firsts[0] :, firsts[1] :, firsts[2] :]
    entry, *along, channel = source.strides
    shape = (len(batch), *map(len, spans), *map(len, taps), geometry.in_channels)
    steps = [step * window.stride for step, (window, *_) in zip(along, windows, strict=True)]
    spacing = [step * window.dilation for step, (window, *_) in zip(along, windows, strict=True)]
    return as_strided(corner, shape, (entry, *steps, *spacing, channel), writeable=False)


def _slices(ranges: tuple[range, ...] | list[range]) -> Slices:
    return tuple(slice(each.start, each.stop) for each in ranges)
