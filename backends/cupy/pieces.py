"""Cutting a problem where it is too large for a kernel's integers or for the workspace.

A piece is a box of one side. It is a problem of its own: the padding says where its box starts, and
of the other side it sees only those positions from or to which any tap reaches.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from opspec.geometry import ConvGeometry, Side, Window, channel_axis

Slices = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a problem.

    Parameters
    ----------
    geometry
        The problem that it is.
    box
        Which part of the side that was cut it is.
    read
        Which part of the other side belongs to it.
    """

    geometry: ConvGeometry
    box: Slices
    read: Slices


def pieces(
    geometry: ConvGeometry, side: Side, batch: int, lengths: tuple[int, int, int]
) -> Iterator[Piece]:
    """Cut ``"input"`` or ``"output"`` into boxes of at most `batch` entries and `lengths`."""
    windows = geometry.windows
    backward = side == "input"
    sizes = [window.input if backward else window.output for window in windows]
    starts = [range(0, size, length) for size, length in zip(sizes, lengths, strict=True)]
    for entry in range(0, geometry.batch, batch):
        entries = slice(entry, min(entry + batch, geometry.batch))
        for corner in product(*starts):
            cuts = [
                (cut if backward else forward_cut)(window, start, min(start + length, size))
                for window, start, length, size in zip(windows, corner, lengths, sizes, strict=True)
            ]
            depth, height, width = (window for window, _, _ in cuts)
            part = replace(
                geometry, batch=entries.stop - entries.start, windows=(depth, height, width)
            )
            yield Piece(
                part,
                _slices(geometry, entries, [box for _, _, box in cuts]),
                _slices(geometry, entries, [read for _, read, _ in cuts]),
            )


def cut(window: Window, start: int, stop: int) -> tuple[Window, slice, slice]:
    """Return the window of large-side positions `start` to `stop`, what it reads, and its box."""
    reach = (window.kernel - 1) * window.dilation
    first = max(0, -((reach - window.before - start) // window.stride))
    last = min(window.output - 1, (stop - 1 + window.before) // window.stride)
    output = max(0, last - first + 1)
    first = first if output else 0
    part = replace(
        window,
        input=stop - start,
        output=output,
        before=window.before + start - first * window.stride,
    )
    return part, slice(first, first + output), slice(start, stop)


def forward_cut(window: Window, start: int, stop: int) -> tuple[Window, slice, slice]:
    """Return the window of small-side positions `start` to `stop`, what it reads, and its box."""
    lowest, highest = window.landing(start, 0), window.landing(stop - 1, window.kernel - 1)
    first = max(0, lowest)
    input = max(0, min(window.input, highest + 1) - first)
    first = first if input else 0
    before = first - lowest if input else 0
    part = replace(window, input=input, output=stop - start, before=before)
    return part, slice(first, first + input), slice(start, stop)


def _slices(geometry: ConvGeometry, batch: slice, spatial: list[slice]) -> Slices:
    if channel_axis(geometry.data_format) == 1:
        return (batch, slice(None), *spatial)
    return (batch, *spatial)
