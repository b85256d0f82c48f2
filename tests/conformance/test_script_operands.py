"""What a program writes for an operand gives that operand, bit for bit."""

import base64
import zlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opspec.conformance.script_operands import (
    LONGEST_LITERAL,
    embedded,
    literal,
    normal_numbers,
    ones,
    whole_numbers,
)

Array = np.ndarray[Any, Any]

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 5.0, -7.0, 0.1, 2.0**-24, 2.0**-149, 5e-324, 1e300]


def made(text: str) -> Array:
    names = {"np": np, "ml_dtypes": ml_dtypes, "zlib": zlib, "base64": base64}
    found: Array = eval(text, names)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", SPECIAL)
def test_every_number_survives(value: float, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        few = np.array([value, 1, value], np.float64).astype(dtype).reshape(1, 3, 1)
    for array in (few, few[:, :1]):
        for text in (literal(array), embedded(array)):
            assert text is not None
            found = made(text)
            assert (found.dtype, found.shape) == (array.dtype, array.shape)
            assert found.tobytes() == array.tobytes()
            assert found.flags.writeable


def test_many_numbers_are_no_literal_unless_they_are_one() -> None:
    many = np.arange(500, dtype=np.float32).reshape(5, 100)
    assert literal(many) is None
    assert made(embedded(many)).tobytes() == many.tobytes()
    assert literal(np.full((5, 100), 3.0, np.float32)) == "np.full((5, 100), 3, np.float32)"
    almost = np.full(500, 3.0, np.float32)
    almost[-1] = 4
    assert literal(almost) is None


def test_a_literal_is_short() -> None:
    for size in range(1, 100):
        text = literal(np.arange(size, dtype=np.float64))
        assert text is None or len(text) <= LONGEST_LITERAL
    assert literal(np.arange(10.0)) is not None


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nothing_has_a_literal(shape: tuple[int, ...]) -> None:
    text = literal(np.zeros(shape, np.float16))
    assert text is not None
    assert made(text).shape == shape


def test_formulas_keep_dtype_and_shape() -> None:
    array = np.zeros((20, 30), ml_dtypes.bfloat16)
    for text in (whole_numbers(array, 4, 7), ones(array), normal_numbers(array, 7)):
        found = made(text)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
    whole = made(whole_numbers(array, 4, 7)).astype(float)
    assert set(np.unique(whole)) == set(range(-4, 5))
