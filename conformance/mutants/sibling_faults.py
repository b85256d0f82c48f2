"""What may be wrong with a kernel of Conv3D or of the gradient by the filter."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from opspec.conformance.mutants.sibling_kernels import FORWARD, Array, Change, Fault, all_taps
from opspec.dtypes import FLOATING
from opspec.geometry import ConvGeometry, Window

Row = tuple[str, str, str, Fault]


def faults(operation: str) -> Iterator[Row]:
    """Yield name, family, words and fault."""
    yield from _windows()
    yield from _taps()
    yield from _operands(operation)
    yield from _special()
    yield from _results()
    yield from _sums()


def _windows() -> Iterator[Row]:
    yield (
        "odd-padding-before",
        "padding",
        "SAME padding on the wrong side",
        Fault(window=lambda w, _: replace(w, before=w.after, after=w.before)),
    )
    yield (
        "no-padding",
        "padding",
        "windows that start at the first position, as in VALID",
        Fault(window=lambda w, _: replace(w, before=0)),
    )
    yield (
        "negative-padding",
        "padding",
        "a padding below zero where strides are well above the filter, as TensorFlow's CPU kernel",
        Fault(window=lambda w, _: replace(w, before=_unclamped(w))),
    )
    yield (
        "dilation-in-16-bits",
        "dilation",
        "dilations counted in 16 bits",
        Fault(window=lambda w, _: replace(w, dilation=w.dilation % 2**16)),
    )
    for number, dimension in enumerate(("depth", "height", "width")):
        yield (
            f"stride-of-{dimension}-ignored",
            "stride",
            f"a stride of 1 along the {dimension}",
            Fault(window=_along(number, stride=1)),
        )
        yield (
            f"dilation-of-{dimension}-ignored",
            "dilation",
            f"a dilation of 1 along the {dimension}",
            Fault(window=_along(number, dilation=1)),
        )


def _along(number: int, **changes: int) -> Callable[[Window, int], Window]:
    return lambda window, n: replace(window, **changes) if n == number else window


def _unclamped(window: Window) -> int:
    if window.before or window.after:
        return window.before
    spanned = (window.output - 1) * window.stride + (window.kernel - 1) * window.dilation + 1
    # With VALID nothing is missing, and what is left over is less than a stride.
    missing = spanned - window.input
    is_valid = window.output == (window.input - spanned) // window.stride + 1
    return 0 if is_valid else min(missing // 2, 0)


def _taps() -> Iterator[Row]:
    yield (
        "first-tap-left-out",
        "index",
        "the first tap left out",
        Fault(taps=lambda geometry: all_taps(geometry)[1:]),
    )
    yield (
        "last-tap-left-out",
        "index",
        "the last tap left out",
        Fault(taps=lambda geometry: all_taps(geometry)[:-1]),
    )


def _operands(operation: str) -> Iterator[Row]:
    yield (
        "first-entry-everywhere",
        "batch",
        "the first batch entry read for all",
        Fault(input=lambda array, _: np.broadcast_to(array[:1], array.shape)),
    )
    yield (
        "first-channel-everywhere",
        "channels",
        "the first channel of the input read for all",
        Fault(input=lambda array, _: np.broadcast_to(array[..., :1], array.shape)),
    )
    yield (
        "last-channel-lost",
        "channels",
        "the last channel of the input lost",
        Fault(input=_without_last_channel),
    )
    yield (
        "channels-second-read-as-last",
        "layout",
        "NCDHW read as if the channels were last",
        Fault(input=_misread),
    )
    if operation == FORWARD:
        yield (
            "filter-flipped",
            "index",
            "a flipped filter, as in mathematics",
            Fault(other=lambda array, _: array[::-1, ::-1, ::-1]),
        )
        yield (
            "filter-transposed",
            "channels",
            "the filter's channels swapped where there are as many of both",
            Fault(other=_transposed),
        )
    else:
        yield (
            "result-flipped",
            "index",
            "a flipped filter, as in mathematics",
            Fault(result=lambda array, _: array[::-1, ::-1, ::-1]),
        )
        yield (
            "result-transposed",
            "channels",
            "the filter's channels swapped where there are as many of both",
            Fault(result=_transposed),
        )


def _special() -> Iterator[Row]:
    """What is not read as it is, for each operand and, as it shows in one dtype, for each dtype."""
    for operand, dtype in zip(("input", "other", "input", "other"), FLOATING, strict=True):
        name = f"subnormals-of-{dtype}-flushed"
        words = f"subnormal numbers of {dtype} flushed to zero"
        yield name, "special", words, _read_as(operand, dtype, _flushed)
    for dtype in ("float16", "float32", "float64"):
        words = f"infinities of {dtype} read as the largest number"
        yield (
            f"infinities-clipped-in-{dtype}",
            "special",
            words,
            _read_as("input", dtype, lambda array, _: _finite(array)),
        )
    for operand, words in (("input", "the input"), ("other", "the other operand")):
        yield (
            f"nan-of-{operand}-read-as-0",
            "special",
            f"NaN of {words} read as 0",
            _read_as(operand, None, lambda array, _: np.where(np.isnan(array), 0, array)),
        )
    yield (
        "nan-of-bfloat16-lost",
        "special",
        "a NaN of bfloat16 that is rounded to a number",
        _read_as("input", "bfloat16", lambda array, _: np.where(np.isnan(array), 1, array)),
    )
    yield (
        "float16-saturates",
        "special",
        "float16 that ends at its largest number",
        Fault(result=_saturated),
    )


def _read_as(operand: str, dtype: str | None, change: Change) -> Fault:
    def changed(array: Array, geometry: ConvGeometry) -> Array:
        if dtype not in (None, geometry.dtype):
            return array
        return change(array, geometry).astype(array.dtype)

    return Fault(input=changed) if operand == "input" else Fault(other=changed)


def _finite(array: Array) -> Array:
    largest = float(np.finfo(array.dtype).max)
    return np.where(np.isinf(array), np.copysign(largest, array.astype(np.float64)), array)


def _saturated(array: Array, geometry: ConvGeometry) -> Array:
    return np.clip(array, -65504, 65504) if geometry.dtype == "float16" else array


def _results() -> Iterator[Row]:
    yield (
        "last-place-lost",
        "index",
        "the last place of the result left at zero",
        Fault(result=_without_last_place),
    )
    yield (
        "zero-is-1",
        "empties",
        "places that nothing reaches not cleared",
        Fault(result=lambda array, _: np.where(array == 0, 1, array)),
    )
    yield (
        "scaled",
        "precision",
        "a result that is a thousandth too large",
        Fault(result=lambda array, _: array * array.dtype.type(1.001)),
    )


def _sums() -> Iterator[Row]:
    yield "sums-in-own-dtype", "precision", "sums in the operands' dtype", Fault(sums=lambda d: d)
    yield (
        "sums-in-float32",
        "precision",
        "float64 summed in float32",
        Fault(sums=lambda dtype: np.dtype(np.float32)),
    )
    yield (
        "result-truncated",
        "precision",
        "bfloat16 truncated, not rounded",
        Fault(result=_truncated),
    )


def _without_last_channel(array: Array, geometry: ConvGeometry) -> Array:
    left = array.copy()
    left[..., -1:] = 0
    return left


def _without_last_place(array: Array, geometry: ConvGeometry) -> Array:
    left = array.copy()
    left[-1:, -1:, -1:, -1:, -1:] = 0
    return left


def _flushed(array: Array, geometry: ConvGeometry) -> Array:
    smallest = {"float16": 2.0**-14, "float64": 2.0**-1022}.get(geometry.dtype, 2.0**-126)
    return np.where(np.abs(array.astype(np.float64)) < smallest, 0, array).astype(array.dtype)


def _misread(array: Array, geometry: ConvGeometry) -> Array:
    if geometry.data_format == "NDHWC":
        return array
    return np.ascontiguousarray(np.moveaxis(array, -1, 1)).reshape(array.shape)


def _transposed(array: Array, geometry: ConvGeometry) -> Array:
    return array.swapaxes(3, 4) if geometry.in_channels == geometry.out_channels else array


def _truncated(array: Array, geometry: ConvGeometry) -> Array:
    if geometry.dtype != "bfloat16":
        return array
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)
