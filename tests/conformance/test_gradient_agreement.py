"""The comparison of gradients with TensorFlow, without TensorFlow: what it lets pass."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from opspec import ops
from opspec.conformance.agreement_calls import OPERATIONS
from opspec.conformance.gradient_agreement import (
    Gradients,
    Sample,
    compare,
    differences,
    make_sample,
    our_gradients,
)

SEED = 20261203
Both: TypeAlias = tuple[Gradients, Gradients]


def as_they_are(sample: Sample) -> Both:
    """Answer with opspec's gradients."""
    return our_gradients(sample, "numpy")


def changed(order: int, change: Callable[[Any], Any]) -> Callable[[Sample], Both]:
    """Answer with opspec's gradients, the last one of an order changed."""

    def answer(sample: Sample) -> Both:
        both = [dict(part) for part in as_they_are(sample)]
        last = list(both[order])[-1]
        both[order][last] = change(both[order][last])
        return both[0], both[1]

    return answer


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_of_both_orders_are_counted(name: str) -> None:
    count = compare(ops.get(name), 3, SEED, ["numpy", "numpy"], as_they_are)
    assert (count.first, count.second, count.wrong) == (3 * 2 * 2, 3 * 3 * 2, [])


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "change",
    [lambda one: one + 1, lambda one: one.astype(np.float16), lambda one: one[:1, :1, :1, :1, :1]],
    ids=["values", "dtype", "shape"],
)
def test_a_gradient_that_differs_is_told(order: int, change: Callable[[Any], Any]) -> None:
    definition = ops.get("conv3d_transpose")
    count = compare(definition, 2, SEED, ["numpy"], changed(order, change))
    told = [f"order {order + 1}" in one for one in count.wrong]
    assert told == [True, True]


def test_a_gradient_that_is_missing_is_told() -> None:
    one = np.ones(2)
    assert differences({"input": one}, {"input": one, "filters": one})
    assert not differences({"input": one}, {"input": one})


@pytest.mark.parametrize("name", OPERATIONS)
def test_samples_differ_and_sums_of_them_are_exact(name: str) -> None:
    samples = [make_sample(ops.get(name), SEED, index) for index in range(12)]
    assert {sample.gradient.dtype.name for sample in samples} == {"float32", "float64"}
    assert {sample.settings["data_format"] for sample in samples} == {"NDHWC", "NCDHW"}
    for sample in samples:
        for array in (*sample.operands.values(), sample.gradient, *sample.seconds.values()):
            assert array.size
            np.testing.assert_array_equal(array, np.rint(array))
            assert np.abs(array).max() <= 3
