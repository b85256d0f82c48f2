"""From a problem and how its arrays lie to launches: integers only, worked out once and kept."""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from opspec import dtypes
from opspec.backends.cupy import kernels
from opspec.backends.cupy.choice import Choice
from opspec.backends.cupy.kernels import Kernel, Tile
from opspec.backends.cupy.pieces import Piece, pieces
from opspec.backends.cupy.port import Traits
from opspec.backends.cupy.problem import Strides, problems
from opspec.geometry import ConvGeometry, channel_axis, spatial_axes
from opspec.registry import UnsupportedByBackend

# The kernels count positions of a dimension in 32 bits, and add two such numbers.
MOST_POSITIONS = 2**30
MOST_EXTENT = 2**31 - 1
MOST_BLOCKS = 2**31 - 1
VECTOR_BYTES = 16


@dataclass(frozen=True, slots=True)
class Lie:
    """How the arrays of a call lie in memory.

    Parameters
    ----------
    data, filter
        Strides in elements, in the order of the arrays' axes.
    aligned
        Whether both, and the result, start at a multiple of 16 bytes.
    """

    data: Strides
    filter: Strides
    aligned: bool


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel.

    Parameters
    ----------
    kernel, blocks
        What runs, and how many blocks of it.
    problem
        The kernel's last argument.
    """

    kernel: Kernel
    blocks: int
    problem: np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a problem with what is launched for it."""

    piece: Piece
    launches: tuple[Launch, ...]


@lru_cache(maxsize=1024)
def products(geometry: ConvGeometry, lie: Lie, traits: Traits, choice: Choice) -> tuple[Part, ...]:
    """Plan a problem for the kernels that need no workspace.

    Raises
    ------
    UnsupportedByBackend
        For sizes beyond what their integers count.
    """
    reach = (MOST_POSITIONS, MOST_POSITIONS, MOST_POSITIONS)
    return tuple(
        Part(piece, _launches(piece.geometry, geometry, lie, traits, choice.tier))
        for piece in pieces(geometry, max(geometry.batch, 1), reach)
    )


def refuse_uncountable(geometry: ConvGeometry) -> None:
    """Raise for extents that the kernels cannot count, in words of the problem.

    Raises
    ------
    UnsupportedByBackend
        If there is one.
    """
    spatial = (n for window in geometry.windows for n in (window.output, window.kernel))
    extents = (geometry.in_channels, geometry.out_channels, *spatial)
    if max(extents) > MOST_EXTENT:
        raise UnsupportedByBackend(
            f"backend 'cupy' takes up to {MOST_EXTENT} channels, taps and positions of "
            f"out_backprop in one dimension; given {max(extents)}"
        )


def _launches(
    geometry: ConvGeometry, whole: ConvGeometry, lie: Lie, traits: Traits, tier: str
) -> tuple[Launch, ...]:
    refuse_uncountable(geometry)
    item = dtypes.size_of(geometry.dtype)
    data = canonical(lie.data, geometry.data_format)
    result = canonical(contiguous(whole.input_shape), geometry.data_format)
    width = VECTOR_BYTES // item
    vector = lie.aligned and _in_vectors(data, width) and _in_vectors(lie.filter, width)
    vector = vector and geometry.out_channels % width == 0
    by_row = not vector and data[4] != 1
    wide = lie.aligned and result[4] == 1 and geometry.in_channels % width == 0
    found: list[Launch] = []
    for problem, rows, phases in problems(geometry, data, lie.filter, result, wide=wide):
        tile = best_tile(tier, geometry, rows, phases, traits.processors)
        make = kernels.tensor if tier == "tensor" else kernels.simt
        kernel = make(geometry.dtype, tile, vector=vector, by_row=by_row)
        tiles = -(-rows // tile.rows) * phases * -(-geometry.in_channels // tile.channels)
        found += launches_of(kernel, problem, tiles)
    return tuple(found)


def launches_of(kernel: Kernel, problem: np.ndarray[Any, Any], tiles: int) -> list[Launch]:
    """Cut a grid where it has more blocks than one launch may have."""
    found = []
    for first in range(0, tiles, MOST_BLOCKS):
        part = problem.copy()
        part["first_tile"] = first
        found.append(Launch(kernel, min(MOST_BLOCKS, tiles - first), part))
    return found


def best_tile(tier: str, geometry: ConvGeometry, rows: int, phases: int, processors: int) -> Tile:
    """Return the tile that is expected to take the least time.

    Each multiprocessor makes its share of the tiles one after another, whole ones only.
    """
    tiles = kernels.TENSOR_TILES if tier == "tensor" else kernels.SIMT_TILES[geometry.dtype]

    def time(tile: Tile) -> float:
        count = -(-rows // tile.rows) * phases * -(-geometry.in_channels // tile.channels)
        return -(-count // processors) * tile.rows * tile.channels / tile.rate

    return min(tiles, key=time)


def canonical(strides: Strides, data_format: str) -> Strides:
    """Return a side's strides as batch, depth, height, width, channel."""
    spatial = (strides[axis] for axis in spatial_axes(data_format))
    return (strides[0], *spatial, strides[channel_axis(data_format)])


def contiguous(shape: tuple[int, ...]) -> Strides:
    """Return the strides, in elements, of an array in C order."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _in_vectors(strides: Strides, width: int) -> bool:
    """Whether the last axis is contiguous and every line starts `width` elements from another."""
    return strides[-1] == 1 and all(stride % width == 0 for stride in strides[:-1])
