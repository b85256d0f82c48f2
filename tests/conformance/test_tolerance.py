"""The judges raise on what is wrong, and only on that."""

import ml_dtypes
import numpy as np
import pytest

from opspec.conformance.tolerance import (
    MismatchError,
    require_bounded,
    require_exact,
    require_same_form,
    rhos,
)


def cube(
    *values: float, dtype: type = np.float32
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array(values, dtype).reshape(1, 1, 1, -1, 1)


def test_equal_values_are_exact_and_nan_equals_nan() -> None:
    require_exact(cube(1, float("nan"), 0), cube(1, float("nan"), -0.0), "NDHWC")


@pytest.mark.parametrize("wrong", [2.0, float("nan"), float("inf")])
def test_one_wrong_element_is_reported_with_its_place(wrong: float) -> None:
    with pytest.raises(MismatchError, match=r"at \(n=0, d=0, h=0, w=1, c=0\).*1 of 3"):
        require_exact(cube(1, wrong, 3), cube(1, 5, 3), "NDHWC")


def test_the_place_is_named_in_the_layout_in_use() -> None:
    result, expected = np.zeros((1, 3, 1, 1, 2)), np.zeros((1, 3, 1, 1, 2))
    result[0, 2, 0, 0, 1] = 1
    with pytest.raises(MismatchError, match=r"n=0, d=0, h=0, w=1, c=2"):
        require_exact(result, expected, "NCDHW")
    with pytest.raises(MismatchError, match=r"n=0, d=2, h=0, w=0, c=1"):
        require_exact(result, expected, "NDHWC")


def test_an_error_of_eight_units_passes_and_of_nine_does_not() -> None:
    reference, magnitude = np.ones((1, 1, 1, 100, 1)), np.full((1, 1, 1, 100, 1), 16.0)
    result = reference.astype(np.float32)
    unit = 16 * 2.0**-24
    result[..., 7, 0] = 1 + 8 * unit
    require_bounded(result, reference, magnitude, "NDHWC")
    result[..., 7, 0] = 1 + 9 * unit
    with pytest.raises(MismatchError, match="9 units"):
        require_bounded(result, reference, magnitude, "NDHWC")


def test_many_errors_within_the_bound_fail_by_their_root_mean_square() -> None:
    reference, magnitude = np.ones((1, 1, 1, 100, 1)), np.full((1, 1, 1, 100, 1), 16.0)
    result = (reference + 2 * 16 * 2.0**-24).astype(np.float32)
    with pytest.raises(MismatchError, match="root mean square"):
        require_bounded(result, reference, magnitude, "NDHWC")


def test_where_no_tap_lands_nothing_but_zero_is_right() -> None:
    zeros = np.zeros((1, 1, 1, 2, 1))
    require_bounded(zeros.astype(np.float32), zeros, zeros, "NDHWC")
    with pytest.raises(MismatchError):
        require_bounded(cube(0, 1e-30), zeros, zeros, "NDHWC")


def test_nan_is_never_within_the_bound() -> None:
    ones = np.ones((1, 1, 1, 2, 1))
    with pytest.raises(MismatchError):
        require_bounded(cube(1, float("nan")), ones, ones, "NDHWC")


def test_units_are_those_of_the_dtype() -> None:
    one = np.ones((1, 1, 1, 1, 1))
    assert rhos(one.astype(np.float16) + np.float16(2.0**-10), one, one) == pytest.approx(2)
    above = (one + 2.0**-7).astype(ml_dtypes.bfloat16)
    assert rhos(above, one, one) == pytest.approx(2)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ([1.0], "a list"),
        (np.zeros(3), "dtype float64"),
        (np.zeros(3, ">f4"), "dtype >f4"),
        (np.zeros(4, np.float32), "shape"),
        (np.zeros(6, np.float32)[::2], "contiguous"),
    ],
)
def test_a_result_of_another_form_is_refused(result: object, words: str) -> None:
    with pytest.raises(MismatchError, match=words):
        require_same_form(result, "float32", (3,))
