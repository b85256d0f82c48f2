"""What to do about a call whose shapes do not go together."""

from collections.abc import Mapping

from opspec.convolution import Names, legal_sizes, shape_of, window_count, window_numbers
from opspec.geometry import Side, channel_axis, spatial_axes
from opspec.rule import UNKNOWN, Call, Fault

# The filter's axes that are the channels of the two other sides.
FILTER_AXES: Mapping[Side, int] = {"input": 3, "output": 4}


def misfit(call: Call, names: Names, dimension: int) -> Fault | None:
    """Say how one spatial dimension does not fit, with every size that would."""
    data_format = call.attributes.data_format
    axis = spatial_axes(data_format)[dimension]
    positions, size = (shape_of(call, names, side)[axis] for side in ("output", "input"))
    legal = legal_sizes(call, names, dimension)
    if UNKNOWN in (positions, size) or legal is None or size in legal:
        return None
    word = names.dimensions["input"][data_format][axis]
    small, large = names.words["output"], names.words["input"]
    kernel, stride, dilation = window_numbers(call, names, dimension)
    reason = f"stride {stride}, kernel {kernel}, dilation {dilation} and {call.attributes.padding}"
    given = f"{small} {word} {positions} for {large} {word} {size}"
    windows = window_count(call, names, dimension)
    if names.result != "input":
        hint = f"{large} {word} {size}, {reason} have {windows} windows"
    else:
        sizes = f"{names.sizes}[{axis}] ({word}) must be {_range_in_words(legal)}"
        hint = f"for {small} {word} {positions}, {reason}, {sizes}"
    return Fault(given, f"{small} {word} {windows}", hint)


def _range_in_words(sizes: range) -> str:
    count = sizes.stop - sizes.start
    if count == 1:
        return str(sizes.start)
    joint = "or" if count == 2 else "to"
    return f"{sizes.start} {joint} {sizes.stop - 1}"


def hint_at_groups(names: Names, groups: int) -> str:
    """Say how to do without a grouped filter."""
    data = next(names.arguments[side] for side in ("output", "input") if side != names.result)
    return f"run the {groups} groups one by one, with slices of {data} and {names.filter}"


def hint_at_swapped_axes(call: Call, names: Names) -> str | None:
    """Say so if the channels would fit a filter whose last two axes are swapped."""
    axis = channel_axis(call.attributes.data_format)
    made, contracted = shape_of(call, names, "filter")[3:]
    if made == contracted:
        return None
    swapped: dict[Side, int] = {"input": contracted, "output": made}
    for side in swapped.keys() & names.arguments.keys():
        if shape_of(call, names, side)[axis] != swapped[side]:
            return None
    dimensions = ", ".join(map(names.filter_dimension, range(5)))
    return (
        f"{names.filter} is [{dimensions}]; its last two axes look "
        f"swapped: pass numpy.swapaxes({names.filter}, 3, 4)"
    )


def hint_at_other_layout(call: Call, names: Names, side: Side) -> str | None:
    """Say so if the data would fit in the other data format."""
    other = "NCDHW" if call.attributes.data_format == "NDHWC" else "NDHWC"
    shape = shape_of(call, names, side)
    wanted = shape_of(call, names, "filter")[FILTER_AXES[side]]
    if shape[channel_axis(other)] != wanted:
        return None
    argument = names.arguments[side]
    return f"{argument} has {wanted} channels in {other} order: is data_format {other!r} meant?"
