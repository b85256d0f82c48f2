"""Operations with the signatures of `tf.nn`."""

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from opspec.calling import prepare
from opspec.ops.conv3d_transpose import Conv3DTranspose
from opspec.registry.backend import Backend
from opspec.signatures import Array, DataFormat, Numbers, Padding, Scalar, Sizes, Steps

__all__ = ["conv3d_transpose"]


@overload
def conv3d_transpose(
    input: npt.NDArray[Scalar],
    filters: npt.NDArray[Scalar] | Numbers,
    output_shape: Sizes,
    strides: Steps,
    padding: Padding = ...,
    data_format: DataFormat = ...,
    dilations: Steps = ...,
    name: str | None = ...,
    *,
    out: npt.NDArray[Scalar] | None = ...,
    backend: str | Backend | None = ...,
) -> npt.NDArray[Scalar]: ...
@overload
def conv3d_transpose(
    input: Numbers,
    filters: npt.NDArray[Scalar],
    output_shape: Sizes,
    strides: Steps,
    padding: Padding = ...,
    data_format: DataFormat = ...,
    dilations: Steps = ...,
    name: str | None = ...,
    *,
    out: npt.NDArray[Scalar] | None = ...,
    backend: str | Backend | None = ...,
) -> npt.NDArray[Scalar]: ...
@overload
def conv3d_transpose(
    input: Numbers,
    filters: Numbers,
    output_shape: Sizes,
    strides: Steps,
    padding: Padding = ...,
    data_format: DataFormat = ...,
    dilations: Steps = ...,
    name: str | None = ...,
    *,
    out: npt.NDArray[np.float32] | None = ...,
    backend: str | Backend | None = ...,
) -> npt.NDArray[np.float32]: ...
@overload
def conv3d_transpose(
    input: Array,
    filters: Array,
    output_shape: Sizes,
    strides: Steps,
    padding: Padding = ...,
    data_format: DataFormat = ...,
    dilations: Steps = ...,
    name: str | None = ...,
    *,
    out: Array | None = ...,
    backend: str | Backend | None = ...,
) -> Array: ...
def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: Any = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    backend: str | Backend | None = None,
) -> Any:
    """Transpose of a 3-D convolution, exactly as `tf.nn.conv3d_transpose`.

    Parameters
    ----------
    input
        Array of shape ``[batch, depth, height, width, in_channels]`` (NDHWC) or ``[batch,
        in_channels, depth, height, width]`` (NCDHW); float16, bfloat16, float32 or float64.
        Nested lists take the dtype of `filters`, or float32.
    filters
        Array of shape ``[depth, height, width, output_channels, in_channels]`` in both data
        formats, with the dtype of `input`.
    output_shape
        5 integers: the shape of the result, in the data format's order. Several are legal for one
        input and differ in values.
    strides
        Step between windows, in positions: one integer for all three spatial dimensions, a sequence
        of 1 or 3, or of 5 in the data format's order with 1 for batch and channels. None is 1.
    padding
        ``"SAME"`` or ``"VALID"``.
    data_format
        ``"NDHWC"`` or ``"NCDHW"``; None is NDHWC.
    dilations
        Step between filter taps, in positions, spelled like `strides`.
    name
        Put into error messages.
    out
        Array that the result is written into and that is returned: of the operands' library, with
        the result's shape and dtype, C-contiguous, sharing no memory with an operand. By default a
        fresh one.
    backend
        Which backend computes: a name, ``module:attribute``, or a `Backend`. By default
        `opspec.use_backend`, then OPSPEC_BACKEND, then the arrays decide.

    Returns
    -------
    array
        `out` if given, else a fresh and contiguous one of the caller's library; of shape
        `output_shape` and the dtype of `input`.

    Raises
    ------
    opspec.errors.OpError
        If a rule is broken; ``opspec show conv3d_transpose`` lists them. `OpTypeError` for types
        and dtypes, `OpMemoryError` for sizes that no memory holds.
    opspec.errors.BackendError
        If no backend, or not the named one, takes the call.

    References
    ----------
    https://www.tensorflow.org/api_docs/python/tf/nn/conv3d_transpose

    Examples
    --------
    >>> import numpy as np
    >>> import opspec
    >>> voxel = np.ones((1, 1, 1, 1, 1), np.float32)
    >>> filters = np.arange(8, dtype=np.float32).reshape(2, 2, 2, 1, 1)
    >>> opspec.nn.conv3d_transpose(voxel, filters, [1, 2, 2, 2, 1], strides=2).ravel()
    array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    call = prepare(
        Conv3DTranspose,
        (strides, padding, data_format, dilations),
        (filters, input),
        output_shape,
        name,
        backend,
        out,
    )
    try:
        result = call.kernel(call.geometry, *call.operands)
    except MemoryError as error:
        raise call.out_of_memory(error) from error
    return call.finish(result)
