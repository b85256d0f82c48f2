"""For which problems a mutant is wrong: what several families ask."""

from collections.abc import Callable
from typing import TypeAlias

from opspec.conformance.mutants.recipe import Recipe, every_tap
from opspec.geometry import ConvGeometry

Where: TypeAlias = Callable[[ConvGeometry], bool]

WITHOUT_LAST_TAP = Recipe(taps=lambda geometry: every_tap(geometry)[:-1])
DIMENSIONS = ("depth", "height", "width")


def both(one: Where, other: Where) -> Where:
    """Return where two conditions hold."""
    return lambda geometry: one(geometry) and other(geometry)


def has(dtype: str) -> Where:
    """Return where the dtype is this one."""
    return lambda geometry: geometry.dtype == dtype


def lies(layout: str) -> Where:
    """Return where the data format is this one."""
    return lambda geometry: geometry.data_format == layout
