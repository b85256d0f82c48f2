"""Kernels of Conv3D and of the gradient by the filter that can be made wrong.

Both are plain: for each tap, a product of what it reads with the other operand. A `Fault`
replaces a part of that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from opspec.dtypes import numpy_dtype
from opspec.geometry import ConvGeometry, Window

Array = np.ndarray[Any, Any]
Change = Callable[[Array, ConvGeometry], Array]
Tap = tuple[int, int, int]
FORWARD, FILTER = "Conv3D", "Conv3DBackpropFilterV2"


def _same(array: Array, geometry: ConvGeometry) -> Array:
    return array


def all_taps(geometry: ConvGeometry) -> list[Tap]:
    """Return every tap, in order."""
    depth, height, width = (range(window.kernel) for window in geometry.windows)
    return list(product(depth, height, width))


def _single(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.itemsize >= 4 else np.dtype(np.float32)


@dataclass(frozen=True)
class Fault:
    """What is wrong with a kernel; by default nothing.

    Parameters
    ----------
    window
        Changes each window, given its number.
    taps
        Which taps are visited.
    input, other
        Change the operands.
    result
        Changes the result.
    sums
        The dtype that sums are kept in.
    """

    window: Callable[[Window, int], Window] = lambda window, number: window
    taps: Callable[[ConvGeometry], list[Tap]] = all_taps
    input: Change = _same
    other: Change = _same
    result: Change = _same
    sums: Callable[[np.dtype[Any]], np.dtype[Any]] = _single


RIGHT = Fault()


def kernel_of(operation: str, fault: Fault) -> Callable[..., Array]:
    """Return a kernel of an operation with a fault."""
    if operation == FORWARD:

        def conv3d(geometry: ConvGeometry, input: Array, filter: Array) -> Array:
            return _computed(fault, geometry, input, filter, FORWARD)

        return conv3d

    def gradient(geometry: ConvGeometry, input: Array, out_backprop: Array) -> Array:
        return _computed(fault, geometry, input, out_backprop, FILTER)

    return gradient


def _computed(
    fault: Fault, geometry: ConvGeometry, input: Array, other: Array, operation: str
) -> Array:
    dtype = numpy_dtype(geometry.dtype)
    sums = fault.sums(dtype)
    given = fault.input(_channels_last(input, geometry), geometry).astype(sums)
    beside = other if operation == FORWARD else _channels_last(other, geometry)
    beside = fault.other(beside, geometry).astype(sums)
    depth, height, width = (fault.window(w, n) for n, w in enumerate(geometry.windows))
    places = (geometry.batch, *(w.output for w in geometry.windows), geometry.out_channels)
    made = np.zeros(places if operation == FORWARD else geometry.filter_shape, sums)
    with np.errstate(all="ignore"):
        for tap in fault.taps(geometry):
            met = _met((depth, height, width), tap)
            if met is None:
                continue
            there, read = met
            part = given[:, read[0], read[1], read[2]]
            if operation == FORWARD:
                made[:, there[0], there[1], there[2]] += part @ beside[tap]
            else:
                # NumPy sums halves in float32 within one product, so that there are several.
                for given_entry, entry in zip(part, beside, strict=True):
                    reached = entry[there[0], there[1], there[2]]
                    made[tap] += np.tensordot(given_entry, reached, ((0, 1, 2), (0, 1, 2)))
        made = fault.result(made, geometry).astype(dtype)
    if operation == FORWARD and geometry.data_format == "NCDHW":
        return np.ascontiguousarray(np.moveaxis(made, -1, 1))
    return np.ascontiguousarray(made)


def _met(windows: tuple[Window, ...], tap: Tap) -> tuple[list[slice], list[slice]] | None:
    """Return the positions at which a tap is inside, and what it reads there; None for none."""
    there, read = [], []
    for window, t in zip(windows, tap, strict=True):
        positions = window.positions(t)
        if not positions:
            return None
        first, last = window.landing(positions[0], t), window.landing(positions[-1], t)
        there.append(slice(positions.start, positions.stop))
        read.append(slice(first, last + 1, window.stride))
    return there, read


def _channels_last(array: Array, geometry: ConvGeometry) -> Array:
    return np.moveaxis(array, 1, -1) if geometry.data_format == "NCDHW" else array
