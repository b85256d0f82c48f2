"""What a rule is, what it looks at, and how a broken one is reported.

Rules run in their fixed order and the first broken one is the error, whatever the path: the
attributes model, a call, a backend, the command line.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from opspec.errors import OpError, OpMemoryError, OpTypeError

UNKNOWN = -1

_ERRORS = {"value": OpError, "type": OpTypeError, "memory": OpMemoryError}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor without its data.

    Parameters
    ----------
    dtype
        Its name, such as ``"float32"``.
    shape
        Its extents; −1 is an unknown one, in shape inference only.
    """

    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, str):
            raise ValueError(f"a TensorSpec's dtype is a name; given {self.dtype!r}")
        if not isinstance(self.shape, tuple) or not all(map(_is_extent, self.shape)):
            raise ValueError(
                f"a TensorSpec's shape is a tuple of extents, -1 for unknown; given {self.shape!r}"
            )


def _is_extent(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= UNKNOWN


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for an operand that is no array; `given` says what it is instead."""

    given: str


@dataclass(frozen=True, slots=True)
class Fault:
    """How a rule is broken: what was given, what is allowed, what to do about it."""

    given: str
    allowed: str
    hint: str | None = None
    kind: Literal["value", "type", "memory"] = "value"


@dataclass(frozen=True, slots=True)
class Call:
    """What the operand rules look at.

    Parameters
    ----------
    attributes
        The validated attributes model.
    operands
        Per operand its spec, or `Unreadable`; for a sizes operand the value itself.
    name
        The name that the caller gave the operation.
    inferring
        Whether this is shape inference, where −1 is an unknown extent, or a real call.
    arrays
        Per operand the qualified name of its array type; None for lists and scalars.
    """

    attributes: Any
    operands: Mapping[str, Any]
    name: object = None
    inferring: bool = False
    arrays: Mapping[str, str | None] = field(default_factory=dict)

    def spec(self, operand: str) -> TensorSpec:
        """Return the spec of an operand that the rules have found to be an array."""
        spec: TensorSpec = self.operands[operand]
        return spec


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that must hold.

    Parameters
    ----------
    op, label
        Together the stable id ``op.label``.
    argument
        The argument that is at fault when it is broken.
    sentence
        The rule in one sentence, used in the documentation and in the error.
    source
        Which document says so.
    find_fault
        The predicate: looks at the attributes as given (attribute rules) or at the `Call` (operand
        rules); returns how the rule is broken, or None.
    """

    op: str
    label: str
    argument: str
    sentence: str
    source: str
    find_fault: Callable[[Any], Fault | None]

    @property
    def id(self) -> str:
        """The stable id, such as ``Conv3DBackpropInputV2.strides.are_positive``."""
        return f"{self.op}.{self.label}"

    def error(self, fault: Fault, name: object = None) -> OpError:
        """Return the error that reports `fault`."""
        return _ERRORS[fault.kind](
            op=self.op,
            argument=self.argument,
            rule=self.id,
            sentence=self.sentence,
            given=fault.given,
            allowed=fault.allowed,
            hint=fault.hint,
            name=name if isinstance(name, str) else None,
        )


def refuse_first_fault(rules: Sequence[Rule], subject: object, name: object = None) -> None:
    """Run `rules` in order; raise the error of the first one that is broken.

    Raises
    ------
    OpError
        Naming op, argument, rule, what was given and what is allowed.
    """
    for rule in rules:
        if fault := rule.find_fault(subject):
            raise rule.error(fault, name)
