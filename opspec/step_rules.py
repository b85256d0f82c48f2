"""The rules of strides, dilations, padding and data format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opspec.geometry import PADDINGS, channel_axis
from opspec.rule import Fault, Rule
from opspec.rules import (
    INT32_MAX,
    attributes_are_named,
    integers,
    is_one_of,
    known_integers,
    one_integer,
    shown,
)


@dataclass(frozen=True, slots=True)
class StepSpelling:
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


def attribute_rules(
    op: str, *, required: tuple[str, ...], data_formats: Sequence[str | None], steps: StepSpelling
) -> tuple[Rule, ...]:
    """Make the rules of strides, padding, data_format and dilations, in their order."""
    fields = ("strides", "padding", "data_format", "dilations")
    return (
        attributes_are_named(op, fields, required),
        is_one_of(op, "padding", PADDINGS, "docs/semantics.md §3.9"),
        is_one_of(op, "data_format", data_formats, "docs/semantics.md §3.9"),
        *_step_rules(op, "strides", steps),
        *_step_rules(op, "dilations", steps),
    )


def _step_rules(op: str, argument: str, steps: StepSpelling) -> tuple[Rule, ...]:
    return (
        steps_are_integers(op, argument, steps),
        steps_are_as_many(op, argument, steps),
        steps_are_positive(op, argument),
        steps_fit_int32(op, argument),
        batch_and_channel_steps_are_one(op, argument),
    )


def steps_are_integers(op: str, argument: str, steps: StepSpelling) -> Rule:
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


def steps_are_as_many(op: str, argument: str, steps: StepSpelling) -> Rule:
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
    return Rule(
        op,
        label,
        argument,
        sentence,
        "TensorFlow reference pages; docs/semantics.md §3.8",
        find_fault,
    )


def _steps(value: object) -> tuple[int, ...]:
    """Return strides or dilations as integers: a scalar as one, None as none."""
    if value is None:
        return ()
    single = one_integer(value)
    return (single,) if single is not None else tuple(known_integers(value))
