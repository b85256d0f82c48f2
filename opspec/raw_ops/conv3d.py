"""`tf.raw_ops.Conv3D`."""

from typing import Any, overload

import numpy.typing as npt

from opspec.calling import prepare
from opspec.ops.conv3d import Conv3D as _Definition
from opspec.registry.backend import Backend
from opspec.signatures import Array, FiveSteps, Numbers, Padding, Scalar


@overload
def Conv3D(
    *,
    input: npt.NDArray[Scalar],
    filter: npt.NDArray[Scalar] | Numbers,
    strides: FiveSteps,
    padding: Padding,
    data_format: str = ...,
    dilations: FiveSteps = ...,
    name: str | None = ...,
    out: npt.NDArray[Scalar] | None = ...,
    backend: str | Backend | None = ...,
) -> npt.NDArray[Scalar]: ...
@overload
def Conv3D(
    *,
    input: Numbers,
    filter: npt.NDArray[Scalar],
    strides: FiveSteps,
    padding: Padding,
    data_format: str = ...,
    dilations: FiveSteps = ...,
    name: str | None = ...,
    out: npt.NDArray[Scalar] | None = ...,
    backend: str | Backend | None = ...,
) -> npt.NDArray[Scalar]: ...
@overload
def Conv3D(
    *,
    input: Array,
    filter: Array,
    strides: FiveSteps,
    padding: Padding,
    data_format: str = ...,
    dilations: FiveSteps = ...,
    name: str | None = ...,
    out: Array | None = ...,
    backend: str | Backend | None = ...,
) -> Array: ...
def Conv3D(
    *,
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: Any = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    out: Any = None,
    backend: str | Backend | None = None,
) -> Any:
    """3-D convolution, exactly as in `tf.raw_ops`.

    Parameters
    ----------
    input
        Array of shape ``[batch, depth, rows, cols, in_channels]`` (NDHWC) or ``[batch, in_channels,
        depth, rows, cols]`` (NCDHW); float16, bfloat16, float32 or float64.
    filter
        Array of shape ``[depth, rows, cols, in_channels, out_channels]`` in both data formats, with
        the dtype of `input`. It is not flipped.
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
        `out` if given, else a fresh and contiguous one of the caller's library; of shape ``[batch,
        out_depth, out_rows, out_cols, out_channels]`` (NDHWC) or ``[batch, out_channels, out_depth,
        out_rows, out_cols]`` (NCDHW) and the dtype of `input`.

    Raises
    ------
    opspec.errors.OpError
        If a rule is broken; ``opspec show Conv3D`` lists them. `OpTypeError` for
        types and dtypes, `OpMemoryError` for sizes that no memory holds.
    opspec.errors.BackendError
        If no backend, or not the named one, takes the call.

    References
    ----------
    https://www.tensorflow.org/api_docs/python/tf/raw_ops/Conv3D

    Examples
    --------
    >>> import numpy as np
    >>> import opspec
    >>> opspec.raw_ops.Conv3D(
    ...     input=np.arange(5, dtype=np.float32).reshape(1, 1, 1, 5, 1),
    ...     filter=np.array([1, 2, 4], np.float32).reshape(1, 1, 3, 1, 1),
    ...     strides=[1, 1, 1, 2, 1],
    ...     padding="VALID",
    ... ).ravel()
    array([10., 24.], dtype=float32)
    """
    call = prepare(
        _Definition,
        (strides, padding, data_format, dilations),
        (input, filter),
        name=name,
        backend=backend,
        out=out,
    )
    try:
        result = call.kernel(call.geometry, *call.operands)
    except MemoryError as error:
        raise call.out_of_memory(error) from error
    return call.finish(result)
