"""For every rule a call just beyond it and a call just within: how these are written down."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class RuleCase:
    """A rule, a call that breaks it first, and a call that just keeps it.

    Parameters
    ----------
    rule
        The rule's label.
    reject, accept
        What differs from `BASE`. ``{"fill": shape}`` is an array of float32 with made values.
    through, accept_through
        "call"; "attributes" for what only the attributes model can be given; "infer" for sizes that
        no kernel should loop over.
    """

    rule: str
    reject: dict[str, Any]
    accept: dict[str, Any] = field(default_factory=dict)
    through: str = "call"
    accept_through: str | None = None


def value(written: Any) -> dict[str, Any]:
    """Return an argument that is a plain value."""
    return {"value": written}


def fill(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    """Return an array with made values."""
    return {"fill": list(shape), "dtype": dtype}


def zeros(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    """Return an array of zeros."""
    return {"zeros": list(shape), "dtype": dtype}


def step_rules(argument: str, accepted: dict[str, dict[str, Any]]) -> list[RuleCase]:
    """Return the rules of strides or dilations; `accepted` holds what just keeps some of them."""
    wrong = {
        "are_integers": [1, 2.0, 1, 1, 1],
        "are_{counts}": [1, 2, 1, 1],
        "are_positive": [1, 1, 0, 1, 1],
        "fit_int32": [1, INT32_MAX + 1, 1, 1, 1],
        "batch_and_channel_are_one": [1, 2, 1, 1, 2],
    }
    return [
        RuleCase(f"{argument}.{rule}", {argument: value(steps)}, accepted.get(rule, {}))
        for rule, steps in wrong.items()
    ]


# The same for every operation.
ATTRIBUTES_ARE_NAMED = RuleCase(
    "attributes.are_named",
    {"strides": value([1, 1, 1, 1, 1]), "padding": value("SAME"), "stride": value(1)},
    {"strides": value([1, 1, 1, 1, 1]), "padding": value("SAME")},
    through="attributes",
)
NAME_IS_TEXT = RuleCase("name.is_text", {"name": value(3)}, {"name": value("")})


@dataclass(frozen=True)
class RuleTable:
    """The cases of an operation's rules.

    Parameters
    ----------
    base
        A call that keeps every rule.
    rules
        The cases, in any order.
    names
        What stands for the words in braces in names of rules and arguments.
    """

    base: Mapping[str, Any]
    rules: tuple[RuleCase, ...]
    names: Mapping[str, str]

    def translated(self, text: str) -> str:
        """Put the operation's names into a rule's label or an argument's name."""
        return text.format(**self.names)

    def merged(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the base with these changes."""
        return {**self.base, **changes}
