"""How operands are written in a program: as numbers, by a formula, or as their bytes."""

import base64
import math
import zlib
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LONGEST_LITERAL = 160


def kind(array: Array) -> str:
    """Return how a program spells the dtype."""
    return "ml_dtypes.bfloat16" if array.dtype.name == "bfloat16" else f"np.{array.dtype.name}"


def literal(array: Array) -> str | None:
    """Return the numbers themselves, or None where they would be too many."""
    if array.size == 0:
        return f"np.zeros({array.shape}, {kind(array)})"
    numbers = [_number(float(value)) for value in array.ravel()[: LONGEST_LITERAL + 1]]
    packed = array.tobytes()
    if packed == packed[: array.itemsize] * array.size:
        return f"np.full({array.shape}, {numbers[0]}, {kind(array)})"
    text = f"np.array([{', '.join(numbers)}], {kind(array)}).reshape{array.shape}"
    return text if len(numbers) == array.size and len(text) <= LONGEST_LITERAL else None


def whole_numbers(array: Array, reach: int, seed: int) -> str:
    """Return a formula for whole numbers of both signs."""
    drawn = f"np.random.default_rng({seed}).integers({-reach}, {reach + 1}, {array.shape})"
    return f"{drawn}.astype({kind(array)})"


def ones(array: Array) -> str:
    """Return a formula for ones."""
    return f"np.ones({array.shape}, {kind(array)})"


def normal_numbers(array: Array, seed: int) -> str:
    """Return a formula for normally distributed numbers."""
    return f"np.random.default_rng({seed}).standard_normal({array.shape}).astype({kind(array)})"


def embedded(array: Array) -> str:
    """Return the bytes themselves, packed into text."""
    packed = base64.b85encode(zlib.compress(array.tobytes(), 9)).decode()
    unpacked = f'zlib.decompress(base64.b85decode("{packed}"))'
    return f"np.frombuffer({unpacked}, {kind(array)}).reshape({array.shape}).copy()"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return f"np.{value}".replace("np.-", "-np.")
    if value.is_integer() and abs(value) < 1e6 and not (value == 0 and math.copysign(1, value) < 0):
        return str(int(value))
    return repr(value)
