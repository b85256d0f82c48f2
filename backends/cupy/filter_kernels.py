"""Conv3DBackpropFilterV2 by opspec's own kernels: splits of the places, then their total.

A tile of the filter adds up over all places of `out_backprop`, and there are few tiles. So that all
multiprocessors have work, blocks share out the places; what each has added up is kept beside the
others, in float32 or float64, and `cuda/total.cu` adds it up in order.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from opspec import dtypes
from opspec.backends.cupy import kernels
from opspec.backends.cupy.choice import Choice
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.pieces import Piece, pieces
from opspec.backends.cupy.plan import (
    VECTOR_BYTES,
    Launch,
    Lie,
    Part,
    canonical,
    in_vectors,
    launches_of,
    most_positions,
    refuse_uncountable,
)
from opspec.backends.cupy.port import Port, Traits
from opspec.backends.cupy.tile import TILES, Tile
from opspec.backends.cupy.windows import PARTS, Strides, places_of, rows_of, windows
from opspec.geometry import ConvGeometry

# For the sums of all splits.
WORKSPACE = 256 * 2**20
# The fewest places that are worth a split: it costs a tile written and read once more.
LEAST_PLACES = 256
# How many blocks a multiprocessor should have to do, so that all end at about the same time.
BLOCKS = 4
Array = Any


@dataclass(frozen=True, slots=True)
class Plan:
    """What is launched for a filter's gradient.

    Parameters
    ----------
    parts
        Pieces of the problem, with the launches of each.
    count
        How many sums of each element there are.
    total
        What adds them up; None where there is one, which is the result.
    """

    parts: tuple[Part, ...]
    count: int
    total: Launch | None


def compute(
    port: Port,
    convolution: Convolution,
    choice: Choice,
    lie: Lie,
    data: Array,
    gradient: Array,
    result: Array,
) -> None:
    """Fill `result`, with fewer splits where there is no memory for their sums.

    Parameters
    ----------
    port
        The device.
    convolution
        The problem; it is not empty.
    choice
        Tier simt or tensor.
    lie
        How the arrays lie.
    data, gradient
        `input` and `out_backprop`, lying in memory in any way.
    result
        In C order.

    Raises
    ------
    MemoryError
        If there is no memory for the sums of a problem that takes several launches.
    """
    traits = port.traits()
    room = WORKSPACE
    while True:
        plan = planned(convolution, lie, traits, choice, room)
        try:
            sums = result if plan.total is None else _sums(port, convolution, plan.count)
            break
        except MemoryError:
            port.release_memory()
            if plan.count == len(plan.parts):
                raise
            room //= 2
    for part in plan.parts:
        read, beside = data[part.piece.read], gradient[part.piece.box]
        for launch in part.launches:
            arguments = (read, beside, result, sums, launch.problem)
            port.launch(launch.kernel, launch.blocks, arguments)
    if plan.total is not None:
        port.launch(plan.total.kernel, plan.total.blocks, (sums, result, plan.total.problem))


def _sums(port: Port, convolution: Convolution, count: int) -> Array:
    geometry = convolution.geometry
    shape = (count, rows_of(geometry), geometry.out_channels)
    return port.empty(shape, dtypes.numpy_dtype(sums_of(geometry.dtype)))


def sums_of(dtype: str) -> str:
    """Return what a dtype is added up in."""
    return "float64" if dtype == "float64" else "float32"


@lru_cache(maxsize=1024)
def planned(convolution: Convolution, lie: Lie, traits: Traits, choice: Choice, room: int) -> Plan:
    """Plan a filter's gradient whose sums take at most `room` bytes, or that has no splits."""
    geometry = convolution.geometry
    elements = rows_of(geometry) * geometry.out_channels
    most = room // (elements * dtypes.size_of(sums_of(geometry.dtype)))
    reach = most_positions(convolution)
    boxes = tuple(pieces(geometry, "output", max(geometry.batch, 1), reach))
    parts: list[Part] = []
    count = 0
    for piece in boxes:
        few = max(1, most // len(boxes))
        launches, splits = _launches(convolution, piece, lie, traits, choice.tier, few)
        for launch in launches:
            launch.problem["first_split"] = count
            launch.problem["whole"] = len(boxes) == splits == 1
        parts.append(Part(piece, tuple(launches)))
        count += splits
    return Plan(tuple(parts), count, None if count == 1 else total(geometry.dtype, elements, count))


def total(dtype: str, elements: int, count: int) -> Launch:
    """Return the launch that adds up `count` sums of each element, and rounds."""
    problem = np.zeros((), PARTS)
    problem["elements"], problem["count"] = elements, count
    kernel = kernels.total(dtype)
    (launch,) = launches_of(kernel, problem, -(-elements // kernel.threads))
    return launch


def _launches(
    convolution: Convolution, piece: Piece, lie: Lie, traits: Traits, tier: str, most: int
) -> tuple[list[Launch], int]:
    """Return the launches of a piece, and into how many splits its places are cut."""
    geometry = piece.geometry
    refuse_uncountable(convolution.of(geometry))
    data = canonical(lie.data, geometry.data_format)
    gradient = canonical(lie.other, geometry.data_format)
    places = places_of(geometry)
    family = kernels.FAMILY["filter", tier]
    tile = min(
        TILES[family][geometry.dtype],
        key=lambda tile: _time(tile, geometry, traits.processors, most),
    )
    length = _length(tile, geometry, traits.processors, most)
    splits = -(-places // length)
    problem = windows(geometry, data, gradient)
    problem["per_split"] = length
    way = _way(geometry, lie.aligned, data, gradient, tier)
    kernel = kernels.product(family, geometry.dtype, tile, way)
    return launches_of(kernel, problem, _tiles(tile, geometry) * splits), splits


def _tiles(tile: Tile, geometry: ConvGeometry) -> int:
    return -(-rows_of(geometry) // tile.rows) * -(-geometry.out_channels // tile.channels)


def _length(tile: Tile, geometry: ConvGeometry, processors: int, most: int) -> int:
    """Return how many places a split has."""
    places = places_of(geometry)
    wanted = -(-BLOCKS * processors // _tiles(tile, geometry))
    splits = max(1, min(wanted, most, places // LEAST_PLACES))
    return -(-places // splits)


def _time(tile: Tile, geometry: ConvGeometry, processors: int, most: int) -> float:
    length = _length(tile, geometry, processors, most)
    blocks = _tiles(tile, geometry) * -(-places_of(geometry) // length)
    return -(-blocks // processors) * tile.rows * tile.channels * length / tile.rate


def _way(geometry: ConvGeometry, aligned: bool, data: Strides, gradient: Strides, tier: str) -> str:
    """Return how operands are read; on CUDA cores the gradient is always read one by one."""
    width = VECTOR_BYTES // dtypes.size_of(geometry.dtype)
    vector = aligned and in_vectors(data, width) and geometry.in_channels % width == 0
    if tier == "tensor":
        vector = vector and in_vectors(gradient, width) and geometry.out_channels % width == 0
    if vector:
        return "vector"
    return "by_channel" if data[4] == 1 else "by_row"
