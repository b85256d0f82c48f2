"""Shape inference without data: what is known is checked, what is determined is filled in."""

from typing import Any

import numpy as np
import pytest

from opspec import OpError, TensorSpec
from opspec.ops.conv3d_backprop_input_v2 import Conv3DBackpropInputV2
from opspec.ops.conv3d_transpose import Conv3DTranspose


def transposed(
    sizes: Any,
    *,
    data: tuple[int, ...] = (2, 5, 6, 7, 3),
    filters: tuple[int, ...] = (3, 3, 3, 4, 3),
    **attributes: Any,
) -> tuple[int, ...]:
    given = Conv3DTranspose.Attributes(**{"strides": [1, 2, 3]} | attributes)
    return Conv3DTranspose.infer(
        given,
        input=TensorSpec("float32", data),
        filters=TensorSpec("float32", filters),
        output_shape=sizes,
    ).shape


def test_known_sizes_come_back() -> None:
    assert transposed([2, 5, 11, 21, 4]) == (2, 5, 11, 21, 4)
    assert transposed(np.array([2, 5, 12, 19, 4])) == (2, 5, 12, 19, 4)


def test_batch_channels_and_sizes_with_stride_1_are_filled_in() -> None:
    assert transposed([-1, -1, -1, -1, -1]) == (2, 5, -1, -1, 4)
    assert transposed([-1] * 5, padding="VALID", dilations=[2, 1, 1]) == (2, 9, -1, -1, 4)


def test_channels_first_fills_in_its_own_axes() -> None:
    found = transposed([-1] * 5, data=(2, 3, 5, 6, 7), data_format="NCDHW")
    assert found == (2, 4, 5, -1, -1)


def test_unknown_operand_extents_leave_sizes_unknown() -> None:
    assert transposed([-1] * 5, data=(-1, 5, 6, 7, -1)) == (-1, 5, -1, -1, 4)
    assert transposed([-1] * 5, data=(2, -1, 6, 7, 3)) == (2, -1, -1, -1, 4)
    assert transposed([-1] * 5, filters=(-1, 3, 3, -1, 3), padding="VALID") == (2, -1, -1, -1, -1)
    assert transposed([2, 8, 11, 21, 4], data=(-1, -1, -1, -1, -1)) == (2, 8, 11, 21, 4)


@pytest.mark.parametrize(
    ("sizes", "changes", "label"),
    [
        ([-2, 5, 11, 21, 4], {}, "output_shape.are_not_negative"),
        ([-1, 5, 13, -1, 4], {}, "input.spatial_sizes_fit"),
        ([3, -1, -1, -1, -1], {}, "output_shape.batch_equals_input"),
        ([-1, -1, -1, -1, 5], {}, "output_shape.channels_equal_filters"),
        ([-1] * 5, {"data": (2, 5, 6, 7, 9)}, "input.channels_equal_filters"),
        ([-1] * 5, {"data": (2, 5, 6, 7)}, "input.rank_is_5"),
        ([-1] * 5, {"filters": (3, 0, 3, 4, 3)}, "filters.has_taps"),
        ([-1] * 4, {}, "output_shape.are_5"),
        ([2.0, 5, 11, 21, 4], {}, "output_shape.are_integers"),
    ],
)
def test_what_is_known_to_be_wrong_is_an_error(
    sizes: Any, changes: dict[str, Any], label: str
) -> None:
    with pytest.raises(OpError) as caught:
        transposed(sizes, **changes)
    assert caught.value.rule == f"conv3d_transpose.{label}"


def test_dtypes_are_checked_and_come_back() -> None:
    attributes = Conv3DBackpropInputV2.Attributes(strides=[1] * 5, padding="SAME")
    half = TensorSpec("bfloat16", (1, 1, 1, 2, 3))
    found = Conv3DBackpropInputV2.infer(
        attributes, input_sizes=[-1] * 5, filter=half, out_backprop=half
    )
    assert found == TensorSpec("bfloat16", (1, 1, 1, 2, 2))
    with pytest.raises(OpError, match="dtype_equals_filter"):
        Conv3DBackpropInputV2.infer(
            attributes,
            input_sizes=[-1] * 5,
            filter=half,
            out_backprop=TensorSpec("float16", (1, 1, 1, 2, 3)),
        )


def test_sizes_beyond_64_bits_of_bytes_are_an_error_here_too() -> None:
    with pytest.raises(OpError, match="fit_memory"):
        transposed(
            [1, 2**40, 2**40, 1, 1],
            data=(1, 513, 513, 1, 1),
            filters=(1, 1, 1, 1, 1),
            strides=[2**31 - 1, 2**31 - 1, 1],
        )


def test_specs_have_extents() -> None:
    shape: Any
    for shape in ((1, -2), [1, 2], (1.5,), (True,), ("1",), (None,)):
        with pytest.raises(ValueError, match="extents"):
            TensorSpec("float32", shape)
    dtype: Any = np.dtype("float32")
    with pytest.raises(ValueError, match="dtype is a name"):
        TensorSpec(dtype, (1,))


def test_other_operands_than_the_operations_own_are_refused() -> None:
    attributes = Conv3DTranspose.Attributes(strides=1)
    with pytest.raises(TypeError, match="a TensorSpec for filters; given a ndarray"):
        Conv3DTranspose.infer(
            attributes,
            input=TensorSpec("float32", (1,)),
            filters=np.ones(1),
            output_shape=[1],
        )
    with pytest.raises(TypeError, match="input, filters, output_shape"):
        Conv3DTranspose.infer(attributes, input=TensorSpec("float32", (1,)))
    with pytest.raises(TypeError, match="Conv3DBackpropInputV2's Attributes"):
        Conv3DBackpropInputV2.infer(attributes, input_sizes=[1], filter=1, out_backprop=1)
