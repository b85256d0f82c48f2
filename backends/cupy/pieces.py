"""Cutting a problem where it is too large for a kernel's integers or for the workspace.

A piece is a box of the result. It is a problem of its own: the padding says where its box starts,
and it sees only those positions of `out_backprop` from which any tap reaches the box.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from opspec.geometry import ConvGeometry, Window, channel_axis

Slices = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a problem.

    Parameters
    ----------
    geometry
        The problem that it is.
    data
        Which part of `out_backprop` it reads.
    result
        Which part of the result it makes.
    """

    geometry: ConvGeometry
    data: Slices
    result: Slices


def pieces(geometry: ConvGeometry, batch: int, lengths: tuple[int, int, int]) -> Iterator[Piece]:
    """Cut a problem into boxes of at most `batch` entries and `lengths` positions."""
    windows = geometry.windows
    starts = [range(0, w.input, length) for w, length in zip(windows, lengths, strict=True)]
    for entry in range(0, geometry.batch, batch):
        entries = slice(entry, min(entry + batch, geometry.batch))
        for corner in product(*starts):
            cuts = [
                cut(window, start, min(start + length, window.input))
                for window, start, length in zip(windows, corner, lengths, strict=True)
            ]
            depth, height, width = (window for window, _, _ in cuts)
            part = replace(
                geometry, batch=entries.stop - entries.start, windows=(depth, height, width)
            )
            yield Piece(
                part,
                _slices(geometry, entries, [read for _, read, _ in cuts]),
                _slices(geometry, entries, [made for _, _, made in cuts]),
            )


def cut(window: Window, start: int, stop: int) -> tuple[Window, slice, slice]:
    """Return the window of positions `start` to `stop`, what it reads, and what it makes."""
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


def _slices(geometry: ConvGeometry, batch: slice, spatial: list[slice]) -> Slices:
    if channel_axis(geometry.data_format) == 1:
        return (batch, slice(None), *spatial)
    return (batch, *spatial)
