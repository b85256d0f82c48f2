"""The tier "gemm" of Conv3DBackpropInputV2: a large product, and a kernel that adds up columns.

Where the filter has one tap and the stride is 1, the product is the result. Otherwise the product
makes the columns, float32 or float64: for each place of `out_backprop` a vector for each tap and
channel. They take taps times the memory of the data, so they are made a slab of the result at a
time, and a smaller slab if the device has not that much to give.
"""

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

from opspec import dtypes
from opspec.backends.cupy import kernels
from opspec.backends.cupy.choice import is_pointwise
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.pieces import Piece, pieces
from opspec.backends.cupy.plan import (
    Launch,
    canonical,
    contiguous,
    launches_of,
    refuse_uncountable,
)
from opspec.backends.cupy.port import Port
from opspec.backends.cupy.problem import MOST_POSITIONS, problems
from opspec.geometry import ConvGeometry, channel_axis

WORKSPACE = 256 * 2**20
LEAST_WORKSPACE = 2**20
Array = Any


def compute(
    port: Port, convolution: Convolution, data: Array, filter: Array, result: Array
) -> bool:
    """Fill `result`, or return False if there is no memory for even a small slab.

    Parameters
    ----------
    port
        The device.
    convolution
        The problem; it is not empty.
    data, filter
        Operands in C order.
    result
        In C order.
    """
    geometry = convolution.geometry
    panel = filter.reshape(-1, geometry.out_channels)
    if is_pointwise(geometry):
        _pointwise(port, geometry, panel, data, result)
        return True
    return room_by_room(port, lambda room: _in_slabs(port, geometry, panel, data, result, room))


def room_by_room(port: Port, make: Callable[[int], None]) -> bool:
    """Make a result with less and less workspace; return False if there is not even a little."""
    room = WORKSPACE
    while room >= LEAST_WORKSPACE:
        try:
            make(room)
            return True
        # Of the workspace only: a slab is made anew, whatever was done of it.
        except MemoryError:
            port.release_memory()
            room //= 2
    return False


def _pointwise(port: Port, geometry: ConvGeometry, panel: Array, data: Array, out: Array) -> None:
    if channel_axis(geometry.data_format) == 4:
        rows = data.reshape(-1, geometry.out_channels)
        port.multiply(rows, panel, out.reshape(-1, geometry.in_channels))
        return
    for entry in range(geometry.batch):
        places = data[entry].reshape(geometry.out_channels, -1).T
        port.multiply(panel, places, out[entry].reshape(geometry.in_channels, -1))


def _in_slabs(
    port: Port, geometry: ConvGeometry, panel: Array, data: Array, result: Array, room: int
) -> None:
    for piece, launches in slabs(geometry, room):
        part, made = data[piece.read], result[piece.box]
        columns = _columns(port, piece.geometry, panel, port.contiguous(part))
        for launch in launches:
            port.launch(launch.kernel, launch.blocks, (columns, made, launch.problem))


def _columns(port: Port, geometry: ConvGeometry, panel: Array, data: Array) -> Array:
    """Return the columns: batch x places x taps x channels, as rows of one matrix."""
    places = prod(window.output for window in geometry.windows)
    shape = (geometry.batch * places, panel.shape[0])
    made = port.empty(shape, dtypes.numpy_dtype(_sums_of(geometry)))
    if made.size == 0:
        return made
    if channel_axis(geometry.data_format) == 4:
        port.multiply(data.reshape(-1, geometry.out_channels), panel, made)
        return made
    for entry in range(geometry.batch):
        rows = data[entry].reshape(geometry.out_channels, -1).T
        port.multiply(rows, panel, made[entry * places : (entry + 1) * places])
    return made


@lru_cache(maxsize=256)
def slabs(geometry: ConvGeometry, room: int) -> tuple[tuple[Piece, tuple[Launch, ...]], ...]:
    """Cut a problem so that the columns of a piece take at most `room` bytes, where they can."""
    batch, lengths = _extents(geometry, room)
    strides = contiguous(geometry.input_shape)
    return tuple(
        (piece, _launches(piece.geometry, canonical(strides, geometry.data_format)))
        for piece in pieces(geometry, "input", batch, lengths)
    )


def _extents(geometry: ConvGeometry, room: int) -> tuple[int, tuple[int, int, int]]:
    """Return how many batch entries and positions of the result a slab has."""
    batch = geometry.batch
    lengths = [min(max(window.input, 1), MOST_POSITIONS) for window in geometry.windows]
    while True:
        depth, height, width = lengths
        piece = max(
            pieces(geometry, "input", batch, (depth, height, width)),
            key=lambda piece: columns_bytes(piece.geometry),
        )
        if columns_bytes(piece.geometry) <= room:
            return batch, (depth, height, width)
        if batch > 1:
            batch = -(-batch // 2)
            continue
        longest = max(range(3), key=lambda axis: lengths[axis])
        if lengths[longest] == 1:
            return batch, (depth, height, width)
        lengths[longest] = -(-lengths[longest] // 2)


def columns_bytes(geometry: ConvGeometry) -> int:
    """Return how large the columns of a problem are."""
    places = geometry.batch * prod(window.output for window in geometry.windows)
    taps = prod(window.kernel for window in geometry.windows)
    return places * taps * geometry.in_channels * dtypes.size_of(_sums_of(geometry))


def _sums_of(geometry: ConvGeometry) -> str:
    """Return the dtype of the columns."""
    return "float64" if geometry.dtype == "float64" else "float32"


def _launches(geometry: ConvGeometry, result: tuple[int, ...]) -> tuple[Launch, ...]:
    convolution = Convolution(geometry, "input")
    refuse_uncountable(convolution)
    # To the kernel, which adds up over taps alone, a place has one channel to read.
    shape = (
        geometry.batch,
        *(window.output for window in geometry.windows),
        *(window.kernel for window in geometry.windows),
        geometry.in_channels,
    )
    strides = contiguous(shape)
    found: list[Launch] = []
    kernel = kernels.gather(geometry.dtype)
    places, taps = (*strides[:4], 1), (*strides[4:7], 0, 0)
    for problem, rows, phases in problems(convolution, places, taps, result, wide=False):
        problem["read_channels"] = 1
        threads = rows * phases * geometry.in_channels
        found += launches_of(kernel, problem, -(-threads // kernel.threads))
    return tuple(found)
