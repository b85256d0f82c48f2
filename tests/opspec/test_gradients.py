"""Gradients: by central differences, by what linearity says, and refused where they do not fit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opspec
from opspec import ops
from opspec.errors import OpError, OpTypeError

STEP = 2.0**-10

Array = np.ndarray[Any, Any]


def numbers(shape: tuple[int, ...], seed: int) -> Array:
    """Return few-bit numbers, so that differences of float64 sums are exact."""
    return np.random.default_rng(seed).integers(-8, 9, shape) / 4


def calls() -> list[Any]:
    """Return a call of every operation: its name, operands and the other arguments."""
    common = {"strides": [1, 2, 1, 3, 1], "padding": "SAME", "dilations": [1, 1, 2, 1, 1]}
    large, small, taps = (2, 5, 3, 4, 3), (2, 3, 3, 2, 2), (2, 3, 2, 3, 2)
    return [
        pytest.param("Conv3D", {"input": large, "filter": taps}, common, id="Conv3D"),
        pytest.param(
            "Conv3DBackpropInputV2",
            {"filter": taps, "out_backprop": small},
            {"input_sizes": list(large), **common},
            id="Conv3DBackpropInputV2",
        ),
        pytest.param(
            "Conv3DBackpropFilterV2",
            {"input": large, "out_backprop": small},
            {"filter_sizes": list(taps), **common},
            id="Conv3DBackpropFilterV2",
        ),
        pytest.param(
            "conv3d_transpose",
            {"input": (2, 2, 3, 3, 2), "filters": taps},
            {
                "output_shape": [2, 3, 5, 3, 4],
                "strides": [1, 1, 2, 1, 3],
                "data_format": "NCDHW",
            },
            id="conv3d_transpose",
        ),
    ]


def operands_of(shapes: dict[str, tuple[int, ...]]) -> dict[str, Array]:
    return {name: numbers(shape, seed) for seed, (name, shape) in enumerate(shapes.items())}


def differences(function: Callable[[Array], float], at: Array) -> Array:
    """Return the gradient of a function by central differences."""
    found = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += STEP
        down[place] -= STEP
        found[place] = (function(up) - function(down)) / (2 * STEP)
    return found


def test_every_operation_is_here() -> None:
    assert {call.values[0] for call in calls()} == set(ops.names())


@pytest.mark.parametrize(("op", "shapes", "given"), calls())
def test_gradients_are_what_differences_say(
    op: str, shapes: dict[str, tuple[int, ...]], given: dict[str, Any]
) -> None:
    operands = operands_of(shapes)
    result, pullback = opspec.vjp(op, **operands, **given)
    weights = numbers(result.shape, 7)
    gradients = pullback(weights)
    assert list(gradients) == list(ops.get(op).kernel_operands)
    for name, operand in operands.items():

        def weighted(changed: Array, name: str = name) -> float:
            made, _ = opspec.vjp(op, **{**operands, name: changed}, **given)
            return float((made * weights).sum())

        np.testing.assert_array_equal(gradients[name], differences(weighted, operand))


@pytest.mark.parametrize(("op", "shapes", "given"), calls())
def test_second_gradients_are_what_differences_say(
    op: str, shapes: dict[str, tuple[int, ...]], given: dict[str, Any]
) -> None:
    operands = operands_of(shapes)
    result, pullback = opspec.vjp(op, **operands, **given)
    weights = numbers(result.shape, 7)
    gradients, back = pullback.vjp(weights)
    seconds = {name: numbers(array.shape, 9) for name, array in gradients.items()}
    found = back(seconds)

    def weighted(**changed: Array) -> float:
        there = {**operands, "gradient": weights, **changed}
        gradient = there.pop("gradient")
        _, pull = opspec.vjp(op, **there, **given)
        return float(sum((array * seconds[name]).sum() for name, array in pull(gradient).items()))

    assert found.keys() == {*operands, "gradient"}
    for name, at in {**operands, "gradient": weights}.items():

        def along(changed: Array, name: str = name) -> float:
            return weighted(**{name: changed})

        wanted = differences(along, at)
        np.testing.assert_array_equal(found[name], wanted, err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_gradients_have_the_operands_dtypes_and_shapes(dtype: str) -> None:
    image, filters = (numbers(s, 3).astype(dtype) for s in ((1, 3, 4, 5, 2), (2, 2, 2, 3, 2)))
    result, pullback = opspec.vjp(
        opspec.nn.conv3d_transpose, image, filters, [1, 6, 8, 10, 3], strides=2, backend="numpy"
    )
    gradients = pullback(np.ones_like(result))
    assert gradients["input"].shape == image.shape
    assert gradients["filters"].shape == filters.shape
    assert {array.dtype.name for array in gradients.values()} == {dtype}


def test_lists_have_gradients_too() -> None:
    result, pullback = opspec.vjp("conv3d_transpose", [[[[[2.0]]]]], [[[[[3.0]]]]], [1] * 5, 1)
    gradients = pullback(np.ones_like(result))
    assert (gradients["input"].item(), gradients["filters"].item()) == (3, 2)


def test_a_gradient_of_another_shape_or_dtype_is_refused() -> None:
    ones = np.ones((1, 1, 1, 1, 1), np.float32)
    result, pullback = opspec.vjp("conv3d_transpose", ones, ones, [1] * 5, 1, name="layer")
    with pytest.raises(OpError, match=r"gradient must have the shape and dtype") as caught:
        pullback(np.ones((1, 1, 1, 1, 2), np.float32))
    assert caught.value.rule == "conv3d_transpose.gradient.is_like_its_array"
    assert "given float32 of shape [1, 1, 1, 1, 2]" in str(caught.value)
    with pytest.raises(OpError, match="given float64"):
        pullback(result.astype(np.float64))
    with pytest.raises(OpTypeError, match="given a list"):
        pullback([1.0])
    _, back = pullback.vjp(result)
    with pytest.raises(OpError, match="allowed filters, input"):
        back({"input": ones})
    with pytest.raises(OpError, match="filters must have the shape"):
        back({"input": ones, "filters": ones[0]})


def test_what_is_no_operation_is_refused() -> None:
    with pytest.raises(LookupError, match="no operation is named 'conv4d'"):
        opspec.vjp("conv4d")
