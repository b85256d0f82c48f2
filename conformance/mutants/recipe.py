"""A kernel as plain as the definition, made of steps that a mutant can get wrong one at a time.

It visits each tap, and adds to the places where the tap lands what the source brings there:

    result[o * stride + tap * dilation - before] += source[o] @ filter[tap].T

With the steps as they are it is right; `tests/conformance` proves that it passes the whole suite.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from opspec.geometry import ConvGeometry, Window

Array: TypeAlias = np.ndarray[Any, Any]
Kernel: TypeAlias = Callable[..., Array]
Windows: TypeAlias = tuple[Window, ...]
Tap: TypeAlias = tuple[int, ...]


def same(value: Array, geometry: ConvGeometry) -> Array:
    """Leave an operand or result as it is."""
    return value


def windows_of(geometry: ConvGeometry) -> Windows:
    """Return the windows of the problem."""
    return geometry.windows


def places(window: Window, tap: int) -> tuple[list[int], list[int]]:
    """Return the positions of the source that a tap brings inside, and where they land."""
    inside = window.positions(tap)
    return list(inside), [window.landing(position, tap) for position in inside]


def every_tap(geometry: ConvGeometry) -> list[Tap]:
    """Return all taps."""
    return list(product(*(range(window.kernel) for window in geometry.windows)))


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the sums."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def multiply(source: Array, taps: Array) -> Array:
    """Return what positions bring: the source's channels times a tap's matrix."""
    return np.asarray(source @ taps.T)


def add(result: Array, place: Any, brought: Array) -> None:
    """Add what a tap brings where it lands; no two positions of a tap land in one place."""
    result[place] += brought


def rounded(sums: Array, dtype: np.dtype[Any]) -> Array:
    """Round the sums once."""
    return sums.astype(dtype)


def inward(source: Array, geometry: ConvGeometry) -> Array:
    """Bring the channels to the end."""
    return np.moveaxis(source, 1, -1) if geometry.data_format == "NCDHW" else source


def outward(result: Array, geometry: ConvGeometry) -> Array:
    """Bring the channels to where the data format has them."""
    moved = np.moveaxis(result, -1, 1) if geometry.data_format == "NCDHW" else result
    return np.ascontiguousarray(moved)


def room(geometry: ConvGeometry) -> tuple[int, ...]:
    """Return the shape of the sums, channels last."""
    return (geometry.batch, *(w.input for w in geometry.windows), geometry.in_channels)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The steps of a kernel, each as it should be unless replaced.

    Parameters
    ----------
    windows
        The windows, from the problem.
    taps
        Which taps are visited.
    places
        From which positions a tap brings something inside, and where it lands, per dimension.
    inward, outward
        Channels to the end, and back.
    filter, source
        The operands, the source with its channels last.
    sums
        The type of the sums.
    multiply, add
        What a tap brings, and its addition.
    rounded
        From the type of the sums to the result's.
    room
        The shape of the sums.
    made
        The sums, before they are rounded.
    finished
        The result, in its type and layout.
    """

    windows: Callable[[ConvGeometry], Windows] = windows_of
    taps: Callable[[ConvGeometry], list[Tap]] = every_tap
    places: Callable[[Window, int], tuple[list[int], list[int]]] = places
    inward: Callable[[Array, ConvGeometry], Array] = inward
    outward: Callable[[Array, ConvGeometry], Array] = outward
    filter: Callable[[Array, ConvGeometry], Array] = same
    source: Callable[[Array, ConvGeometry], Array] = same
    sums: Callable[[np.dtype[Any]], np.dtype[Any]] = wide
    multiply: Callable[[Array, Array], Array] = multiply
    add: Callable[[Array, Any, Array], None] = add
    rounded: Callable[[Array, np.dtype[Any]], Array] = rounded
    room: Callable[[ConvGeometry], tuple[int, ...]] = room
    made: Callable[[Array, ConvGeometry], Array] = same
    finished: Callable[[Array, ConvGeometry], Array] = same

    def __call__(self, geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        """Compute a problem."""
        kind = self.sums(filter.dtype)
        source = self.source(self.inward(out_backprop, geometry), geometry).astype(kind)
        taps = self.filter(filter, geometry).astype(kind)
        result = np.zeros(self.room(geometry), kind)
        windows = self.windows(geometry)
        with np.errstate(all="ignore"):
            for tap in self.taps(geometry):
                read, written = [], []
                for window, number in zip(windows, tap, strict=True):
                    positions, landed = self.places(window, number)
                    read.append(positions)
                    written.append(landed)
                if all(read):
                    brought = self.multiply(source[_grid(source, read)], taps[tap])
                    self.add(result, _grid(result, written), brought)
            made = self.made(result, geometry)
            result = self.outward(self.rounded(made, filter.dtype), geometry)
        return self.finished(result, geometry)


RIGHT = Recipe()


def chosen(choose: Callable[[ConvGeometry], Kernel]) -> Kernel:
    """Return a kernel that asks for each problem which kernel computes it."""

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        return choose(geometry)(geometry, filter, out_backprop)

    return kernel


def only(where: Callable[[ConvGeometry], bool], wrong: Kernel) -> Kernel:
    """Return a kernel that is wrong for some problems and right for all others."""
    return chosen(lambda geometry: wrong if where(geometry) else RIGHT)


def _grid(array: Array, places: list[list[int]]) -> Any:
    """Index the three spatial dimensions by lists, and all of batch and channels."""
    return np.ix_(range(array.shape[0]), *places)
