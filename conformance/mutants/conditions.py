"""For which problems a mutant is wrong: what several families ask."""

from collections.abc import Callable
from typing import TypeAlias

from opspec.conformance.mutants.recipe import Recipe, every_tap
from opspec.geometry import ConvGeometry

Where: TypeAlias = Callable[[ConvGeometry], bool]

WITHOUT_LAST_TAP = Recipe(taps=lambda geometry: every_tap(geometry)[:-1])
DIMENSIONS = ("depth", "height", "width")
# Each of the pairs that the steps of a layer are likely to be.
STRIDES, DILATIONS = (1, 2, 3, 4, 5, 8), (1, 2, 3, 4, 5)


def both(one: Where, other: Where) -> Where:
    """Return where two conditions hold."""
    return lambda geometry: one(geometry) and other(geometry)


def has(dtype: str) -> Where:
    """Return where the dtype is this one."""
    return lambda geometry: geometry.dtype == dtype


def lies(layout: str) -> Where:
    """Return where the data format is this one."""
    return lambda geometry: geometry.data_format == layout


def has_steps(stride: int, dilation: int) -> Where:
    """Return where a dimension of several taps has these steps."""
    return lambda geometry: any(
        (w.stride, w.dilation) == (stride, dilation) and w.kernel > 1 for w in geometry.windows
    )


def has_kernel(axis: int, size: int) -> Where:
    """Return where a dimension has so many taps."""
    return lambda geometry: geometry.windows[axis].kernel == size
