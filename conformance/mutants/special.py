"""Infinities, NaN, zeros, signs and the smallest numbers, treated as something else."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import (
    Array,
    Kernel,
    Recipe,
    Tap,
    Windows,
    only,
    rounded,
)
from opspec.dtypes import FLOATING
from opspec.geometry import ConvGeometry, extent

Change = Callable[[Array, ConvGeometry], Array]
LARGEST_HALF = 65504.0
MOST_STORED = 64


def special_mutants() -> Iterator[Mutant]:
    """Yield the family "special"."""
    return family_of(
        "special", (*_replaced(), *_overflown(), *_skipped(), *_leaking(), *_flushed(), *_signs())
    )


def _replaced() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "nan-replaced-by-0",
        "a NaN in the result replaced by 0",
        Recipe(made=lambda made, geometry: _where(np.isnan(made), 0.0, made)),
    )
    yield (
        "nan-in-the-data-replaced-by-0",
        "a NaN in the data taken for a missing value",
        Recipe(source=lambda source, geometry: _where(np.isnan(source), 0.0, source)),
    )
    yield (
        "nan-in-the-filter-replaced-by-0",
        "a NaN in the filter taken for a missing value",
        Recipe(filter=lambda filter, geometry: _where(np.isnan(filter), 0.0, filter)),
    )
    yield (
        "infinity-as-nan",
        "an infinite result replaced by NaN",
        Recipe(made=lambda made, geometry: _where(np.isinf(made), np.nan, made)),
    )
    yield (
        "infinity-clipped-in-the-data",
        "an infinity in the data taken for the largest number",
        Recipe(source=_clipped),
    )
    yield (
        "infinity-clipped-in-the-result",
        "an infinite result clipped to the largest number",
        Recipe(made=lambda made, geometry: _saturated(made, geometry.dtype)),
    )


def _overflown() -> Iterator[tuple[str, str, Kernel]]:
    for dtype in FLOATING[:2]:
        yield (
            f"{dtype}-saturates",
            f"a {dtype} sum clipped to the largest number where it overflows",
            only(_has(dtype), Recipe(rounded=_saturating)),
        )
    yield (
        "bfloat16-sums-overflow-as-float16",
        "bfloat16 sums that overflow where float16 does",
        only(_has("bfloat16"), Recipe(made=_overflowing)),
    )


def _skipped() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "zeros-in-the-data-skipped",
        "zeros in the data skipped, so that 0 * inf is lost",
        Recipe(multiply=_without_zeros(of_the_filter=False)),
    )
    yield (
        "zeros-in-the-filter-skipped",
        "zeros in the filter skipped, so that 0 * inf is lost",
        Recipe(multiply=_without_zeros(of_the_filter=True)),
    )


def _leaking() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "filter-times-padded-zeros",
        "data padded with zeros, so that an infinite tap spoils places that it does not reach",
        _padded,
    )
    yield (
        "dilated-filter-padded-with-zeros",
        "a dilated filter padded with zeros, so that an infinity spoils places between its taps",
        only(_is_dilated, Recipe(filter=_spread, windows=_undilated, taps=_all_between)),
    )


def _flushed() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "subnormal-data-flushed",
        "subnormal numbers in the data taken for 0",
        Recipe(source=_flushed_to_zero),
    )
    yield (
        "subnormal-filter-flushed",
        "subnormal numbers in the filter taken for 0",
        Recipe(filter=_flushed_to_zero),
    )
    yield (
        "subnormal-sums-flushed",
        "subnormal sums flushed to 0",
        Recipe(made=_flushed_to_zero),
    )
    yield (
        "subnormal-result-flushed",
        "a subnormal result flushed to 0",
        Recipe(finished=_flushed_to_zero),
    )


def _signs() -> Iterator[tuple[str, str, Kernel]]:
    for name, looks_like, change in (
        ("negative-made-0", "negative results made 0 (a fused ReLU)", _rectified),
        ("sign-lost", "results without their sign", np.abs),
        ("sign-reversed", "results with the other sign", np.negative),
    ):
        yield name, looks_like, Recipe(made=_applied(change))
    yield (
        "infinity-loses-its-sign",
        "infinite results without their sign",
        Recipe(made=lambda made, geometry: _where(np.isinf(made), np.inf, made)),
    )
    yield (
        "results-capped-at-6",
        "results clipped to 6 (a fused ReLU6 without its lower end)",
        Recipe(made=_applied(lambda made: np.minimum(made, made.dtype.type(6)))),
    )


def _where(which: Array, value: float, array: Array) -> Array:
    return np.where(which, array.dtype.type(value), array)


def _applied(change: Callable[[Array], Array]) -> Change:
    return lambda made, geometry: change(made)


def _rectified(made: Array) -> Array:
    return np.asarray(np.maximum(made, made.dtype.type(0)))


def _largest(dtype: str) -> float:
    """Return the largest finite number of a dtype; NumPy does not know bfloat16's."""
    if dtype == "bfloat16":
        return (2 - 2**-7) * 2.0**127
    return float(np.finfo(dtype).max)


def _smallest_normal(dtype: np.dtype[Any]) -> float:
    if dtype.name == "bfloat16":
        return 2.0**-126
    return float(np.finfo(dtype).smallest_normal)


def _saturated(array: Array, dtype: str) -> Array:
    """Clip infinities, and leave NaN."""
    largest = array.dtype.type(_largest(dtype))
    return np.where(np.isinf(array), np.copysign(largest, array), array)


def _clipped(source: Array, geometry: ConvGeometry) -> Array:
    return _saturated(source, geometry.dtype)


def _saturating(sums: Array, dtype: np.dtype[Any]) -> Array:
    """Clip finite sums only: an infinity that was given stays."""
    result = rounded(sums, dtype)
    return np.where(np.isinf(sums), result, _saturated(result, dtype.name))


def _overflowing(made: Array, geometry: ConvGeometry) -> Array:
    return _where(made > LARGEST_HALF, np.inf, _where(made < -LARGEST_HALF, -np.inf, made))


def _has(dtype: str) -> Callable[[ConvGeometry], bool]:
    return lambda geometry: geometry.dtype == dtype


def _without_zeros(*, of_the_filter: bool) -> Callable[[Array, Array], Array]:
    def product(source: Array, taps: Array) -> Array:
        total = np.zeros((*source.shape[:-1], len(taps)), source.dtype)
        for channel in range(source.shape[-1]):
            one, other = source[..., channel, None], taps[:, channel]
            zero = (other if of_the_filter else one) == 0
            total += np.where(zero, source.dtype.type(0), one * other)
        return total

    return product


def _flushed_to_zero(array: Array, geometry: ConvGeometry) -> Array:
    smallest = _smallest_normal(array.dtype)
    return _where(np.abs(array).astype(np.float64) < smallest, 0.0, array)


def _is_dilated(geometry: ConvGeometry) -> bool:
    """Whether there are gaps between taps, and few enough to store them."""
    spans = [extent(window.kernel, window.dilation) for window in geometry.windows]
    return geometry.dilated and max(spans) <= MOST_STORED


def _spread(filter: Array, geometry: ConvGeometry) -> Array:
    spans = [extent(window.kernel, window.dilation) for window in geometry.windows]
    spread = np.zeros((*spans, *filter.shape[3:]), filter.dtype)
    depth, height, width = (slice(None, None, w.dilation) for w in geometry.windows)
    spread[depth, height, width] = filter
    return spread


def _undilated(geometry: ConvGeometry) -> Windows:
    return tuple(replace(window, dilation=1) for window in geometry.windows)


def _all_between(geometry: ConvGeometry) -> list[Tap]:
    spans = (extent(window.kernel, window.dilation) for window in geometry.windows)
    return list(product(*map(range, spans)))


def _padded(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    """Add to every place 0 times every tap: NaN where a tap is infinite or NaN."""
    with np.errstate(all="ignore"):
        nothing = (filter.astype(np.float64) * 0).sum(axis=(0, 1, 2, 4))
    return Recipe(made=lambda made, geometry: made + nothing.astype(made.dtype))(
        geometry, filter, out_backprop
    )
