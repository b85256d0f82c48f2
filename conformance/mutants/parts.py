"""Parts of an array along one axis."""

from typing import Any

import numpy as np

from opspec.conformance.mutants.recipe import Array

DEPTH, HEIGHT, WIDTH, CHANNELS = 1, 2, 3, 4


def part(axis: int, which: Any) -> tuple[Any, ...]:
    """Return the index of some numbers of an axis."""
    return (*(slice(None),) * axis, which)


def without(array: Array, axis: int, which: Any) -> Array:
    """Return a copy that is 0 at some numbers of an axis."""
    left = np.array(array)
    left[part(axis, which)] = 0
    return left


def exchanged(array: Array, axis: int, order: Any) -> Array:
    """Return the numbers of an axis in another order."""
    return np.take(array, np.asarray(order, np.intp), axis)
