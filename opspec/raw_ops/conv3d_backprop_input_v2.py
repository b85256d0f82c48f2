"""`tf.raw_ops.Conv3DBackpropInputV2`."""

from typing import Any, overload

import numpy.typing as npt

from opspec.calling import prepare
from opspec.ops.conv3d_backprop_input_v2 import Conv3DBackpropInputV2 as _Definition
from opspec.registry.backend import Backend
from opspec.signatures import Array, FiveSteps, Numbers, Padding, Scalar, Sizes


@overload
def Conv3DBackpropInputV2(
    *,
    input_sizes: Sizes,
    filter: npt.NDArray[Scalar],
    out_backprop: npt.NDArray[Scalar] | Numbers,
    strides: FiveSteps,
    padding: Padding,
    data_format: str = ...,
    dilations: FiveSteps = ...,
    name: str | None = ...,
    out: npt.NDArray[Scalar] | None = ...,
    backend: str | Backend | None = ...,
) -> npt.NDArray[Scalar]: ...
@overload
def Conv3DBackpropInputV2(
    *,
    input_sizes: Sizes,
    filter: Numbers,
    out_backprop: npt.NDArray[Scalar],
    strides: FiveSteps,
    padding: Padding,
    data_format: str = ...,
    dilations: FiveSteps = ...,
    name: str | None = ...,
    out: npt.NDArray[Scalar] | None = ...,
    backend: str | Backend | None = ...,
) -> npt.NDArray[Scalar]: ...
@overload
def Conv3DBackpropInputV2(
    *,
    input_sizes: Sizes,
    filter: Array,
    out_backprop: Array,
    strides: FiveSteps,
    padding: Padding,
    data_format: str = ...,
    dilations: FiveSteps = ...,
    name: str | None = ...,
    out: Array | None = ...,
    backend: str | Backend | None = ...,
) -> Array: ...
def Conv3DBackpropInputV2(
    *,
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: Any = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    out: Any = None,
    backend: str | Backend | None = None,
) -> Any:
    """Gradient of a 3-D convolution by its input, exactly as in `tf.raw_ops`.

    Parameters
    ----------
    input_sizes
        5 integers: the shape of the result, in the data format's order.
    filter
        Array of shape ``[depth, rows, cols, in_channels, out_channels]`` in both data formats;
        float16, bfloat16, float32 or float64.
    out_backprop
        Array of shape ``[batch, out_depth, out_rows, out_cols, out_channels]`` (NDHWC) or ``[batch,
        out_channels, out_depth, out_rows, out_cols]`` (NCDHW), with the dtype of `filter`.
    strides
        5 integers: step of the window, in positions, in the data format's order; 1 for batch and
        channels.
    padding
        ``"SAME"`` or ``"VALID"``.
    data_format
        ``"NDHWC"`` or ``"NCDHW"``.
    dilations
        5 integers: step between filter taps, in positions, in the data format's order; 1 for batch
        and channels.
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
        `input_sizes` and the dtype of `filter`.

    Raises
    ------
    opspec.errors.OpError
        If a rule is broken; ``opspec show Conv3DBackpropInputV2`` lists them. `OpTypeError` for
        types and dtypes, `OpMemoryError` for sizes that no memory holds.
    opspec.errors.BackendError
        If no backend, or not the named one, takes the call.

    References
    ----------
    https://www.tensorflow.org/api_docs/python/tf/raw_ops/Conv3DBackpropInputV2

    Examples
    --------
    >>> import numpy as np
    >>> import opspec
    >>> opspec.raw_ops.Conv3DBackpropInputV2(
    ...     input_sizes=[1, 1, 1, 5, 1],
    ...     filter=np.array([1, 2, 4], np.float32).reshape(1, 1, 3, 1, 1),
    ...     out_backprop=np.ones((1, 1, 1, 2, 1), np.float32),
    ...     strides=[1, 1, 1, 2, 1],
    ...     padding="VALID",
    ... ).ravel()
    array([1., 2., 5., 2., 4.], dtype=float32)
    """
    call = prepare(
        _Definition,
        (strides, padding, data_format, dilations),
        (filter, out_backprop),
        input_sizes,
        name,
        backend,
        out,
    )
    try:
        result = call.kernel(call.geometry, *call.operands)
    except MemoryError as error:
        raise call.out_of_memory(error) from error
    return call.finish(result)
