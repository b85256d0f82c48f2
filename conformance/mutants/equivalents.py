"""Changes that are tempting to count as faults and are none: no valid call tells them apart.

A suite that failed one of them would be wrong itself. Those that can be run carry their kernel.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from opspec.conformance.mutants.recipe import (
    Array,
    Kernel,
    Recipe,
    Tap,
    Windows,
    every_tap,
    multiply,
    only,
    places,
    room,
    rounded,
)
from opspec.dtypes import numpy_dtype
from opspec.geometry import ConvGeometry, Window

FEW_PLACES = 20_000


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A change that is no fault.

    Parameters
    ----------
    name
        Unique.
    change
        What is different, in words.
    why
        Why no valid call shows it.
    kernel
        The changed kernel, None where there is nothing to run.
    """

    name: str
    change: str
    why: str
    kernel: Kernel | None = None


def all_equivalents() -> tuple[Equivalent, ...]:
    """Return all of them."""
    return (*_of_sums(), *_of_steps(), *_of_places(), *_of_rounding(), *_not_run())


def _of_sums() -> Iterator[Equivalent]:
    yield Equivalent(
        "taps-from-the-last",
        "taps visited from the last to the first",
        "Only the order of summation differs: whole numbers are exact in every order, and the "
        "bound holds for every order.",
        Recipe(taps=_from_the_last),
    )
    yield Equivalent(
        "channels-in-blocks",
        "channels summed in blocks of 8 whose sums are added",
        "Only the order of summation differs.",
        Recipe(multiply=_in_blocks),
    )
    yield Equivalent(
        "all-summed-in-float64",
        "float16, bfloat16 and float32 summed in float64",
        "The sums may be wider than float32; they are rounded once at the end all the same.",
        Recipe(sums=lambda dtype: np.dtype(np.float64)),
    )


def _of_steps() -> Iterator[Equivalent]:
    yield Equivalent(
        "padding-after-wrong",
        "the padding after the last place given as any number",
        "No place depends on it: the size of the result is given, and places count from before.",
        Recipe(windows=lambda g: tuple(replace(w, after=w.after + 7) for w in g.windows)),
    )
    yield Equivalent(
        "stride-of-a-single-position-ignored",
        "a stride of 1 where there is a single position",
        "Position 0 times any stride is 0. The padding has been computed before.",
        Recipe(windows=lambda g: tuple(map(_without_needless_stride, g.windows))),
    )
    yield Equivalent(
        "dilation-of-a-single-tap-ignored",
        "a dilation of 1 where the kernel is 1",
        "Tap 0 times any dilation is 0.",
        Recipe(windows=lambda g: tuple(map(_without_needless_dilation, g.windows))),
    )


def _of_places() -> Iterator[Equivalent]:
    yield Equivalent(
        "cut-afterwards",
        "a result computed with room for what lands outside, and cut afterwards",
        "What lands outside is dropped either way.",
        only(_has_little_outside, Recipe(room=_whole_room, windows=_unpadded, made=_cut)),
    )
    yield Equivalent(
        "division-toward-zero",
        "positions found by division as in C, toward zero and with its remainder",
        "Before the first position the quotient differs from the floor only where the remainder "
        "is not 0, and there it is discarded.",
        Recipe(places=_divided_as_in_c),
    )


def _of_rounding() -> Iterator[Equivalent]:
    yield Equivalent(
        "zeros-negative",
        "zeros of the result negative",
        "-0 equals 0, and which of them a sum gives depends on its order.",
        Recipe(finished=_with_negative_zeros),
    )
    yield Equivalent(
        "float64-through-float32",
        "float16 summed in float64 and rounded to float32 before it is rounded to float16",
        "Sums in float32 are allowed, and a sum in float64 rounded to float32 is the best of them.",
        only(
            lambda geometry: geometry.dtype == "float16",
            Recipe(sums=lambda dtype: np.dtype(np.float64), rounded=_through_float32),
        ),
    )
    yield Equivalent(
        "bfloat16-rounded-by-its-bits",
        "bfloat16 rounded by adding to the bits of float32, without asking for NaN",
        "Only a NaN whose low bits are all set would overflow; operands in bfloat16 have low bits "
        "of 0, and a NaN that arises has them 0 too.",
        only(lambda geometry: geometry.dtype == "bfloat16", Recipe(rounded=_rounded_by_bits)),
    )


def _not_run() -> Iterator[Equivalent]:
    yield Equivalent(
        "nan-of-another-payload",
        "a NaN with other bits or another sign",
        "A NaN is a NaN; which one comes of a sum depends on its order.",
    )
    yield Equivalent(
        "fused-multiply-add",
        "products not rounded before they are added",
        "Each step errs less, so the bound holds; whole numbers are exact with and without.",
    )


def _from_the_last(geometry: ConvGeometry) -> list[Tap]:
    return every_tap(geometry)[::-1]


def _in_blocks(source: Array, taps: Array) -> Array:
    total = np.zeros((*source.shape[:-1], len(taps)), source.dtype)
    for start in range(0, source.shape[-1], 8):
        block = slice(start, start + 8)
        total += multiply(source[..., block], taps[:, block])
    return total


def _without_needless_stride(window: Window) -> Window:
    return window if window.output > 1 else replace(window, stride=1)


def _without_needless_dilation(window: Window) -> Window:
    return window if window.kernel > 1 else replace(window, dilation=1)


def _reach(window: Window) -> int:
    """Return how many places there are from the first that a tap can land on to the last."""
    last = window.landing(max(window.output - 1, 0), window.kernel - 1)
    return window.before + max(last + 1, window.input)


def _has_little_outside(geometry: ConvGeometry) -> bool:
    return prod(map(_reach, geometry.windows)) <= FEW_PLACES


def _whole_room(geometry: ConvGeometry) -> tuple[int, ...]:
    batch, *_, channels = room(geometry)
    return (batch, *map(_reach, geometry.windows), channels)


def _unpadded(geometry: ConvGeometry) -> Windows:
    return tuple(replace(w, before=0, input=_reach(w)) for w in geometry.windows)


def _cut(made: Array, geometry: ConvGeometry) -> Array:
    inside = (slice(w.before, w.before + w.input) for w in geometry.windows)
    return made[:, *inside]


def _divided_as_in_c(window: Window, tap: int) -> tuple[list[int], list[int]]:
    if window.input > FEW_PLACES:
        return places(window, tap)
    found = []
    for place in range(window.input):
        distance = place + window.before - tap * window.dilation
        quotient = abs(distance) // window.stride * (1 if distance >= 0 else -1)
        remainder = distance - quotient * window.stride
        if remainder == 0 and 0 <= quotient < window.output:
            found.append((quotient, place))
    return [position for position, _ in found], [place for _, place in found]


def _with_negative_zeros(result: Array, geometry: ConvGeometry) -> Array:
    zero = numpy_dtype(geometry.dtype).type(-0.0)
    return np.where(result == 0, zero, result)


def _through_float32(sums: Array, dtype: np.dtype[Any]) -> Array:
    return rounded(sums.astype(np.float32), dtype)


def _rounded_by_bits(sums: Array, dtype: np.dtype[Any]) -> Array:
    bits = sums.astype(np.float32).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    high = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    return high.astype(np.uint16).view(dtype)
