"""A workload's layer by each operation, as opspec is called and as torch is.

A workload is a layer of conv3d_transpose: its input is the small side of a convolution and its
result the large one. The siblings are the same layer turned: the convolution from the large side to
the small one, and the gradient by their filter.
"""

# torch is not installed where types are checked.
# pyright: reportMissingImports=false

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from workload import Workload

import opspec
from gpu.machines import require_torch

TRANSPOSE, FORWARD, GRADIENT = "conv3d_transpose", "Conv3D", "Conv3DBackpropFilterV2"
OPERATIONS = (TRANSPOSE, FORWARD, GRADIENT)


def shapes(workload: Workload, operation: str) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the operands, in the operation's order."""
    small, filters, large = workload.input_shape, workload.filters_shape, workload.output_shape
    return {TRANSPOSE: (small, filters), FORWARD: (large, filters), GRADIENT: (large, small)}[
        operation
    ]


def opspec_call(workload: Workload, operation: str, operands: Sequence[Any]) -> "partial[Any]":
    """Return how opspec is called for an operation, but for the backend; workloads are NDHWC."""
    first, second = operands
    attributes: dict[str, Any] = {
        "padding": workload.padding,
        "data_format": workload.data_format,
    }
    if operation == TRANSPOSE:
        attributes |= {"strides": workload.strides, "dilations": workload.dilations}
        attributes["output_shape"] = workload.output_shape
        return partial(opspec.nn.conv3d_transpose, input=first, filters=second, **attributes)
    attributes["strides"] = [1, *workload.strides, 1]
    attributes["dilations"] = [1, *workload.dilations, 1]
    if operation == FORWARD:
        return partial(opspec.raw_ops.Conv3D, input=first, filter=second, **attributes)
    attributes["filter_sizes"] = list(workload.filters_shape)
    gradient = opspec.raw_ops.Conv3DBackpropFilterV2
    return partial(gradient, input=first, out_backprop=second, **attributes)


def torch_call(
    workload: Workload, operation: str, tensors: Sequence[Any], form: Any
) -> Callable[[], Any]:
    """Return how torch is called, its tensors channels first and lying in `form`."""
    from peers.torch_functional import conv_transpose3d

    def laid(tensor: Any, axes: tuple[int, ...]) -> Any:
        return tensor.permute(axes).contiguous(memory_format=form)

    channels_first = (0, 4, 1, 2, 3)
    first = laid(tensors[0], channels_first)
    # A filter's axes are depth, height, width, large side's and small side's channels.
    second = laid(tensors[1], channels_first if operation == GRADIENT else (4, 3, 0, 1, 2))
    if operation == TRANSPOSE:
        return partial(conv_transpose3d(workload), first, second)
    return partial(_convolved if operation == FORWARD else _gradient, workload, first, second)


def _convolved(workload: Workload, large: Any, filters: Any) -> Any:
    torch = require_torch()
    padded, padding = _padded(workload, large)
    with torch.inference_mode():
        return torch.nn.functional.conv3d(
            padded, filters, stride=workload.strides, padding=padding, dilation=workload.dilations
        )


def _gradient(workload: Workload, large: Any, small: Any) -> Any:
    torch = require_torch()
    padded, padding = _padded(workload, large)
    _, _, _, out_channels, in_channels = workload.filters_shape
    with torch.inference_mode():
        return torch.nn.grad.conv3d_weight(
            padded,
            (in_channels, out_channels, *workload.kernel),
            small,
            stride=workload.strides,
            padding=padding,
            dilation=workload.dilations,
        )


def _padded(workload: Workload, large: Any) -> tuple[Any, list[int]]:
    """Return what torch convolves: its padding is the same at both ends, and more is put on."""
    torch = require_torch()
    dimensions = workload.dimensions
    # What a gradient's windows do not reach at the high end changes torch's own window count.
    ends = [each.before for each in dimensions]
    more = [max(each.after - each.before, 0) for each in dimensions]
    if not any(more):
        return large, ends
    pads = [pad for extra in reversed(more) for pad in (0, extra)]
    return torch.nn.functional.pad(large, pads), ends


def as_opspec_has_it(result: Any, operation: str) -> Any:
    """Return torch's result with its axes in the order of opspec's."""
    axes = (2, 3, 4, 1, 0) if operation == GRADIENT else (0, 2, 3, 4, 1)
    return result.permute(axes).contiguous()
