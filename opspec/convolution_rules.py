"""The rules of the transposed 3-D convolutions, written once for every name its operands go by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opspec import rules
from opspec.definition import UNKNOWN, Call, Fault, Rule, TensorSpec
from opspec.dtypes import size_of
from opspec.geometry import (
    PADDINGS,
    ConvGeometry,
    Window,
    channel_axis,
    input_sizes_for,
    output_size,
    spatial_axes,
)
from opspec.memory import total_memory
from opspec.rules import INT32_MAX, INT64_MAX, integers, known_integers, one_integer, shown

REFERENCE = "TensorFlow reference pages"


@dataclass(frozen=True, slots=True)
class Steps:
    """How one operation lets strides and dilations be spelled.

    Parameters
    ----------
    counts
        How many entries a sequence of them may have.
    scalar
        Whether one integer, or None for 1, will do.
    source
        Which document says so.
    """

    counts: tuple[int, ...]
    scalar: bool
    source: str

    @property
    def wording(self) -> str:
        """What is allowed, in words."""
        counts = " or ".join(map(str, self.counts))
        entries = f"a list, tuple or 1-D array of {counts} integers"
        return f"an integer, None, or {entries}" if self.scalar else entries


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


def attribute_rules(
    op: str, *, required: tuple[str, ...], data_formats: Sequence[str | None], steps: Steps
) -> tuple[Rule, ...]:
    """Make the rules of strides, padding, data_format and dilations, in their order."""
    fields = ("strides", "padding", "data_format", "dilations")
    return (
        rules.attributes_are_named(op, fields, required),
        rules.is_one_of(op, "padding", PADDINGS, "docs/semantics.md §3.9"),
        rules.is_one_of(op, "data_format", data_formats, "docs/semantics.md §3.9"),
        *_step_rules(op, "strides", steps),
        *_step_rules(op, "dilations", steps),
    )


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


def _step_rules(op: str, argument: str, steps: Steps) -> tuple[Rule, ...]:
    return (
        steps_are_integers(op, argument, steps),
        steps_are_as_many(op, argument, steps),
        steps_are_positive(op, argument),
        steps_fit_int32(op, argument),
        batch_and_channel_steps_are_one(op, argument),
    )


def steps_are_integers(op: str, argument: str, steps: Steps) -> Rule:
    """Make the rule that strides or dilations are integers."""

    def find_fault(given: Mapping[str, Any]) -> Fault | None:
        value = given[argument]
        if integers(value) is not None:
            return None
        if steps.scalar and (value is None or one_integer(value) is not None):
            return None
        return Fault(f"{shown(value)} ({type(value).__name__})", steps.wording, kind="type")

    sentence = f"{argument} must be integers; no floats, bools or strings"
    source = "docs/semantics.md §3.5"
    return Rule(op, f"{argument}.are_integers", argument, sentence, source, find_fault)


def steps_are_as_many(op: str, argument: str, steps: Steps) -> Rule:
    """Make the rule that a sequence of strides or dilations has the right number of entries."""
    wording = " or ".join(map(str, steps.counts))

    def find_fault(given: Mapping[str, Any]) -> Fault | None:
        found = integers(given[argument])
        if found is None or len(found) in steps.counts:
            return None
        return Fault(f"{len(found)}: {shown(found)}", f"{wording} entries")

    label = f"{argument}.are_{wording.replace(' ', '_')}"
    sentence = f"{argument} as a sequence must have {wording} entries"
    return Rule(op, label, argument, sentence, steps.source, find_fault)


def steps_are_positive(op: str, argument: str) -> Rule:
    """Make the rule that strides or dilations are at least 1."""

    def find_fault(given: Mapping[str, Any]) -> Fault | None:
        if all(step >= 1 for step in _steps(given[argument])):
            return None
        return Fault(shown(given[argument]), "integers from 1")

    sentence = f"{argument} must be at least 1"
    source = "docs/semantics.md §3.8"
    return Rule(op, f"{argument}.are_positive", argument, sentence, source, find_fault)


def steps_fit_int32(op: str, argument: str) -> Rule:
    """Make the rule that strides or dilations fit 32 bits."""

    def find_fault(given: Mapping[str, Any]) -> Fault | None:
        if all(step <= INT32_MAX for step in _steps(given[argument])):
            return None
        return Fault(shown(given[argument]), f"integers up to {INT32_MAX}")

    sentence = f"{argument} must fit a signed 32-bit integer, as in TensorFlow"
    source = "docs/semantics.md §3.8"
    return Rule(op, f"{argument}.fit_int32", argument, sentence, source, find_fault)


def batch_and_channel_steps_are_one(op: str, argument: str) -> Rule:
    """Make the rule that nothing steps over the batch or the channels."""

    def find_fault(given: Mapping[str, Any]) -> Fault | None:
        steps = _steps(given[argument])
        data_format = given["data_format"] or "NDHWC"
        axis = channel_axis(data_format)
        if len(steps) != 5 or steps[0] == steps[axis] == 1:
            return None
        return Fault(
            f"{shown(steps)} in {data_format} order",
            f"1 at index 0 (batch) and at index {axis} (channels)",
        )

    sentence = f"{argument} of batch and channels must be 1, in the order of data_format"
    label = f"{argument}.batch_and_channel_are_one"
    return Rule(op, label, argument, sentence, f"{REFERENCE}; docs/semantics.md §3.8", find_fault)


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
        wanted, given = call.spec(names.data).shape[0], _sizes(call, names)[0]
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
        made, asked = call.spec(names.filter).shape[3], _sizes(call, names)[axis]
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
            f"run the {groups} groups one by one: slice {names.data} and {names.filter} by channels",
        )

    sentence = f"{names.filter} must not be grouped: it makes every channel from all channels"
    label = f"{names.filter}.is_not_grouped"
    return Rule(names.op, label, names.filter, sentence, "docs/semantics.md §3.2", find_fault)


def made_channels_match(names: Names) -> Rule:
    """Make the rule that the result has the channels that the filter makes."""

    def find_fault(call: Call) -> Fault | None:
        data_format = call.attributes.data_format
        axis = channel_axis(data_format)
        made, asked = call.spec(names.filter).shape[3], _sizes(call, names)[axis]
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
            return Fault(f"{shown(_sizes(call, names))}, {count * itemsize} bytes", most, kind="memory")
        here = total_memory()
        if call.inferring or here is None or 0 in _sizes(call, names) or count * itemsize <= here:
            return None
        return Fault(
            f"{shown(_sizes(call, names))}, {count * itemsize} bytes",
            f"at most the {here} bytes of memory that this machine has",
            kind="memory",
        )

    sentence = f"the result that {names.sizes} asks for must fit into memory"
    label = f"{names.sizes}.fit_memory"
    return Rule(names.op, label, names.sizes, sentence, "docs/semantics.md §3.6", find_fault)


def inferred_shape(call: Call, names: Names) -> tuple[int, ...]:
    """Return the result's shape, unknown sizes filled in where the operands determine them."""
    sizes = list(_sizes(call, names))
    data_format = call.attributes.data_format
    if sizes[0] == UNKNOWN:
        sizes[0] = call.spec(names.data).shape[0]
    if sizes[channel_axis(data_format)] == UNKNOWN:
        sizes[channel_axis(data_format)] = call.spec(names.filter).shape[3]
    for dimension, axis in enumerate(spatial_axes(data_format)):
        if sizes[axis] == UNKNOWN:
            legal = _legal_sizes(call, names, dimension)
            if legal is not None and legal.stop - legal.start == 1:
                sizes[axis] = legal.start
    return tuple(sizes)


def inferred_spec(call: Call, names: Names) -> TensorSpec:
    """Return the result's spec."""
    return TensorSpec(call.spec(names.filter).dtype, inferred_shape(call, names))


def lowered(call: Call, names: Names) -> ConvGeometry:
    """Return the kernel's problem of a call that keeps every rule."""
    sizes, attributes = _sizes(call, names), call.attributes
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


def _steps(value: object) -> tuple[int, ...]:
    """Return strides or dilations as integers: a scalar as one, None as none."""
    if value is None:
        return ()
    single = one_integer(value)
    return (single,) if single is not None else known_integers(value)


def _sizes(call: Call, names: Names) -> tuple[int, ...]:
    return known_integers(call.operands[names.sizes])


def _agree(one: int, other: int) -> bool:
    return UNKNOWN in (one, other) or one == other


def _listed(names: Names, start: int, stop: int) -> str:
    return ", ".join(names.filter_dimensions[start:stop])


def _window_numbers(call: Call, names: Names, dimension: int) -> tuple[int, int, int]:
    axis = spatial_axes(call.attributes.data_format)[dimension]
    kernel = call.spec(names.filter).shape[dimension]
    return kernel, call.attributes.strides[axis], call.attributes.dilations[axis]


def _legal_sizes(call: Call, names: Names, dimension: int) -> range | None:
    """Return the sizes of the result that have the data's positions; None if that is unknown."""
    kernel, stride, dilation = _window_numbers(call, names, dimension)
    positions = call.spec(names.data).shape[spatial_axes(call.attributes.data_format)[dimension]]
    if positions == UNKNOWN or (kernel == UNKNOWN and call.attributes.padding == "VALID"):
        return None
    return input_sizes_for(positions, kernel, stride, dilation, call.attributes.padding)


def _misfit(call: Call, names: Names, dimension: int) -> Fault | None:
    """Say how one spatial dimension does not fit, with every size that would."""
    axis = spatial_axes(call.attributes.data_format)[dimension]
    word = names.layouts[call.attributes.data_format][axis]
    positions, size = call.spec(names.data).shape[axis], _sizes(call, names)[axis]
    legal = _legal_sizes(call, names, dimension)
    if UNKNOWN in (positions, size) or legal is None or size in legal:
        return None
    kernel, stride, dilation = _window_numbers(call, names, dimension)
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
    asked, given = _sizes(call, names)[axis], call.spec(names.data).shape[axis]
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
    return f"{names.data} has {contracted} channels in {other} order: is data_format {other!r} meant?"
