"""The tier "gemm" of a convolution and of its filter's gradient: columns, and matrix products.

What the windows read is written out as a matrix, places by rows (taps x channels), a slab of places
at a time and a smaller slab if the device has not that much to give. It times the filter is the
convolution; its transpose times `out_backprop`, added up over slabs in float32 or float64, is the
filter's gradient. Where every window is a single position, the input is that matrix as it lies.

In NCDHW a batch entry's matrix lies turned, as the entry does, and each has products of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from opspec import dtypes
from opspec.backends.cupy import kernels
from opspec.backends.cupy.choice import MOST_FOR_CUBLAS, is_pointwise
from opspec.backends.cupy.columns import room_by_room
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.filter_kernels import sums_of, total
from opspec.backends.cupy.plan import Launch, canonical, contiguous, launches_of
from opspec.backends.cupy.port import Port
from opspec.backends.cupy.windows import places_of, rows_of, windows
from opspec.geometry import ConvGeometry, channel_axis

Array = Any


@dataclass(frozen=True, slots=True)
class Slab:
    """Places whose columns are made at once.

    Parameters
    ----------
    entry
        The batch entry, or None where places are counted through all of them.
    places
        Which of them.
    launch
        What makes the columns; None where the input is them.
    """

    entry: int | None
    places: slice
    launch: Launch | None


def compute(
    port: Port, convolution: Convolution, input: Array, other: Array, result: Array
) -> bool:
    """Fill `result`, or return False if there is no memory for even a small slab.

    Parameters
    ----------
    port
        The device.
    convolution
        The problem; it is not empty.
    input, other
        Operands in C order: `other` is `filter` or `out_backprop`.
    result
        In C order.
    """
    make = _output if convolution.result == "output" else _filter
    return room_by_room(
        port, lambda room: make(port, convolution.geometry, input, other, result, room)
    )


def _output(
    port: Port, geometry: ConvGeometry, input: Array, filter: Array, result: Array, room: int
) -> None:
    panel = filter.reshape(rows_of(geometry), geometry.out_channels).T
    for slab in slabs(geometry, room):
        read = _columns(port, geometry, input, slab)
        made = _places_of_side(geometry, result, geometry.out_channels, slab)
        if slab.entry is None:
            port.multiply(read, panel, made)
        else:
            port.multiply(panel, read, made.T)


def _filter(
    port: Port, geometry: ConvGeometry, input: Array, gradient: Array, result: Array, room: int
) -> None:
    shape = (rows_of(geometry), geometry.out_channels)
    found = slabs(geometry, room)
    kind = sums_of(geometry.dtype)
    direct = len(found) == 1 or kind == geometry.dtype
    target = result.reshape(shape)
    sums = target if direct else port.empty(shape, dtypes.numpy_dtype(kind))
    for number, slab in enumerate(found):
        read = _columns(port, geometry, input, slab)
        beside = _places_of_side(geometry, gradient, geometry.out_channels, slab)
        port.multiply(read.T, beside.T, sums, add=number > 0)
    if not direct:
        launch = total(geometry.dtype, shape[0] * shape[1], 1)
        port.launch(launch.kernel, launch.blocks, (sums, target, launch.problem))


def _columns(port: Port, geometry: ConvGeometry, input: Array, slab: Slab) -> Array:
    """Return what the windows of a slab read: places by rows, one of them contiguous."""
    if slab.launch is None:
        return _places_of_side(geometry, input, geometry.in_channels, slab)
    count = slab.places.stop - slab.places.start
    turned = slab.entry is not None
    shape = (rows_of(geometry), count) if turned else (count, rows_of(geometry))
    made = port.empty(shape, input.dtype)
    port.launch(slab.launch.kernel, slab.launch.blocks, (input, made, slab.launch.problem))
    return made.T if turned else made


def _places_of_side(geometry: ConvGeometry, side: Array, channels: int, slab: Slab) -> Array:
    """Return the places of a slab of a side, by channels."""
    if slab.entry is None:
        return side.reshape(-1, channels)[slab.places]
    return side[slab.entry].reshape(channels, -1)[:, slab.places].T


@lru_cache(maxsize=256)
def slabs(geometry: ConvGeometry, room: int) -> tuple[Slab, ...]:
    """Cut the places so that their columns take at most `room` bytes, where they can."""
    return tuple(_slabs(geometry, room))


def _slabs(geometry: ConvGeometry, room: int) -> Iterator[Slab]:
    if is_pointwise(geometry):
        most = MOST_FOR_CUBLAS
    else:
        most = max(1, room // (rows_of(geometry) * dtypes.size_of(geometry.dtype)))
    turned = channel_axis(geometry.data_format) == 1
    entries = geometry.batch if turned else 1
    end = places_of(geometry) // entries
    for entry in range(entries):
        for first in range(0, end, most):
            places = slice(first, min(first + most, end))
            launch = None if is_pointwise(geometry) else _launch(geometry, entry * end, places)
            yield Slab(entry if turned else None, places, launch)


def _launch(geometry: ConvGeometry, before: int, places: slice) -> Launch:
    strides = canonical(contiguous(geometry.input_shape), geometry.data_format)
    problem = windows(geometry, strides, (0,) * 5)
    problem["first_place"], problem["places"] = before + places.start, before + places.stop
    kernel = kernels.spread(geometry.dtype, by_row=channel_axis(geometry.data_format) == 1)
    elements = (places.stop - places.start) * rows_of(geometry)
    (launch,) = launches_of(kernel, problem, -(-elements // kernel.threads))
    return launch
