"""What a transposed 3-D convolution's call amounts to: the result's shape, the kernel's problem."""

from collections.abc import Mapping
from dataclasses import dataclass

from opspec.geometry import (
    ConvGeometry,
    Window,
    channel_axis,
    input_sizes_for,
    spatial_axes,
)
from opspec.rule import UNKNOWN, Call, TensorSpec
from opspec.rules import known_integers


@dataclass(frozen=True, slots=True)
class Names:
    """What one operation calls its operands and their dimensions.

    Parameters
    ----------
    op
        The operation.
    sizes, filter, data
        The operands: the result's shape, the filter, the small side.
    large, small
        What the result and the data are called in messages, such as ``"output"`` and ``"input"``.
    filter_dimensions
        The meaning of the filter's five axes.
    layouts
        Per data format, the meaning of the result's axes.
    data_layouts
        Per data format, the meaning of the data's axes.
    """

    op: str
    sizes: str
    filter: str
    data: str
    large: str
    small: str
    filter_dimensions: tuple[str, ...]
    layouts: Mapping[str, tuple[str, ...]]
    data_layouts: Mapping[str, tuple[str, ...]]


def inferred_shape(call: Call, names: Names) -> tuple[int, ...]:
    """Return the result's shape, unknown sizes filled in where the operands determine them."""
    sizes = list(sizes_of(call, names))
    data_format = call.attributes.data_format
    if sizes[0] == UNKNOWN:
        sizes[0] = call.spec(names.data).shape[0]
    if sizes[channel_axis(data_format)] == UNKNOWN:
        sizes[channel_axis(data_format)] = call.spec(names.filter).shape[3]
    for dimension, axis in enumerate(spatial_axes(data_format)):
        if sizes[axis] == UNKNOWN:
            legal = legal_sizes(call, names, dimension)
            if legal is not None and legal.stop - legal.start == 1:
                sizes[axis] = legal.start
    return tuple(sizes)


def inferred_spec(call: Call, names: Names) -> TensorSpec:
    """Return the result's spec."""
    return TensorSpec(call.spec(names.filter).dtype, inferred_shape(call, names))


def lowered(call: Call, names: Names) -> ConvGeometry:
    """Return the kernel's problem of a call that keeps every rule."""
    sizes, attributes = sizes_of(call, names), call.attributes
    filter_shape = call.spec(names.filter).shape
    windows = [
        Window.fitted(
            sizes[axis],
            filter_shape[dimension],
            attributes.strides[axis],
            attributes.dilations[axis],
            attributes.padding,
        )
        for dimension, axis in enumerate(spatial_axes(attributes.data_format))
    ]
    return ConvGeometry(
        batch=sizes[0],
        in_channels=filter_shape[3],
        out_channels=filter_shape[4],
        windows=(windows[0], windows[1], windows[2]),
        data_format=attributes.data_format,
        dtype=call.spec(names.filter).dtype,
    )


def sizes_of(call: Call, names: Names) -> tuple[int, ...]:
    """Return the sizes that the call asks for."""
    return tuple(known_integers(call.operands[names.sizes]))


def window_numbers(call: Call, names: Names, dimension: int) -> tuple[int, int, int]:
    """Return kernel, stride and dilation of one spatial dimension."""
    axis = spatial_axes(call.attributes.data_format)[dimension]
    kernel = call.spec(names.filter).shape[dimension]
    return kernel, call.attributes.strides[axis], call.attributes.dilations[axis]


def legal_sizes(call: Call, names: Names, dimension: int) -> range | None:
    """Return the sizes of the result that have the data's positions; None if that is unknown."""
    kernel, stride, dilation = window_numbers(call, names, dimension)
    positions = call.spec(names.data).shape[spatial_axes(call.attributes.data_format)[dimension]]
    if positions == UNKNOWN or (kernel == UNKNOWN and call.attributes.padding == "VALID"):
        return None
    return input_sizes_for(positions, kernel, stride, dilation, call.attributes.padding)
