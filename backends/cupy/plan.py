"""From a problem and how its arrays lie to launches: integers only, worked out once and kept."""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from opspec import dtypes
from opspec.backends.cupy import kernels
from opspec.backends.cupy.choice import Choice
from opspec.backends.cupy.convolution import NAMES, Convolution
from opspec.backends.cupy.kernels import Kernel
from opspec.backends.cupy.pieces import Piece, pieces
from opspec.backends.cupy.port import Traits
from opspec.backends.cupy.problem import MOST_POSITIONS, Strides, problems
from opspec.backends.cupy.tile import TILES, Tile
from opspec.geometry import channel_axis, spatial_axes
from opspec.registry import UnsupportedByBackend

MOST_EXTENT = 2**31 - 1
MOST_BLOCKS = 2**31 - 1
VECTOR_BYTES = 16


@dataclass(frozen=True, slots=True)
class Lie:
    """How the arrays of a call lie in memory.

    Parameters
    ----------
    data, other
        Strides in elements, in the order of the arrays' axes: of the operand that is read in
        windows, and of the one beside it.
    aligned
        Whether both, and the result, start at a multiple of 16 bytes.
    """

    data: Strides
    other: Strides
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
def products(
    convolution: Convolution, lie: Lie, traits: Traits, choice: Choice
) -> tuple[Part, ...]:
    """Plan a side that is not the filter for the kernels that need no workspace.

    Raises
    ------
    UnsupportedByBackend
        For sizes beyond what their integers count.
    """
    geometry = convolution.geometry
    reach = most_positions(convolution)
    return tuple(
        Part(
            piece,
            _launches(convolution.of(piece.geometry), convolution, lie, traits, choice.tier),
        )
        for piece in pieces(geometry, convolution.result, max(geometry.batch, 1), reach)
    )


def most_positions(convolution: Convolution) -> tuple[int, int, int]:
    """Return how long a piece may be, so that its positions are counted in 32 bits."""
    if convolution.result == "input":
        return MOST_POSITIONS, MOST_POSITIONS, MOST_POSITIONS
    depth, height, width = (
        max(1, MOST_POSITIONS // window.stride) for window in convolution.geometry.windows
    )
    return depth, height, width


def refuse_uncountable(convolution: Convolution) -> None:
    """Raise for extents that the kernels cannot count, in words of the problem.

    Raises
    ------
    UnsupportedByBackend
        If there is one.
    """
    geometry = convolution.geometry
    windows = geometry.windows
    read = (w.output if convolution.read == "output" else w.input for w in windows)
    facts = (n for window in windows for n in (window.kernel, window.stride, window.dilation))
    extents = (geometry.in_channels, geometry.out_channels, *read, *facts)
    if max(extents) > MOST_EXTENT:
        raise UnsupportedByBackend(
            f"backend 'cupy' takes up to {MOST_EXTENT} channels, and so many taps, steps and "
            f"positions of {NAMES[convolution.read]} in one dimension; given {max(extents)}"
        )


def _launches(
    convolution: Convolution, whole: Convolution, lie: Lie, traits: Traits, tier: str
) -> tuple[Launch, ...]:
    refuse_uncountable(convolution)
    geometry = convolution.geometry
    data = canonical(lie.data, geometry.data_format)
    result = canonical(contiguous(whole.result_shape), geometry.data_format)
    filter = lie.other if convolution.result == "input" else (*lie.other[:3], *lie.other[:2:-1])
    width = VECTOR_BYTES // dtypes.size_of(geometry.dtype)
    way = _way(convolution, lie.aligned, data, filter, tier)
    wide = lie.aligned and result[4] == 1 and convolution.made_channels % width == 0
    found: list[Launch] = []
    family = kernels.FAMILY[convolution.result, tier]
    for problem, rows, phases in problems(convolution, data, filter, result, wide=wide):
        tile = best_tile(family, convolution, rows, phases, traits.processors)
        kernel = kernels.product(family, geometry.dtype, tile, way)
        tiles = -(-rows // tile.rows) * phases * -(-convolution.made_channels // tile.channels)
        found += launches_of(kernel, problem, tiles)
    return tuple(found)


def _way(convolution: Convolution, aligned: bool, data: Strides, filter: Strides, tier: str) -> str:
    """Return how operands are read: sixteen bytes at a time where they lie so."""
    width = VECTOR_BYTES // dtypes.size_of(convolution.geometry.dtype)
    vector = aligned and in_vectors(data, width) and convolution.read_channels % width == 0
    if convolution.result == "input":
        vector = vector and in_vectors(filter, width)
    # On CUDA cores the forward filter, contiguous along the result's channels, is read one by one.
    elif tier == "tensor":
        across = (*filter[:3], filter[4], filter[3])
        vector = vector and in_vectors(across, width) and convolution.made_channels % width == 0
    if vector:
        return "vector"
    return "by_channel" if data[4] == 1 else "by_row"


def launches_of(kernel: Kernel, problem: np.ndarray[Any, Any], tiles: int) -> list[Launch]:
    """Cut a grid where it has more blocks than one launch may have."""
    found = []
    for first in range(0, tiles, MOST_BLOCKS):
        part = problem.copy()
        part["first_tile"] = first
        found.append(Launch(kernel, min(MOST_BLOCKS, tiles - first), part))
    return found


def best_tile(
    family: str, convolution: Convolution, rows: int, phases: int, processors: int
) -> Tile:
    """Return the tile that is expected to take the least time.

    Each multiprocessor makes its share of the tiles one after another, whole ones only.
    """

    def time(tile: Tile) -> float:
        count = -(-rows // tile.rows) * phases * -(-convolution.made_channels // tile.channels)
        return -(-count // processors) * tile.rows * tile.channels / tile.rate

    return min(TILES[family][convolution.geometry.dtype], key=time)


def canonical(strides: Strides, data_format: str) -> Strides:
    """Return a side's strides as batch, depth, height, width, channel."""
    spatial = (strides[axis] for axis in spatial_axes(data_format))
    return (strides[0], *spatial, strides[channel_axis(data_format)])


def contiguous(shape: tuple[int, ...]) -> Strides:
    """Return the strides, in elements, of an array in C order."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def in_vectors(strides: Strides, width: int) -> bool:
    """Whether the last axis is contiguous and every line starts `width` elements from another."""
    return strides[-1] == 1 and all(stride % width == 0 for stride in strides[:-1])
