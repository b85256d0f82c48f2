"""Conv3D and Conv3DBackpropFilterV2: signatures, inference, and what their errors say."""

import inspect
from typing import Any

import numpy as np
import pytest

import opspec
from opspec import ops
from opspec.errors import OpError, OpMemoryError
from opspec.rule import TensorSpec

IMAGE = np.ones((1, 3, 4, 5, 2), np.float32)
STEPS: dict[str, Any] = {"strides": [1, 1, 1, 1, 1], "padding": "VALID"}


def forward(**changes: Any) -> Any:
    given = {"input": IMAGE, "filter": np.ones((2, 2, 2, 2, 3), np.float32), **STEPS}
    return opspec.raw_ops.Conv3D(**{**given, **changes})


def gradient(**changes: Any) -> Any:
    given = {
        "input": IMAGE,
        "filter_sizes": [2, 2, 2, 2, 3],
        "out_backprop": np.ones((1, 2, 3, 4, 3), np.float32),
        **STEPS,
    }
    return opspec.raw_ops.Conv3DBackpropFilterV2(**{**given, **changes})


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (
            opspec.raw_ops.Conv3D,
            ["input", "filter", "strides", "padding", "data_format", "dilations", "name"],
        ),
        (
            opspec.raw_ops.Conv3DBackpropFilterV2,
            [
                *("input", "filter_sizes", "out_backprop", "strides", "padding", "data_format"),
                *("dilations", "name"),
            ],
        ),
    ],
)
def test_the_signature_is_tensorflows_and_ours(function: Any, names: list[str]) -> None:
    parameters = inspect.signature(function).parameters
    assert list(parameters) == [*names, "out", "backend"]
    assert {each.kind for each in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


def test_small_results() -> None:
    assert forward().shape == (1, 2, 3, 4, 3)
    assert (forward() == 16).all()
    assert gradient().shape == (2, 2, 2, 2, 3)
    assert (gradient() == 24).all()


@pytest.mark.parametrize("call", [forward, gradient])
def test_the_result_goes_into_out(call: Any) -> None:
    plain = call()
    out = np.full(plain.shape, np.nan, np.float32)
    assert call(out=out) is out
    assert (out == plain).all()
    with pytest.raises(OpError, match="out must have the shape of the result"):
        call(out=np.empty((1, 1, 1, 1, 1), np.float32))


@pytest.mark.parametrize(
    ("input", "filter", "padding", "result"),
    [
        ((2, 7, 8, 9, 3), (3, 2, 4, 3, 5), "SAME", (2, 4, 8, 3, 5)),
        ((2, 7, 8, 9, 3), (3, 2, 4, 3, 5), "VALID", (2, 3, 7, 2, 5)),
        ((-1, 7, -1, 9, -1), (3, 2, -1, 3, -1), "SAME", (-1, 4, -1, 3, -1)),
        ((-1, 7, 8, -1, 3), (3, -1, 4, 3, 5), "VALID", (-1, 3, -1, -1, 5)),
        ((2, 2, 8, 9, 3), (3, 2, 4, 3, 5), "VALID", (2, 0, 7, 2, 5)),
    ],
)
def test_the_shape_of_a_convolution_is_inferred(
    input: tuple[int, ...], filter: tuple[int, ...], padding: str, result: tuple[int, ...]
) -> None:
    definition = ops.get("Conv3D")
    attributes = definition.Attributes(strides=[1, 2, 1, 3, 1], padding=padding)
    specs = {"input": TensorSpec("float16", input), "filter": TensorSpec("float16", filter)}
    assert definition.infer(attributes, **specs) == TensorSpec("float16", result)


def test_the_shape_of_a_filters_gradient_is_filled_in() -> None:
    definition = ops.get("Conv3DBackpropFilterV2")
    found = definition.infer(
        definition.Attributes(**STEPS),
        input=TensorSpec("float32", (1, 3, 4, 5, 2)),
        filter_sizes=[2, 2, 2, -1, -1],
        out_backprop=TensorSpec("float32", (1, 2, 3, 4, 3)),
    )
    assert found.shape == (2, 2, 2, 2, 3)


@pytest.mark.parametrize(
    ("call", "changes", "rule", "words"),
    [
        (
            forward,
            {
                "input": np.ones((1, 3, 4, 5, 4), np.float32),
                "filter": np.ones((2, 2, 2, 2, 6), np.float32),
            },
            "Conv3D.filter.is_not_grouped",
            ["4 channels on axis 4 of input from a filter with 2: a grouping of 2"],
        ),
        (
            forward,
            {"input": np.ones((1, 3, 4, 5, 3), np.float32)},
            "Conv3D.input.channels_equal_filter",
            ["3 on axis 4 of input (NDHWC) beside 2 on axis 3 of filter", "swapaxes(filter, 3, 4)"],
        ),
        (
            forward,
            {"input": np.ones((1, 2, 3, 4, 5), np.float32)},
            "Conv3D.input.channels_equal_filter",
            ["input has 2 channels in NCDHW order: is data_format 'NCDHW' meant?"],
        ),
        (
            gradient,
            {"out_backprop": np.ones((1, 2, 3, 3, 3), np.float32)},
            "Conv3DBackpropFilterV2.out_backprop.spatial_sizes_fit",
            [
                "out_backprop cols 3 for input cols 5",
                "input cols 5, stride 1, kernel 2, dilation 1 and VALID have 4 windows",
            ],
        ),
        (
            gradient,
            {
                "filter_sizes": [2, 2, 2, 1, 4],
                "out_backprop": np.ones((1, 2, 3, 4, 4), np.float32),
            },
            "Conv3DBackpropFilterV2.filter_sizes.is_not_grouped",
            ["2 channels on axis 4 of input from a filter_sizes with 1: a grouping of 2"],
        ),
        (
            gradient,
            {"filter_sizes": [2, 2, 2, 2, 4]},
            "Conv3DBackpropFilterV2.filter_sizes.out_channels_equal_out_backprop",
            ["4 in filter_sizes[4] (out_channels) beside 3 on axis 4 of out_backprop"],
        ),
    ],
)
def test_errors_say_what_does_not_fit(
    call: Any, changes: dict[str, Any], rule: str, words: list[str]
) -> None:
    with pytest.raises(OpError) as caught:
        call(**changes)
    assert caught.value.rule == rule
    for text in words:
        assert text in str(caught.value)


def test_a_result_that_no_memory_holds_is_refused_before_anything_is_made() -> None:
    many = 2**22
    with pytest.raises(OpMemoryError, match="the result must fit into memory"):
        forward(
            input=np.zeros((1, many, 1, 1, 1), np.float32),
            filter=np.zeros((1, 1, 1, 1, many), np.float32),
        )


def test_a_stride_well_above_the_filter_starts_at_the_first_position() -> None:
    """TensorFlow's CPU kernel pads by less than nothing there (docs/semantics.md §6)."""
    line = np.arange(1, 9, dtype=np.float32).reshape(1, 8, 1, 1, 1)
    made = opspec.raw_ops.Conv3D(
        input=line,
        filter=np.ones((1, 1, 1, 1, 1), np.float32),
        strides=[1, 5, 1, 1, 1],
        padding="SAME",
    )
    assert made.ravel().tolist() == [1, 6]
