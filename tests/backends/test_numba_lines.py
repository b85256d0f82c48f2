"""Conversions between what is stored and what is computed on, for every bit pattern."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed; it comes with opspec[numba]")

from numba import njit

from opspec.backends.numba.lines import STORED_BYTES, run, square, sum_bytes
from opspec.backends.numba.target import AVX512, PORTABLE, Target, host

TARGETS = pytest.mark.parametrize(
    "target", [host(), PORTABLE, AVX512], ids=lambda target: target.name
)


def numpy_types(stored: str) -> tuple[Any, Any]:
    kind = ml_dtypes.bfloat16 if stored == "bfloat16" else stored
    return np.dtype(kind), np.dtype(f"float{8 * sum_bytes(stored)}")


def same(result: Any, expected: Any) -> bool:
    nan = np.isnan(expected)
    equal = (result == expected) & (np.signbit(result) == np.signbit(expected))
    return bool(np.all(np.where(nan, np.isnan(result), equal)))


@TARGETS
@pytest.mark.parametrize("stored", ["float16", "bfloat16"])
def test_every_half_is_widened_exactly(target: Target, stored: str) -> None:
    half, wide = numpy_types(stored)
    copy = run(target, stored, outwards=False)
    copied = njit(lambda read, written, count: copy(read, written, count))
    given = np.arange(2**16, dtype=np.uint16).view(half)
    result = np.zeros(given.shape, wide)
    copied(given.ctypes.data, result.ctypes.data, given.size)
    assert same(result, given.astype(wide))


@TARGETS
@pytest.mark.parametrize("stored", ["float16", "bfloat16"])
def test_floats_are_narrowed_to_the_nearest_half_and_ties_to_even(
    target: Target, stored: str
) -> None:
    half, wide = numpy_types(stored)
    copy = run(target, stored, outwards=True)
    copied = njit(lambda read, written, count: copy(read, written, count))
    anything = np.random.default_rng(1).integers(0, 2**32, 300_003, dtype=np.uint32)
    with np.errstate(all="ignore"):
        halves = np.arange(2**16, dtype=np.uint16).view(half).astype(wide).view(np.uint32)
    near = [
        (halves.astype(np.int64) + step).astype(np.uint32)
        for step in (-1, 0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001)
    ]
    given = np.concatenate([anything, *near]).view(wide)
    result = np.zeros(given.shape, half)
    copied(given.ctypes.data, result.ctypes.data, given.size)
    with np.errstate(all="ignore"):
        assert same(result, given.astype(half))


@TARGETS
@pytest.mark.parametrize("stored", STORED_BYTES)
@pytest.mark.parametrize("outwards", [False, True])
def test_squares_are_transposed(target: Target, stored: str, outwards: bool) -> None:
    read_as, written_as = numpy_types(stored)[:: -1 if outwards else 1]
    lanes = target.lanes(sum_bytes(stored))
    transpose = square(target, stored, outwards)
    transposed = njit(lambda rows, offset, written, step: transpose(rows, offset, written, step))
    given = np.arange(lanes * (lanes + 3)).reshape(lanes, -1).astype(read_as)
    result = np.zeros((lanes, lanes), written_as)
    rows = np.array([row.ctypes.data for row in given])
    transposed(rows.ctypes.data, 3 * given.itemsize, result.ctypes.data, result.strides[0])
    np.testing.assert_array_equal(result, given[:, 3:].T.astype(written_as))
