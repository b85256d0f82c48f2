"""Errors say which operation, argument and rule, what was given, what is allowed, what to do."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opspec
from opspec.cli import main
from opspec.errors import OpError, OpMemoryError, OpTypeError
from opspec.ops.conv3d_transpose import Conv3DTranspose

DATA = np.zeros((2, 3, 4, 5, 6), np.float32)
FILTERS = np.zeros((3, 3, 3, 7, 6), np.float32)
SIZES = [2, 6, 8, 10, 7]


def fault(**changes: Any) -> OpError:
    arguments: dict[str, Any] = {
        "input": DATA,
        "filters": FILTERS,
        "output_shape": SIZES,
        "strides": 2,
    }
    with pytest.raises(OpError) as caught:
        opspec.nn.conv3d_transpose(**arguments | changes)
    return caught.value


def test_the_error_has_every_part_and_says_it() -> None:
    error = fault(strides=[2, 0, 2], name="up1")
    assert error.op == "conv3d_transpose"
    assert error.argument == "strides"
    assert error.rule == "conv3d_transpose.strides.are_positive"
    assert error.given == "[2, 0, 2]"
    assert error.allowed == "integers from 1"
    assert error.name == "up1"
    assert str(error) == (
        "conv3d_transpose 'up1': strides must be at least 1; given [2, 0, 2]; "
        "allowed integers from 1 [conv3d_transpose.strides.are_positive]"
    )


def test_every_error_is_a_value_error_and_of_its_kind() -> None:
    assert isinstance(fault(strides=0), ValueError)
    dtype = fault(filters=FILTERS.astype(np.float64))
    assert isinstance(dtype, OpTypeError)
    assert isinstance(dtype, TypeError)
    assert issubclass(OpMemoryError, MemoryError)
    assert issubclass(OpMemoryError, ValueError)


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_survive_copying_and_pickling(again: Any) -> None:
    for error in (fault(strides=0, name="x"), fault(filters=FILTERS.astype(np.float64))):
        twin = again(error)
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)


def test_errors_keep_their_notes() -> None:
    error = fault(strides=0)
    error.add_note("in layer 3")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["in layer 3"]
    assert error.named("up1").name == "up1"


def test_lists_tuples_and_ranges_are_shown_alike() -> None:
    assert fault(strides=(2, 0, 2)).given == fault(strides=[2, 0, 2]).given == "[2, 0, 2]"
    assert fault(output_shape=range(4)).given == "4: [0, 1, 2, 3]"


def test_sizes_that_do_not_fit_are_answered_with_those_that_do() -> None:
    error = fault(output_shape=[2, 7, 8, 10, 7])
    assert error.given == "input depth 3 for output depth 7"
    assert error.allowed == "input depth 4"
    assert error.hint == (
        "for input depth 3, stride 2, kernel 3, dilation 1 and SAME, "
        "output_shape[1] (depth) must be 5 or 6"
    )
    error = fault(output_shape=[2, 7, 99, 11, 7], strides=[2, 5, 1], padding="VALID")
    assert "output_shape[2] (height) must be 18 to 22" in str(error)
    assert "output_shape[3] (width) must be 7" in str(error)


def test_a_channel_mismatch_names_axis_operand_and_layout() -> None:
    error = fault(output_shape=[2, 6, 8, 10, 9])
    assert error.given == (
        "output_shape[4] = 9 channels (NDHWC) beside 7 on axis 3 of filters (output_channels)"
    )
    error = fault(input=DATA[..., :5])
    assert error.given == (
        "5 on axis 4 of input (NDHWC) beside 6 on axis 4 of filters (in_channels)"
    )
    error = fault(input=DATA[:, :2], output_shape=[2, 7, 8, 10, 12], data_format="NCDHW", strides=2)
    assert error.given == (
        "2 on axis 1 of input (NCDHW) beside 6 on axis 4 of filters (in_channels)"
    )


def test_swapped_filter_axes_are_recognised() -> None:
    error = fault(filters=FILTERS.swapaxes(3, 4))
    assert "its last two axes look swapped: pass numpy.swapaxes(filters, 3, 4)" in str(error)


def test_the_other_layout_is_recognised() -> None:
    error = fault(input=np.zeros((2, 6, 3, 4, 5), np.float32), output_shape=[2, 12, 6, 8, 7])
    assert "is data_format 'NCDHW' meant?" in str(error)


def test_a_grouped_filter_is_named_as_such() -> None:
    error = fault(output_shape=[2, 6, 8, 10, 14])
    assert error.rule == "conv3d_transpose.filters.is_not_grouped"
    assert "a grouping of 2" in error.given
    assert "run the 2 groups one by one" in str(error)


def test_wrong_case_is_recognised() -> None:
    assert "write 'VALID'" in str(fault(padding="valid"))
    assert "write 'NCDHW'" in str(fault(data_format="ncdhw"))


def test_unknown_sizes_are_told_where_to_find_them() -> None:
    assert "the batch is input.shape[0]" in str(fault(output_shape=[-1, 6, 8, 10, 7]))
    assert "read the unknown ones off" in str(fault(output_shape=[None, 6, 8, 10, 7]))


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({"padding": "same", "strides": 0}, "padding.is_known"),
        ({"data_format": "NHWC", "strides": 0}, "data_format.is_known"),
        ({"strides": [0, 1.5, 1]}, "strides.are_integers"),
        ({"strides": [0, 1]}, "strides.are_1_or_3_or_5"),
        ({"strides": 0, "dilations": 0}, "strides.are_positive"),
        ({"dilations": [2, 2**31, 1, 1, 1]}, "dilations.fit_int32"),
        ({"dilations": 0, "name": 3}, "dilations.are_positive"),
        ({"name": 3, "output_shape": 5}, "name.is_text"),
        ({"output_shape": [1.0], "input": None}, "output_shape.are_integers"),
        ({"output_shape": [-1, 2**70], "input": None}, "output_shape.are_5"),
        ({"output_shape": [-1, 2**70, 1, 1, 1]}, "output_shape.fit_int64"),
        ({"filters": None, "input": None}, "filters.is_array"),
        ({"filters": FILTERS[0], "input": DATA.astype(int)}, "input.dtype_is_supported"),
        ({"filters": FILTERS[0], "input": DATA[0]}, "filters.rank_is_5"),
        ({"filters": FILTERS[:0], "output_shape": [9, 9, 9, 9, 9]}, "filters.has_taps"),
        ({"output_shape": [9, 9, 9, 9, 14]}, "output_shape.batch_equals_input"),
        ({"output_shape": [2, 9, 9, 9, 14]}, "filters.is_not_grouped"),
        ({"output_shape": [2, 9, 9, 9, 9]}, "output_shape.channels_equal_filters"),
    ],
)
def test_of_two_faults_the_first_in_the_fixed_order_is_the_error(
    changes: dict[str, Any], label: str
) -> None:
    assert fault(**changes).rule == f"conv3d_transpose.{label}"


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"strides": [1, 0, 1]}, ["--strides", "1,0,1"]),
        ({"strides": 2.5}, ["--strides", "2.5"]),
        ({"strides": 2, "padding": "same"}, ["--strides", "2", "--padding", "same"]),
        ({"strides": 2, "data_format": "NDWHC"}, ["--strides", "2", "--data-format", "NDWHC"]),
        ({"strides": 2, "dilations": [1, 2]}, ["--strides", "2", "--dilations", "[1, 2]"]),
    ],
)
def test_model_call_and_command_line_give_one_error(
    attributes: dict[str, Any], words: list[str], complaint: Callable[[], str]
) -> None:
    with pytest.raises(OpError) as model:
        Conv3DTranspose.Attributes(**attributes)
    call = fault(**attributes)
    assert str(model.value) == str(call)
    operands = ["--input", "float32:2,3,4,5,6", "--filters", "float32:3,3,3,7,6"]
    code = main(["infer", "conv3d_transpose", *words, *operands, "--output-shape", "2,6,8,10,7"])
    assert code == 1
    assert complaint() == in_parts(call)


def in_parts(error: OpError) -> str:
    told = (
        f"opspec: {error.op}: {error.sentence} argument: {error.argument} given: {error.given} "
        f"allowed: {error.allowed} rule: {error.rule}"
    )
    return f"{told} hint: {error.hint}" if error.hint else told


def test_operand_faults_are_one_error_in_call_and_command_line(
    complaint: Callable[[], str],
) -> None:
    call = fault(output_shape=[2, 9, 8, 10, 7])
    operands = ["--input", "float32:2,3,4,5,6", "--filters", "float32:3,3,3,7,6"]
    words = ["--strides", "2", *operands, "--output-shape", "2,9,8,10,7"]
    assert main(["infer", "conv3d_transpose", *words]) == 1
    assert complaint() == in_parts(call)
