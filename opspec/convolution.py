"""What a convolution's call amounts to: the shapes of its three sides, the kernel's problem."""

from collections.abc import Mapping
from dataclasses import dataclass

from opspec.geometry import (
    ConvGeometry,
    Side,
    Window,
    channel_axis,
    input_sizes_for,
    output_size,
    spatial_axes,
)
from opspec.rule import UNKNOWN, Call, TensorSpec
from opspec.rules import known_integers


@dataclass(frozen=True, slots=True)
class Names:
    """What one operation calls the three sides of a convolution and their dimensions.

    Parameters
    ----------
    op
        The operation.
    result
        The side that is its result.
    arguments
        The argument that is each side. For the result it is the one that holds its shape, or there
        is none.
    words
        What the large and the small side are called in messages, such as ``"output"``.
    dimensions
        For each side, per data format, the meaning of its axes.
    """

    op: str
    result: Side
    arguments: Mapping[Side, str]
    words: Mapping[Side, str]
    dimensions: Mapping[Side, Mapping[str, tuple[str, ...]]]

    @property
    def sizes(self) -> str | None:
        """The argument that holds the result's shape, or None."""
        return self.arguments.get(self.result)

    @property
    def filter(self) -> str:
        """The argument that is the filter, or holds its shape."""
        return self.arguments["filter"]

    def filter_dimension(self, axis: int) -> str:
        """Return the meaning of an axis of the filter."""
        return self.dimensions["filter"]["NDHWC"][axis]


def shape_of(call: Call, names: Names, side: Side) -> tuple[int, ...]:
    """Return the shape of a side as the call gives it."""
    if side != names.result:
        return call.spec(names.arguments[side]).shape
    return tuple(known_integers(call.operands[names.arguments[side]]))


def inferred_shape(call: Call, names: Names) -> tuple[int, ...]:
    """Return the result's shape, unknown sizes filled in where the operands determine them."""
    if names.result == "output":
        return _output_shape(call, names)
    if names.result == "filter":
        return _filter_shape(call, names)
    sizes = list(shape_of(call, names, "input"))
    data_format = call.attributes.data_format
    if sizes[0] == UNKNOWN:
        sizes[0] = shape_of(call, names, "output")[0]
    if sizes[channel_axis(data_format)] == UNKNOWN:
        sizes[channel_axis(data_format)] = shape_of(call, names, "filter")[3]
    for dimension, axis in enumerate(spatial_axes(data_format)):
        if sizes[axis] == UNKNOWN:
            legal = legal_sizes(call, names, dimension)
            if legal is not None and legal.stop - legal.start == 1:
                sizes[axis] = legal.start
    return tuple(sizes)


def inferred_spec(call: Call, names: Names) -> TensorSpec:
    """Return the result's spec."""
    operand = next(argument for side, argument in names.arguments.items() if side != names.result)
    return TensorSpec(call.spec(operand).dtype, inferred_shape(call, names))


def lowered(call: Call, names: Names) -> ConvGeometry:
    """Return the kernel's problem of a call that keeps every rule."""
    attributes = call.attributes
    axes = spatial_axes(attributes.data_format)
    large, filter = shape_of(call, names, "input"), shape_of(call, names, "filter")
    depth, height, width = (
        Window.fitted(
            large[axis],
            filter[dimension],
            attributes.strides[axis],
            attributes.dilations[axis],
            attributes.padding,
        )
        for dimension, axis in enumerate(axes)
    )
    return ConvGeometry(
        batch=large[0],
        in_channels=filter[3],
        out_channels=filter[4],
        windows=(depth, height, width),
        data_format=attributes.data_format,
        dtype=inferred_spec(call, names).dtype,
    )


def window_numbers(call: Call, names: Names, dimension: int) -> tuple[int, int, int]:
    """Return kernel, stride and dilation of one spatial dimension."""
    axis = spatial_axes(call.attributes.data_format)[dimension]
    kernel = shape_of(call, names, "filter")[dimension]
    return kernel, call.attributes.strides[axis], call.attributes.dilations[axis]


def legal_sizes(call: Call, names: Names, dimension: int) -> range | None:
    """Return the large side's sizes that have the small side's positions; None if unknown."""
    kernel, stride, dilation = window_numbers(call, names, dimension)
    axis = spatial_axes(call.attributes.data_format)[dimension]
    positions = shape_of(call, names, "output")[axis]
    if positions == UNKNOWN or (kernel == UNKNOWN and call.attributes.padding == "VALID"):
        return None
    return input_sizes_for(positions, kernel, stride, dilation, call.attributes.padding)


def window_count(call: Call, names: Names, dimension: int) -> int:
    """Return how many windows the large side has in one spatial dimension, or −1 if unknown."""
    kernel, stride, dilation = window_numbers(call, names, dimension)
    axis = spatial_axes(call.attributes.data_format)[dimension]
    size, padding = shape_of(call, names, "input")[axis], call.attributes.padding
    if size == UNKNOWN or (kernel == UNKNOWN and padding == "VALID"):
        return UNKNOWN
    return output_size(size, kernel, stride, dilation, padding)


def _output_shape(call: Call, names: Names) -> tuple[int, ...]:
    data_format = call.attributes.data_format
    shape = [shape_of(call, names, "input")[0]] * 5
    shape[channel_axis(data_format)] = shape_of(call, names, "filter")[4]
    for dimension, axis in enumerate(spatial_axes(data_format)):
        shape[axis] = window_count(call, names, dimension)
    return tuple(shape)


def _filter_shape(call: Call, names: Names) -> tuple[int, ...]:
    sizes = list(shape_of(call, names, "filter"))
    channels = channel_axis(call.attributes.data_format)
    sides: tuple[tuple[int, Side], ...] = ((3, "input"), (4, "output"))
    for axis, side in sides:
        if sizes[axis] == UNKNOWN:
            sizes[axis] = shape_of(call, names, side)[channels]
    return tuple(sizes)
