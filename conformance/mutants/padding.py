"""Wrong padding: the odd position on the wrong side, or computed from the wrong numbers."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from opspec.conformance.mutants.index import DIMENSIONS, replaced
from opspec.conformance.mutants.mutant import Mutant
from opspec.conformance.mutants.recipe import Array, Recipe, Windows
from opspec.geometry import ConvGeometry, Window


def padding_mutants() -> Iterator[Mutant]:
    """Yield the family "padding"."""
    for name, looks_like, before in _befores():
        yield Mutant(f"padding-{name}", "padding", looks_like, _with_before(before))
    yield Mutant(
        "padding-same-for-valid",
        "padding",
        "SAME padding where VALID was asked for",
        lambda: Recipe(windows=_same_for_valid),
    )
    for axis, dimension in enumerate(DIMENSIONS):
        yield Mutant(
            f"padding-none-along-{dimension}",
            "padding",
            f"no padding along {dimension}",
            _with_before(lambda window: 0, only=axis),
        )
    for order, name in (((2, 1, 0), "depth-and-width"), ((1, 0, 2), "depth-and-height")):
        yield Mutant(
            f"padding-of-{name}-swapped",
            "padding",
            f"the padding of {name.replace('-', ' ')} swapped",
            _swapped(order),
        )
    yield Mutant(
        "padding-of-depth-for-all",
        "padding",
        "the padding of depth used for all dimensions",
        _swapped((0, 0, 0)),
    )
    yield Mutant(
        "tail-repeats-the-last-plane",
        "padding",
        "the tail that no window reaches filled with the last plane instead of zeros",
        lambda: Recipe(made=_filled_tail),
    )


def _befores() -> tuple[tuple[str, str, Callable[[Window], int]], ...]:
    return (
        ("odd-position-before", "SAME padding with the odd position on the wrong side", _after),
        ("stride-ignored", "SAME padding computed as if the stride were 1", _without_stride),
        ("dilation-ignored", "SAME padding computed without the dilation", _without_dilation),
        ("none", "no padding before (VALID for SAME)", lambda window: 0),
        ("all-before", "all of the padding before", lambda window: window.before + window.after),
        ("of-the-largest-size", "SAME padding of the largest legal size", _of_the_largest),
        ("below-nothing", "padding below 0 where the stride is above the kernel", _unclamped),
        ("complement", "the padding of the forward convolution's gradient turned round", _turned),
        ("half-the-kernel", "padding of half the kernel, whatever the size", _half_kernel),
        ("half-the-span", "padding of half the dilated kernel, whatever the size", _half_span),
    )


def _with_before(before: Callable[[Window], int], only: int | None = None) -> Callable[[], Recipe]:
    def windows(geometry: ConvGeometry) -> Windows:
        found: Windows = geometry.windows
        for axis, window in enumerate(geometry.windows):
            if only in (None, axis):
                found = replaced(found, axis, replace(window, before=before(window)))
        return found

    return lambda: Recipe(windows=windows)


def _span(window: Window) -> int:
    return (window.kernel - 1) * window.dilation + 1


def _is_padded(window: Window) -> bool:
    return window.before + window.after > 0


def _after(window: Window) -> int:
    return window.after


def _without_stride(window: Window) -> int:
    return (_span(window) - 1) // 2 if _is_padded(window) else 0


def _without_dilation(window: Window) -> int:
    missing = (window.output - 1) * window.stride + window.kernel - window.input
    return max(missing, 0) // 2 if _is_padded(window) else 0


def _of_the_largest(window: Window) -> int:
    missing = _span(window) - window.stride
    return max(missing, 0) // 2 if _is_padded(window) else 0


def _unclamped(window: Window) -> int:
    missing = (window.output - 1) * window.stride + _span(window) - window.input
    return missing // 2 if missing < 0 else window.before


def _turned(window: Window) -> int:
    return _span(window) - 1 - window.before if _is_padded(window) else 0


def _half_kernel(window: Window) -> int:
    return window.kernel // 2 if _is_padded(window) else 0


def _half_span(window: Window) -> int:
    return _span(window) // 2 if _is_padded(window) else 0


def _same_for_valid(geometry: ConvGeometry) -> Windows:
    def padded(window: Window) -> Window:
        missing = max((-(-window.input // window.stride) - 1) * window.stride, 0)
        missing = max(missing + _span(window) - window.input, 0)
        return window if _is_padded(window) else replace(window, before=missing // 2)

    return tuple(padded(window) for window in geometry.windows)


def _swapped(order: tuple[int, int, int]) -> Callable[[], Recipe]:
    def windows(geometry: ConvGeometry) -> Windows:
        befores = [geometry.windows[axis].before for axis in order]
        return tuple(
            replace(window, before=before)
            for window, before in zip(geometry.windows, befores, strict=True)
        )

    return lambda: Recipe(windows=windows)


def _filled_tail(made: Array, geometry: ConvGeometry) -> Array:
    filled = np.array(made)
    for axis, window in enumerate(geometry.windows, 1):
        end = (window.output - 1) * window.stride + _span(window) - window.before
        if 0 < end < window.input:
            at = [slice(None)] * made.ndim
            tail = list(at)
            at[axis], tail[axis] = slice(end - 1, end), slice(end, None)
            filled[tuple(tail)] = filled[tuple(at)]
    return filled
