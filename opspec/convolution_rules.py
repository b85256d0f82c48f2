"""The rules of the operands of transposed 3-D convolutions, under whatever names they go."""

from opspec import rules
from opspec.convolution import (
    Names,
    inferred_shape,
    legal_sizes,
    sizes_of,
    window_numbers,
)
from opspec.dtypes import size_of
from opspec.geometry import channel_axis, output_size, spatial_axes
from opspec.memory import total_memory
from opspec.rule import UNKNOWN, Call, Fault, Rule
from opspec.rules import INT64_MAX, shown

REFERENCE = "TensorFlow reference pages"


def operand_rules(names: Names) -> tuple[Rule, ...]:
    """Make the rules of sizes, filter and data, in their order."""
    op, sizes, filter, data = names.op, names.sizes, names.filter, names.data
    filter_layouts = dict.fromkeys(names.layouts, names.filter_dimensions)
    batch_hint = f"a call needs every size; the batch is {data}.shape[0]"
    return (
        rules.name_is_text(op),
        rules.sizes_are_integers(op, sizes),
        rules.sizes_are_as_many(op, sizes, 5, names.layouts),
        rules.sizes_fit_int64(op, sizes),
        rules.sizes_are_not_negative(op, sizes, batch_hint),
        rules.is_array(op, filter),
        rules.is_array(op, data),
        rules.libraries_are_equal(op, data, filter),
        rules.dtype_is_supported(op, filter),
        rules.dtype_is_supported(op, data),
        rules.dtypes_are_equal(op, data, filter),
        rules.rank_is(op, filter, 5, filter_layouts),
        rules.rank_is(op, data, 5, names.data_layouts),
        filter_has_taps(names),
        filter_makes_channels(names),
        batches_match(names),
        filter_is_not_grouped(names),
        made_channels_match(names),
        contracted_channels_match(names),
        spatial_sizes_fit(names),
        result_fits_memory(names),
    )


def filter_has_taps(names: Names) -> Rule:
    """Make the rule that the filter has at least one tap."""

    def find_fault(call: Call) -> Fault | None:
        shape = call.spec(names.filter).shape
        if 0 not in shape[:3]:
            return None
        return Fault(f"shape {list(shape)}", f"1 or more in each of {_listed(names, 0, 3)}")

    sentence = f"every spatial size of {names.filter} must be at least 1"
    label = f"{names.filter}.has_taps"
    return Rule(names.op, label, names.filter, sentence, "docs/semantics.md §3.3", find_fault)


def filter_makes_channels(names: Names) -> Rule:
    """Make the rule that the filter makes at least one channel."""

    def find_fault(call: Call) -> Fault | None:
        shape = call.spec(names.filter).shape
        if shape[3] != 0:
            return None
        return Fault(f"shape {list(shape)}", f"1 or more on axis 3 ({names.filter_dimensions[3]})")

    sentence = f"axis 3 of {names.filter}, {names.filter_dimensions[3]}, must be at least 1"
    label = f"{names.filter}.makes_channels"
    return Rule(names.op, label, names.filter, sentence, "docs/semantics.md §3.3", find_fault)


def batches_match(names: Names) -> Rule:
    """Make the rule that the result has the data's batch."""

    def find_fault(call: Call) -> Fault | None:
        wanted, given = call.spec(names.data).shape[0], sizes_of(call, names)[0]
        if _agree(given, wanted):
            return None
        return Fault(
            f"{given} in {names.sizes}[0] beside {wanted} on axis 0 of {names.data}",
            f"{wanted} in {names.sizes}[0]",
        )

    sentence = f"the batch in {names.sizes} must equal the batch of {names.data}"
    label = f"{names.sizes}.batch_equals_{names.data}"
    return Rule(names.op, label, names.sizes, sentence, "docs/semantics.md §1", find_fault)


def filter_is_not_grouped(names: Names) -> Rule:
    """Make the rule against grouped filters, which get a message of their own."""

    def find_fault(call: Call) -> Fault | None:
        axis = channel_axis(call.attributes.data_format)
        made, asked = call.spec(names.filter).shape[3], sizes_of(call, names)[axis]
        contracted = call.spec(names.filter).shape[4]
        if UNKNOWN in (made, asked, contracted) or asked <= made or asked % made:
            return None
        groups = asked // made
        if contracted == 0 or contracted % groups:
            return None
        return Fault(
            f"{names.sizes}[{axis}] = {asked} channels from a {names.filter} with {made}: "
            f"a grouping of {groups}",
            f"{names.sizes}[{axis}] = {made}",
            f"run the {groups} groups one by one, with slices of {names.data} and {names.filter}",
        )

    sentence = f"{names.filter} must not be grouped: it makes every channel from all channels"
    label = f"{names.filter}.is_not_grouped"
    return Rule(names.op, label, names.filter, sentence, "docs/semantics.md §3.2", find_fault)


def made_channels_match(names: Names) -> Rule:
    """Make the rule that the result has the channels that the filter makes."""

    def find_fault(call: Call) -> Fault | None:
        data_format = call.attributes.data_format
        axis = channel_axis(data_format)
        made, asked = call.spec(names.filter).shape[3], sizes_of(call, names)[axis]
        if _agree(made, asked):
            return None
        return Fault(
            f"{names.sizes}[{axis}] = {asked} channels ({data_format}) beside {made} on axis 3 of "
            f"{names.filter} ({names.filter_dimensions[3]})",
            f"{names.sizes}[{axis}] = {made}",
            _hint_at_swapped_axes(call, names),
        )

    sentence = f"the channels in {names.sizes} must equal axis 3 of {names.filter}"
    label = f"{names.sizes}.channels_equal_{names.filter}"
    return Rule(names.op, label, names.sizes, sentence, REFERENCE, find_fault)


def contracted_channels_match(names: Names) -> Rule:
    """Make the rule that data and filter have the channels that are summed over in common."""

    def find_fault(call: Call) -> Fault | None:
        data_format = call.attributes.data_format
        axis = channel_axis(data_format)
        wanted, given = call.spec(names.filter).shape[4], call.spec(names.data).shape[axis]
        if _agree(wanted, given):
            return None
        return Fault(
            f"{given} on axis {axis} of {names.data} ({data_format}) beside {wanted} on axis 4 of "
            f"{names.filter} ({names.filter_dimensions[4]})",
            f"{wanted} channels in {names.data}",
            _hint_at_swapped_axes(call, names) or _hint_at_other_layout(call, names),
        )

    sentence = f"the channels of {names.data} must equal axis 4 of {names.filter}"
    label = f"{names.data}.channels_equal_{names.filter}"
    return Rule(names.op, label, names.data, sentence, REFERENCE, find_fault)


def spatial_sizes_fit(names: Names) -> Rule:
    """Make the rule that the data has as many positions as the result's size gives windows."""

    def find_fault(call: Call) -> Fault | None:
        faults = [_misfit(call, names, dimension) for dimension in range(3)]
        found = [fault for fault in faults if fault is not None]
        if not found:
            return None
        return Fault(
            "; ".join(fault.given for fault in found),
            "; ".join(fault.allowed for fault in found),
            "\n".join(fault.hint for fault in found if fault.hint),
        )

    sentence = f"the spatial sizes of {names.data} must be the window counts of {names.sizes}"
    label = f"{names.data}.spatial_sizes_fit"
    return Rule(names.op, label, names.data, sentence, "docs/semantics.md §1", find_fault)


def result_fits_memory(names: Names) -> Rule:
    """Make the rule that the result's bytes can be counted in 64 bits and lie in memory."""

    def find_fault(call: Call) -> Fault | None:
        itemsize = size_of(call.spec(names.filter).dtype)
        # As NumPy counts: an extent of 0 does not excuse the others from fitting.
        count = 1
        for size in inferred_shape(call, names):
            count *= size if size > 0 else 1
        if count * itemsize > INT64_MAX:
            most = f"at most {INT64_MAX} bytes"
            return Fault(
                f"{shown(sizes_of(call, names))}, {count * itemsize} bytes", most, kind="memory"
            )
        here = total_memory()
        if call.inferring or here is None or 0 in sizes_of(call, names) or count * itemsize <= here:
            return None
        return Fault(
            f"{shown(sizes_of(call, names))}, {count * itemsize} bytes",
            f"at most the {here} bytes of memory that this machine has",
            kind="memory",
        )

    sentence = f"the result that {names.sizes} asks for must fit into memory"
    label = f"{names.sizes}.fit_memory"
    return Rule(names.op, label, names.sizes, sentence, "docs/semantics.md §3.6", find_fault)


def _agree(one: int, other: int) -> bool:
    return UNKNOWN in (one, other) or one == other


def _listed(names: Names, start: int, stop: int) -> str:
    return ", ".join(names.filter_dimensions[start:stop])


def _misfit(call: Call, names: Names, dimension: int) -> Fault | None:
    """Say how one spatial dimension does not fit, with every size that would."""
    axis = spatial_axes(call.attributes.data_format)[dimension]
    word = names.layouts[call.attributes.data_format][axis]
    positions, size = call.spec(names.data).shape[axis], sizes_of(call, names)[axis]
    legal = legal_sizes(call, names, dimension)
    if UNKNOWN in (positions, size) or legal is None or size in legal:
        return None
    kernel, stride, dilation = window_numbers(call, names, dimension)
    padding = call.attributes.padding
    windows = output_size(size, kernel, stride, dilation, padding)
    reason = f"stride {stride}, kernel {kernel}, dilation {dilation} and {padding}"
    return Fault(
        f"{names.small} {word} {positions} for {names.large} {word} {size}",
        f"{names.small} {word} {windows}",
        f"for {names.small} {word} {positions}, {reason}, {names.sizes}[{axis}] ({word}) "
        f"must be {_range_in_words(legal)}",
    )


def _range_in_words(sizes: range) -> str:
    count = sizes.stop - sizes.start
    if count == 1:
        return str(sizes.start)
    joint = "or" if count == 2 else "to"
    return f"{sizes.start} {joint} {sizes.stop - 1}"


def _hint_at_swapped_axes(call: Call, names: Names) -> str | None:
    axis = channel_axis(call.attributes.data_format)
    made, contracted = call.spec(names.filter).shape[3:]
    asked, given = sizes_of(call, names)[axis], call.spec(names.data).shape[axis]
    if UNKNOWN in (asked, given) or (made, contracted) != (given, asked) or made == contracted:
        return None
    return (
        f"{names.filter} is [{', '.join(names.filter_dimensions)}]; its last two axes look "
        f"swapped: pass numpy.swapaxes({names.filter}, 3, 4)"
    )


def _hint_at_other_layout(call: Call, names: Names) -> str | None:
    """Say so if the data would fit in the other data format."""
    other = "NCDHW" if call.attributes.data_format == "NDHWC" else "NDHWC"
    shape, contracted = call.spec(names.data).shape, call.spec(names.filter).shape[4]
    if shape[channel_axis(other)] != contracted:
        return None
    return (
        f"{names.data} has {contracted} channels in {other} order: is data_format {other!r} meant?"
    )
