"""Conv3D with Numba, on problems of every kind, against independent sums."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opspec
from opspec.conformance.oracle import forward_sum
from opspec.conformance.oracle_siblings import direct_forward_sum
from opspec.conformance.tolerance import require_bounded

pytest.importorskip("numba", reason="numba is not installed; it comes with opspec[numba]")

DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


def random_call(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([11, seed])
    first = bool(rng.integers(2))
    kernel, stride, dilation = (rng.integers(1, most, 3) for most in (5, 4, 3))
    sizes, batch = rng.integers(1, 15, 3), int(rng.integers(1, 4))
    channels, made = (int(rng.choice([1, 2, 3, 5, 8, 16, 17, 40])) for _ in range(2))
    dtype = DTYPES[int(rng.integers(4))]
    arranged = (0, 4, 1, 2, 3) if first else (0, 1, 2, 3, 4)

    def five(numbers: Any, last: int = 1, front: int = 1) -> list[int]:
        whole = [front, *(int(number) for number in numbers), last]
        return [whole[axis] for axis in arranged]

    return {
        "input": rng.integers(-2, 3, five(sizes, channels, batch)).astype(dtype),
        "filter": rng.integers(-2, 3, (*kernel, channels, made)).astype(dtype),
        "strides": five(stride),
        "padding": str(rng.choice(["SAME", "VALID"])),
        "data_format": "NCDHW" if first else "NDHWC",
        "dilations": five(dilation),
    }


def computed(given: dict[str, Any]) -> Any:
    return opspec.raw_ops.Conv3D(**given, backend="numba")


@pytest.mark.parametrize("seed", range(120))
def test_whole_numbers_are_exact(seed: int) -> None:
    given = random_call(seed)
    sums = forward_sum(**given)
    result = computed(given)
    assert result.shape == sums.shape
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(
        result.astype(np.float64), sums.astype(result.dtype).astype(np.float64)
    )


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", ["input", "filter"])
@pytest.mark.parametrize("seed", range(300, 306))
def test_special_values_reach_just_their_places(seed: int, operand: str, special: float) -> None:
    given = random_call(seed)
    place = tuple(size // 2 for size in given[operand].shape)
    given[operand][place] = special
    expected = direct_forward_sum(**given)[0]
    result = computed(given).astype(np.float64)
    with np.errstate(over="ignore"):
        rounded = expected.astype(given["input"].dtype).astype(np.float64)
    np.testing.assert_array_equal(result, rounded)


def test_zero_mean_data_is_within_the_bound() -> None:
    rng = np.random.default_rng(5)
    given = {
        **random_call(1),
        "input": rng.standard_normal((1, 6, 7, 9, 100)).astype(np.float32),
        "filter": rng.standard_normal((3, 2, 4, 100, 24)).astype(np.float32),
        "strides": [1, 2, 1, 2, 1],
        "data_format": "NDHWC",
        "dilations": [1, 1, 1, 1, 1],
    }
    require_bounded(computed(given), *direct_forward_sum(**given), "NDHWC")


def test_any_number_of_threads_gives_the_same_bits() -> None:
    rng = np.random.default_rng(6)
    given = {
        "input": rng.standard_normal((2, 12, 14, 16, 32)).astype(np.float32),
        "filter": rng.standard_normal((3, 3, 3, 32, 24)).astype(np.float32),
        "strides": [1, 2, 1, 1, 1],
        "padding": "SAME",
    }
    found = []
    for threads in (1, 2, 3):
        with opspec.thread_limit(threads):
            found.append(computed(given).tobytes())
    assert len(set(found)) == 1


def test_operands_that_lie_otherwise_and_out() -> None:
    given = random_call(3)
    plain = computed(given)
    backwards = {name: np.flip(np.flip(given[name]).copy()) for name in ("input", "filter")}
    out = np.full(plain.shape, np.nan, plain.dtype)
    assert opspec.raw_ops.Conv3D(**{**given, **backwards}, out=out, backend="numba") is out
    assert out.tobytes() == plain.tobytes()
