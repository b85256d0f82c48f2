"""Wrong steps: strides and dilations swapped, ignored or mixed up with each other."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from opspec.conformance.mutants.mutant import Mutant
from opspec.conformance.mutants.recipe import Recipe, Windows
from opspec.geometry import ConvGeometry, Window

Row = tuple[str, str, Callable[[], Recipe]]
ORDERS = (
    ("depth-and-width-swapped", (2, 1, 0)),
    ("depth-and-height-swapped", (1, 0, 2)),
    ("height-and-width-swapped", (0, 2, 1)),
    ("rotated", (1, 2, 0)),
    ("of-depth-for-all", (0, 0, 0)),
    ("of-width-for-all", (2, 2, 2)),
)


def step_mutants() -> Iterator[Mutant]:
    """Yield the families "stride" and "dilation"."""
    for step in ("stride", "dilation"):
        for name, order in ORDERS:
            words = f"{step}s {name.replace('-', ' ')}"
            yield Mutant(f"{step}-{name}", step, words, _ordered(step, order))
    for name, looks_like, change in (*_strides(), *_dilations()):
        yield Mutant(name, name.partition("-")[0], looks_like, change)


def _strides() -> tuple[Row, ...]:
    return (
        ("stride-ignored", "a stride of 1 whatever was asked for", _with(stride=lambda w: 1)),
        (
            "stride-one-more",
            "a step between windows one too long",
            _with(stride=lambda w: w.stride + 1 if w.stride > 1 else 1),
        ),
        (
            "stride-at-most-the-kernel",
            "strides above the kernel cut to the kernel",
            _with(stride=lambda w: min(w.stride, w.kernel)),
        ),
        (
            "stride-at-most-2",
            "strides above 2 taken for 2",
            _with(stride=lambda w: min(w.stride, 2)),
        ),
        (
            "stride-power-of-two",
            "strides rounded down to a power of two",
            _with(stride=lambda w: 1 << (w.stride.bit_length() - 1)),
        ),
        ("stride-and-dilation-swapped", "strides and dilations swapped", _exchanged),
    )


def _dilations() -> tuple[Row, ...]:
    return (
        ("dilation-ignored", "a dilation of 1 whatever was asked for", _with(dilation=lambda w: 1)),
        (
            "dilation-one-more",
            "as many positions between taps as the dilation says, one too many",
            _with(dilation=lambda w: w.dilation + 1 if w.dilation > 1 else 1),
        ),
        (
            "dilation-one-less",
            "one position too few between taps",
            _with(dilation=lambda w: max(w.dilation - 1, 1)),
        ),
        (
            "dilation-times-stride",
            "taps a dilation of strides apart",
            _with(dilation=lambda w: w.dilation * w.stride),
        ),
        (
            "dilation-of-the-source",
            "windows a stride of dilations apart",
            _with(stride=lambda w: w.stride * w.dilation),
        ),
        (
            "dilation-ignored-when-strided",
            "a dilation of 1 wherever the stride is above 1",
            _with(dilation=lambda w: w.dilation if w.stride == 1 else 1),
        ),
        (
            "stride-ignored-when-dilated",
            "a stride of 1 wherever the dilation is above 1",
            _with(stride=lambda w: w.stride if w.dilation == 1 else 1),
        ),
        (
            "dilation-in-16-bits",
            "dilations cut to 16 bits",
            _with(dilation=lambda w: w.dilation & 0xFFFF or 1),
        ),
        (
            "dilation-at-most-2",
            "dilations above 2 taken for 2",
            _with(dilation=lambda w: min(w.dilation, 2)),
        ),
    )


def _ordered(step: str, order: tuple[int, int, int]) -> Callable[[], Recipe]:
    def windows(geometry: ConvGeometry) -> Windows:
        steps = [getattr(geometry.windows[axis], step) for axis in order]
        return tuple(
            replace(window, **{step: value})
            for window, value in zip(geometry.windows, steps, strict=True)
        )

    return lambda: Recipe(windows=windows)


def _with(**changes: Callable[[Window], int]) -> Callable[[], Recipe]:
    def windows(geometry: ConvGeometry) -> Windows:
        return tuple(
            replace(window, **{name: change(window) for name, change in changes.items()})
            for window in geometry.windows
        )

    return lambda: Recipe(windows=windows)


def _exchanged() -> Recipe:
    def windows(geometry: ConvGeometry) -> Windows:
        return tuple(
            replace(window, stride=window.dilation, dilation=window.stride)
            for window in geometry.windows
        )

    return Recipe(windows=windows)
