"""Cutting a problem's positions so that the memory for a piece is bounded."""

from collections.abc import Iterator
from itertools import product


def boxes(extents: list[range], most: int) -> Iterator[tuple[range, ...]]:
    """Cut the extents into boxes of at most `most` places, long along the last extents."""
    lengths: list[int] = []
    for extent in reversed(extents):
        lengths.insert(0, max(min(len(extent), most), 1))
        most //= lengths[0]
    spans = [
        [extent[start : start + length] for start in range(0, len(extent), length)]
        for extent, length in zip(extents, lengths, strict=True)
    ]
    return product(*spans)
