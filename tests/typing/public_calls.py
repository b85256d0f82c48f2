"""What type checkers say of the public calls; checked by mypy and pyright, never run."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import opspec


def results_keep_dtype_and_array_type(
    half: npt.NDArray[np.float16], double: npt.NDArray[np.float64], lists: list[list[float]]
) -> None:
    sizes = [1, 2, 2, 2, 1]
    assert_type(opspec.nn.conv3d_transpose(half, half, sizes, 2), npt.NDArray[np.float16])
    assert_type(opspec.nn.conv3d_transpose(half, lists, sizes, [2]), npt.NDArray[np.float16])
    assert_type(opspec.nn.conv3d_transpose(lists, double, sizes, None), npt.NDArray[np.float64])
    assert_type(opspec.nn.conv3d_transpose(lists, lists, sizes, 1), npt.NDArray[np.float32])
    assert_type(
        opspec.raw_ops.Conv3DBackpropInputV2(
            input_sizes=np.array(sizes),
            filter=double,
            out_backprop=double,
            strides=(1, 2, 2, 2, 1),
            padding="SAME",
            data_format="NCDHW",
            backend="numpy",
        ),
        npt.NDArray[np.float64],
    )


def out_has_the_type_of_the_result(
    half: npt.NDArray[np.float16], single: npt.NDArray[np.float32], lists: list[list[float]]
) -> None:
    sizes = [1, 2, 2, 2, 1]
    found = opspec.nn.conv3d_transpose(half, half, sizes, 2, out=half)
    assert_type(found, npt.NDArray[np.float16])
    found = opspec.nn.conv3d_transpose(lists, half, sizes, 2, out=None)
    assert_type(found, npt.NDArray[np.float16])
    assert_type(
        opspec.nn.conv3d_transpose(lists, lists, sizes, 2, out=single), npt.NDArray[np.float32]
    )
    assert_type(
        opspec.raw_ops.Conv3DBackpropInputV2(
            input_sizes=sizes,
            filter=single,
            out_backprop=lists,
            strides=(1, 2, 2, 2, 1),
            padding="SAME",
            out=single,
        ),
        npt.NDArray[np.float32],
    )


def other_names_are_typed() -> None:
    with opspec.thread_limit(2) as threads:
        assert_type(threads, int)
    warmth = opspec.warmup("numpy", dtypes=["float32"], progress=lambda piece: print(piece.seconds))
    assert_type(warmth.cached_in, str | None)
    with opspec.use_backend("numpy") as backend:
        assert_type(backend.name, str)
    assert_type(opspec.explain("conv3d_transpose").chosen, str | None)
    assert_type(opspec.TensorSpec("float32", (1, -1)).shape, tuple[int, ...])


class Tensor:
    """Stands for an array type of another library."""


def arrays_of_other_libraries_come_back_as_they_are(tensor: Tensor) -> Any:
    result = opspec.nn.conv3d_transpose(tensor, tensor, [1, 1, 1, 1, 1], 1, data_format=None)
    assert_type(result, Tensor)
    assert_type(opspec.nn.conv3d_transpose(tensor, tensor, [1, 1, 1, 1, 1], 1, out=tensor), Tensor)
    return result
