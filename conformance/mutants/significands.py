"""Numbers cut down to fewer bits, in each of the ways in which hardware and people do it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from opspec.conformance.mutants.recipe import Array

# Bits of the significand, the leading one included.
BFLOAT16, FLOAT16, TF32 = 8, 11, 11
BITS = {"bfloat16": BFLOAT16, "float16": FLOAT16}

Way = Callable[[Array], Array]


def nearest_even(steps: Array) -> Array:
    """Round to the nearest whole number, ties to even."""
    return np.asarray(np.rint(steps))


def toward_zero(steps: Array) -> Array:
    """Cut off what is behind the point."""
    return np.asarray(np.trunc(steps))


def ties_away(steps: Array) -> Array:
    """Round to the nearest whole number, ties away from zero."""
    return np.asarray(np.copysign(np.floor(np.abs(steps) + 0.5), steps))


def upward(steps: Array) -> Array:
    """Round to the next whole number above."""
    return np.asarray(np.ceil(steps))


def shortened(array: Array, bits: int, way: Way = nearest_even) -> Array:
    """Return an array's values with significands of so many bits, in the same type."""
    with np.errstate(all="ignore"):
        significands, exponents = np.frexp(array)
        steps = way(np.ldexp(significands, bits))
        short: Array = np.ldexp(steps, exponents - bits).astype(array.dtype)
    return short


def through(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array's values as another type holds them, in the type that they had."""
    with np.errstate(all="ignore"):
        return array.astype(dtype).astype(array.dtype)
