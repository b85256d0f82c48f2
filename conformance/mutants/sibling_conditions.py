"""For which problems the mutants of Conv3D and of the gradient by the filter are wrong."""

from collections.abc import Iterator
from itertools import product
from math import prod

from opspec.conformance.mutants.conditions import (
    DILATIONS,
    DIMENSIONS,
    STRIDES,
    Where,
    both,
    has,
    has_kernel,
    has_steps,
)
from opspec.conformance.mutants.specialised import conditions
from opspec.dtypes import FLOATING
from opspec.geometry import ConvGeometry

Condition = tuple[str, str, Where]


def sibling_conditions() -> Iterator[tuple[str, Iterator[Condition]]]:
    """Yield, by family, what the problems are called and which they are."""
    yield from conditions()
    yield "dilation", _steps()
    yield "index", _kernels()
    yield "index", _sizes()
    yield "channels", _channels()
    yield "precision", _terms()


def _steps() -> Iterator[Condition]:
    for stride, dilation in product(STRIDES, DILATIONS):
        yield (
            f"stride-{stride}-dilation-{dilation}",
            f"a stride of {stride} with a dilation of {dilation}",
            has_steps(stride, dilation),
        )


def _kernels() -> Iterator[Condition]:
    for (axis, dimension), size in product(enumerate(DIMENSIONS), range(5, 10)):
        yield f"{dimension}-{size}", f"kernels of {dimension} {size}", has_kernel(axis, size)
    yield (
        "kernels-beyond-16",
        "more than 16 taps along the width",
        lambda g: g.windows[2].kernel > 16,
    )


def _sizes() -> Iterator[Condition]:
    for axis, dimension in enumerate(DIMENSIONS[:2]):
        yield (
            f"{dimension}-beyond-64",
            f"a {dimension} of more than 64 places",
            _is_longer(axis, 64),
        )
    yield "width-beyond-16-bits", "widths that 16 bits do not count", _is_longer(2, 2**16)


def _channels() -> Iterator[Condition]:
    yield "one-channel-in", "one channel of the input", lambda g: g.in_channels == 1
    yield "one-channel-out", "one channel of out_channels", lambda g: g.out_channels == 1
    yield "equal-channels", "as many channels", lambda g: g.in_channels == g.out_channels
    for side, block in (("in", 8), ("in", 16), ("out", 8), ("out", 16), ("out", 128)):
        yield (
            f"{side}-channels-one-above-{block}s",
            f"one of the {side}_channels more than blocks of {block} take",
            _is_one_above(f"{side}_channels", block),
        )
    for side, block in (("in", 16), ("in", 64), ("out", 128)):
        yield (
            f"{side}-channels-in-{block}s",
            f"{side}_channels that fill blocks of {block}",
            _fills(f"{side}_channels", block),
        )
    yield "out-channels-beyond-64", "more than 64 out_channels", lambda g: g.out_channels > 64


def _terms() -> Iterator[Condition]:
    yield (
        "many-products",
        "millions of products",
        lambda geometry: geometry.multiply_adds > 2_000_000 and geometry.in_channels > 20,
    )
    yield (
        "large-filters",
        "filters of 50,000 numbers and more",
        lambda geometry: prod(geometry.filter_shape) >= 50_000,
    )
    for dtype in FLOATING:
        yield (
            f"{dtype}-many-terms",
            f"sums of more than 10,000 terms of {dtype}",
            both(has(dtype), _sums_many),
        )


def _sums_many(geometry: ConvGeometry) -> bool:
    forward = geometry.in_channels * prod(window.kernel for window in geometry.windows)
    gradient = geometry.batch * prod(window.output for window in geometry.windows)
    return max(forward, gradient) > 10_000


def _has_more_taps(most: int) -> Where:
    return lambda geometry: geometry.windows[2].kernel > most


def _is_longer(axis: int, length: int) -> Where:
    return lambda geometry: geometry.windows[axis].input > length


def _is_one_above(side: str, block: int) -> Where:
    return lambda geometry: getattr(geometry, side) % block == 1 < getattr(geometry, side)


def _fills(side: str, block: int) -> Where:
    return lambda geometry: getattr(geometry, side) % block == 0 < getattr(geometry, side)
