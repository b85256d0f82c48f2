"""The rules of the operands of 3-D convolutions, under whatever names they go."""

from opspec import rules
from opspec.convolution import Names, inferred_shape, inferred_spec, shape_of
from opspec.convolution_hints import (
    FILTER_AXES,
    hint_at_groups,
    hint_at_other_layout,
    hint_at_swapped_axes,
    misfit,
)
from opspec.dtypes import size_of
from opspec.geometry import Side, channel_axis
from opspec.memory import total_memory
from opspec.rule import UNKNOWN, Call, Fault, Rule
from opspec.rules import INT64_MAX, shown

REFERENCE = "TensorFlow reference pages"
SIDES: tuple[Side, ...] = ("input", "filter", "output")


def operand_rules(names: Names) -> tuple[Rule, ...]:
    """Make the rules of an operation's operands, in their order."""
    given: list[Side] = [side for side in SIDES if side != names.result]
    first, second = given
    one, other = names.arguments[first], names.arguments[second]
    return (
        rules.name_is_text(names.op),
        *_sizes_rules(names),
        rules.is_array(names.op, one),
        rules.is_array(names.op, other),
        rules.libraries_are_equal(names.op, other, one),
        rules.dtype_is_supported(names.op, one),
        rules.dtype_is_supported(names.op, other),
        rules.dtypes_are_equal(names.op, other, one),
        rules.rank_is(names.op, one, 5, names.dimensions[first]),
        rules.rank_is(names.op, other, 5, names.dimensions[second]),
        filter_has_taps(names),
        filter_makes_channels(names),
        *_agreement_rules(names),
        result_fits_memory(names),
    )


def _sizes_rules(names: Names) -> tuple[Rule, ...]:
    op, sizes = names.op, names.sizes
    if sizes is None:
        return ()
    hint = None
    if names.result == "input":
        hint = f"a call needs every size; the batch is {names.arguments['output']}.shape[0]"
    return (
        rules.sizes_are_integers(op, sizes),
        rules.sizes_are_as_many(op, sizes, 5, names.dimensions[names.result]),
        rules.sizes_fit_int64(op, sizes),
        rules.sizes_are_not_negative(op, sizes, hint or "a call needs every size"),
    )


def _agreement_rules(names: Names) -> tuple[Rule, ...]:
    """Make the rules of what the sides have in common; the result's argument is blamed."""
    if names.result == "input":
        return (
            batches_match(names, "input", "output"),
            filter_is_not_grouped(names),
            channels_match(names, "input", "input"),
            channels_match(names, "output", "output"),
            spatial_sizes_fit(names),
        )
    if names.result == "output":
        return (filter_is_not_grouped(names), channels_match(names, "input", "input"))
    return (
        batches_match(names, "output", "input"),
        filter_is_not_grouped(names),
        channels_match(names, "input", "filter"),
        channels_match(names, "output", "filter"),
        spatial_sizes_fit(names),
    )


def filter_has_taps(names: Names) -> Rule:
    """Make the rule that the filter has at least one tap."""

    def find_fault(call: Call) -> Fault | None:
        shape = shape_of(call, names, "filter")
        if 0 not in shape[:3]:
            return None
        dimensions = ", ".join(names.filter_dimension(axis) for axis in range(3))
        return Fault(f"shape {list(shape)}", f"1 or more in each of {dimensions}")

    sentence = f"every spatial size of {names.filter} must be at least 1"
    label = f"{names.filter}.has_taps"
    return Rule(names.op, label, names.filter, sentence, "docs/semantics.md §3.3", find_fault)


def filter_makes_channels(names: Names) -> Rule:
    """Make the rule that the filter has at least one channel of the large side."""

    def find_fault(call: Call) -> Fault | None:
        shape = shape_of(call, names, "filter")
        if shape[3] != 0:
            return None
        return Fault(f"shape {list(shape)}", f"1 or more on axis 3 ({names.filter_dimension(3)})")

    sentence = f"axis 3 of {names.filter}, {names.filter_dimension(3)}, must be at least 1"
    label = f"{names.filter}.makes_channels"
    return Rule(names.op, label, names.filter, sentence, "docs/semantics.md §3.3", find_fault)


def batches_match(names: Names, blamed: Side, other: Side) -> Rule:
    """Make the rule that both sides have one batch."""
    argument, beside = names.arguments[blamed], names.arguments[other]

    def find_fault(call: Call) -> Fault | None:
        given, wanted = (shape_of(call, names, side)[0] for side in (blamed, other))
        if _agree(given, wanted):
            return None
        place = _place(names, blamed, 0)
        return Fault(
            f"{given} {place} beside {wanted} {_place(names, other, 0)}", f"{wanted} {place}"
        )

    whose = f"in {argument}" if blamed == names.result else f"of {argument}"
    sentence = f"the batch {whose} must equal the batch of {beside}"
    label = f"{argument}.batch_equals_{beside}"
    return Rule(names.op, label, argument, sentence, "docs/semantics.md §1", find_fault)


def filter_is_not_grouped(names: Names) -> Rule:
    """Make the rule against grouped filters, which get a message of their own."""

    def find_fault(call: Call) -> Fault | None:
        channels = shape_of(call, names, "input")[channel_axis(call.attributes.data_format)]
        made, contracted = shape_of(call, names, "filter")[3:]
        if UNKNOWN in (made, channels, contracted) or channels <= made or channels % made:
            return None
        groups = channels // made
        if contracted == 0 or contracted % groups:
            return None
        place = _channels_place(call, names, "input")
        by_value = names.result == "input"
        given = f"{place} = {channels} channels" if by_value else f"{channels} channels {place}"
        return Fault(
            f"{given} from a {names.filter} with {made}: a grouping of {groups}",
            f"{place} = {made}" if by_value else f"{made} channels {place}",
            hint_at_groups(names, groups),
        )

    sentence = f"{names.filter} must not be grouped: it makes every channel from all channels"
    label = f"{names.filter}.is_not_grouped"
    return Rule(names.op, label, names.filter, sentence, "docs/semantics.md §3.2", find_fault)


def channels_match(names: Names, side: Side, blamed: Side) -> Rule:
    """Make the rule that a side has the channels that the filter has for it.

    Parameters
    ----------
    names
        What the operation calls things.
    side
        The large or the small side.
    blamed
        The side whose argument is at fault: this one, or the filter.
    """
    axis = FILTER_AXES[side]
    own, argument = names.arguments[side], names.arguments[blamed]

    def find_fault(call: Call) -> Fault | None:
        data_format = call.attributes.data_format
        given = shape_of(call, names, side)[channel_axis(data_format)]
        wanted = shape_of(call, names, "filter")[axis]
        if _agree(given, wanted):
            return None
        place = _channels_place(call, names, side)
        dimension = f"({names.filter_dimension(axis)})"
        in_filter = f"{_place(names, 'filter', axis)} {dimension}"
        if blamed == "filter":
            return Fault(
                f"{wanted} {in_filter} beside {given} {place} ({data_format})",
                f"{given} {_place(names, 'filter', axis)}",
            )
        hint = hint_at_swapped_axes(call, names)
        if side == names.result:
            given_there = f"{place} = {given} channels ({data_format})"
            return Fault(f"{given_there} beside {wanted} {in_filter}", f"{place} = {wanted}", hint)
        return Fault(
            f"{given} {place} ({data_format}) beside {wanted} {in_filter}",
            f"{wanted} channels in {own}",
            hint or hint_at_other_layout(call, names, side),
        )

    whose = "in" if side == names.result else "of"
    if blamed == "filter":
        sentence = f"{argument}[{axis}] must equal the channels of {own}"
        label = f"{argument}.{names.filter_dimension(axis)}_equal_{own}"
    else:
        sentence = f"the channels {whose} {own} must equal axis {axis} of {names.filter}"
        label = f"{own}.channels_equal_{names.filter}"
    return Rule(names.op, label, argument, sentence, REFERENCE, find_fault)


def spatial_sizes_fit(names: Names) -> Rule:
    """Make the rule that the small side has as many positions as the large one has windows."""
    small, large = names.arguments["output"], names.arguments["input"]

    def find_fault(call: Call) -> Fault | None:
        faults = [misfit(call, names, dimension) for dimension in range(3)]
        found = [fault for fault in faults if fault is not None]
        if not found:
            return None
        return Fault(
            "; ".join(fault.given for fault in found),
            "; ".join(fault.allowed for fault in found),
            "\n".join(fault.hint for fault in found if fault.hint) or None,
        )

    sentence = f"the spatial sizes of {small} must be the window counts of {large}"
    label = f"{small}.spatial_sizes_fit"
    return Rule(names.op, label, small, sentence, "docs/semantics.md §1", find_fault)


def result_fits_memory(names: Names) -> Rule:
    """Make the rule that the result's bytes can be counted in 64 bits and lie in memory."""

    def find_fault(call: Call) -> Fault | None:
        itemsize = size_of(inferred_spec(call, names).dtype)
        shape = inferred_shape(call, names)
        # As NumPy counts: an extent of 0 does not excuse the others from fitting.
        count = 1
        for size in shape:
            count *= size if size > 0 else 1
        asked = shape if names.sizes is None else shape_of(call, names, names.result)
        if count * itemsize > INT64_MAX:
            most = f"at most {INT64_MAX} bytes"
            return Fault(f"{shown(asked)}, {count * itemsize} bytes", most, kind="memory")
        here = total_memory()
        if call.inferring or here is None or 0 in asked or count * itemsize <= here:
            return None
        return Fault(
            f"{shown(asked)}, {count * itemsize} bytes",
            f"at most the {here} bytes of memory that this machine has",
            kind="memory",
        )

    source = "docs/semantics.md §3.6"
    if names.sizes is None:
        sentence, argument = "the result must fit into memory", names.arguments["input"]
        return Rule(names.op, "result.fits_memory", argument, sentence, source, find_fault)
    sentence = f"the result that {names.sizes} asks for must fit into memory"
    label = f"{names.sizes}.fit_memory"
    return Rule(names.op, label, names.sizes, sentence, source, find_fault)


def _agree(one: int, other: int) -> bool:
    return UNKNOWN in (one, other) or one == other


def _place(names: Names, side: Side, axis: int) -> str:
    """Say where an extent stands: in an argument of sizes, or on an axis."""
    argument = names.arguments[side]
    return f"in {argument}[{axis}]" if side == names.result else f"on axis {axis} of {argument}"


def _channels_place(call: Call, names: Names, side: Side) -> str:
    axis = channel_axis(call.attributes.data_format)
    return _place(names, side, axis).removeprefix("in ")
