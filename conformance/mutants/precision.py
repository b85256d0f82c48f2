"""Arithmetic of less precision than the dtype promises, or rounded wrongly at the end."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from opspec.conformance.mutants import significands
from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import Array, Kernel, Recipe, multiply, only
from opspec.conformance.mutants.significands import BFLOAT16, BITS, TF32, shortened, through
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.geometry import ConvGeometry

Change = Callable[[Array, ConvGeometry], Array]


def precision_mutants() -> Iterator[Mutant]:
    """Yield the family "precision"."""
    return family_of(
        "precision",
        (
            *_short_operands(),
            *_narrow_sums(),
            *_long_sums(),
            *_parts(),
            *_scaled(),
            *_roundings(),
        ),
    )


def _short_operands() -> Iterator[tuple[str, str, Kernel]]:
    nearest, cut = significands.nearest_even, significands.toward_zero
    for name, looks_like, bits, way in (
        ("bfloat16", "float32 computed in bfloat16", BFLOAT16, nearest),
        ("bfloat16-cut", "float32 cut to bfloat16 without rounding", BFLOAT16, cut),
        ("tf32", "float32 computed in TF32", TF32, nearest),
        ("tf32-cut", "float32 cut to TF32 without rounding", TF32, cut),
    ):
        step = _short(bits, way)
        yield f"float32-as-{name}", looks_like, _of("float32", Recipe(source=step, filter=step))
    short = _short(BFLOAT16, nearest)
    yield (
        "float32-filter-as-bfloat16",
        "a float32 filter kept in bfloat16",
        _of("float32", Recipe(filter=short)),
    )
    yield (
        "float32-data-as-bfloat16",
        "float32 data kept in bfloat16",
        _of("float32", Recipe(source=short)),
    )
    single = _through("float32")
    yield (
        "float64-operands-as-float32",
        "float64 operands taken for float32",
        _of("float64", Recipe(source=single, filter=single)),
    )
    yield (
        "filter-in-8-bits",
        "a filter quantised to whole numbers of 8 bits",
        Recipe(filter=_quantised),
    )


def _narrow_sums() -> Iterator[tuple[str, str, Kernel]]:
    for dtype in ("float16", "bfloat16"):
        narrow = numpy_dtype(dtype)
        yield (
            f"{dtype}-rounded-at-each-tap",
            f"{dtype} sums rounded after each tap",
            _of(dtype, Recipe(add=_rounding(narrow))),
        )
        yield (
            f"{dtype}-rounded-at-each-channel",
            f"{dtype} sums accumulated in {dtype}",
            _of(dtype, Recipe(multiply=_in_blocks(1, narrow), add=_rounding(narrow))),
        )
        yield (
            f"{dtype}-rounded-at-each-block-of-16",
            f"{dtype} sums kept in {dtype} between blocks of 16 channels",
            _of(dtype, Recipe(multiply=_in_blocks(16, narrow))),
        )
        yield (
            f"{dtype}-products-rounded",
            f"{dtype} products rounded before they are summed",
            _of(dtype, Recipe(multiply=_rounded_products(narrow))),
        )
        yield (
            f"float32-accumulated-in-{dtype}",
            f"float32 accumulated in {dtype}",
            _of("float32", Recipe(multiply=_in_blocks(16, narrow))),
        )
    yield (
        "float64-summed-in-float32",
        "float64 summed in float32",
        _of("float64", Recipe(sums=lambda dtype: np.dtype(np.float32))),
    )


def _parts() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "float32-in-two-bfloat16-parts",
        "float32 split into two bfloat16 parts, its last bits lost",
        _of("float32", Recipe(source=_two_parts, filter=_two_parts)),
    )
    yield (
        "float32-cross-product-lost",
        "float32 split into TF32 parts, one of the products left out",
        _of("float32", Recipe(multiply=_without_one_cross_product)),
    )
    yield (
        "float64-in-two-float32-parts",
        "float64 split into two float32 parts, the product of the low parts left out",
        _of("float64", Recipe(multiply=_without_low_product)),
    )
    yield (
        "sums-through-a-fourier-transform",
        "a convolution by Fourier transform, its noise spread over the whole width",
        Recipe(made=_transformed),
    )
    yield (
        "sums-through-differences",
        "a Winograd transform: values recovered from sums with their neighbours",
        Recipe(made=_differences),
    )


def _scaled() -> Iterator[tuple[str, str, Kernel]]:
    for name, looks_like, factor in (
        ("1.0005", "a result scaled by 1.0005", 1.0005),
        ("1-and-2-to-the-minus-10", "a result scaled by 1 + 2^-10", 1 + 2**-10),
        ("1-and-2-to-the-minus-18", "a result scaled by 1 + 2^-18", 1 + 2**-18),
    ):
        yield f"result-times-{name.replace('.', '-')}", looks_like, Recipe(made=_times(factor))
    for dtype, other in (
        ("float32", "float16"),
        ("float32", "bfloat16"),
        ("float64", "float32"),
        ("float16", "bfloat16"),
        ("bfloat16", "float16"),
    ):
        yield (
            f"{dtype}-result-through-{other}",
            f"a {dtype} result that was rounded to {other} first",
            _of(dtype, Recipe(made=_through(other))),
        )


def _long_sums() -> Iterator[tuple[str, str, Kernel]]:
    """Sums so long that they are split, and the parts kept in fewer bits than sums need."""
    narrower = {"float16": "float16", "bfloat16": "bfloat16", "float32": "bfloat16"}
    for dtype in FLOATING:
        narrow = numpy_dtype(narrower.get(dtype, "float32"))
        yield (
            f"{dtype}-long-sums-in-parts",
            f"{dtype} sums of more than 10,000 terms added up in parts of {narrow.name}",
            only(_sums_long(dtype), Recipe(add=_rounding(narrow))),
        )


def _sums_long(dtype: str) -> Callable[[ConvGeometry], bool]:
    def where(geometry: ConvGeometry) -> bool:
        terms = geometry.out_channels * prod(window.kernel for window in geometry.windows)
        return geometry.dtype == dtype and terms > 10_000

    return where


def _roundings() -> Iterator[tuple[str, str, Kernel]]:
    ways = (
        ("cut", "cut instead of rounded", significands.toward_zero, 0),
        ("ties-away", "rounded with ties away from zero", significands.ties_away, 0),
        ("upward", "rounded upward", significands.upward, 0),
        ("twice", "rounded twice, to a few more bits first", significands.nearest_even, 3),
    )
    for dtype, bits in BITS.items():
        for name, looks_like, way, more in ways:
            step = _short(bits + more, way)
            yield f"{dtype}-{name}", f"{dtype} {looks_like}", _of(dtype, Recipe(made=step))


def _of(dtype: str, wrong: Kernel) -> Kernel:
    return only(lambda geometry: geometry.dtype == dtype, wrong)


def _short(bits: int, way: significands.Way) -> Change:
    return lambda array, geometry: shortened(array, bits, way)


def _through(dtype: str) -> Change:
    return lambda array, geometry: through(array, numpy_dtype(dtype))


def _times(factor: float) -> Change:
    return lambda made, geometry: made * made.dtype.type(factor)


def _quantised(filter: Array, geometry: ConvGeometry) -> Array:
    wide = filter.astype(np.float64)
    largest = np.abs(wide).max(initial=0)
    if largest == 0 or not np.isfinite(largest):
        return filter
    return np.asarray(np.rint(wide / largest * 127) * (largest / 127))


def _rounding(narrow: np.dtype[Any]) -> Callable[[Array, Any, Array], None]:
    def add(result: Array, place: Any, brought: Array) -> None:
        result[place] = through(result[place] + brought, narrow)

    return add


def _in_blocks(length: int, narrow: np.dtype[Any]) -> Callable[[Array, Array], Array]:
    """Sum over blocks of channels, rounding what there is after each."""

    def product(source: Array, taps: Array) -> Array:
        total = np.zeros((*source.shape[:-1], len(taps)), source.dtype)
        for start in range(0, source.shape[-1], length):
            block = slice(start, start + length)
            total = through(total + multiply(source[..., block], taps[:, block]), narrow)
        return total

    return product


def _rounded_products(narrow: np.dtype[Any]) -> Callable[[Array, Array], Array]:
    def product(source: Array, taps: Array) -> Array:
        total = np.zeros((*source.shape[:-1], len(taps)), source.dtype)
        for channel in range(source.shape[-1]):
            total += through(source[..., channel, None] * taps[:, channel], narrow)
        return total

    return product


def _two_parts(array: Array, geometry: ConvGeometry) -> Array:
    high = shortened(array, BFLOAT16)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(array), high + shortened(array - high, BFLOAT16), array)


def _split(array: Array, high: Array) -> tuple[Array, Array]:
    """Return the high part and what is left; an infinity has nothing left."""
    return high, np.where(np.isfinite(array), array - high, np.zeros((), array.dtype))


def _without_one_cross_product(source: Array, taps: Array) -> Array:
    high, low = _split(source, shortened(source, TF32))
    taps_high, taps_low = _split(taps, shortened(taps, TF32))
    return multiply(high, taps_high) + multiply(high, taps_low) + multiply(low, taps_low)


def _without_low_product(source: Array, taps: Array) -> Array:
    single = np.dtype(np.float32)
    high, low = _split(source, through(source, single))
    taps_high, taps_low = _split(taps, through(taps, single))
    return multiply(high, taps_high) + multiply(high, taps_low) + multiply(low, taps_high)


def _transformed(made: Array, geometry: ConvGeometry) -> Array:
    width = made.shape[3]
    if made.size == 0:
        return made
    return np.fft.irfft(np.fft.rfft(made, axis=3), n=width, axis=3).astype(made.dtype)


def _differences(made: Array, geometry: ConvGeometry) -> Array:
    neighbours = np.roll(made, 1, 3)
    return (made + neighbours) - neighbours
