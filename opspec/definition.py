"""The vocabulary in which an operation is defined: specs, operands, rules, attributes.

An `OpDefinition` is data. Its rules run in their fixed order and the first broken one is the error,
whatever the path: the attributes model, a call, a backend, the command line.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from opspec.errors import OpError, OpMemoryError, OpTypeError
from opspec.geometry import ConvGeometry

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
        if not isinstance(self.shape, tuple) or any(extent < UNKNOWN for extent in self.shape):
            raise ValueError(
                f"a TensorSpec's shape is a tuple of extents, -1 for unknown; given {self.shape!r}"
            )


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


class AttributesModel(BaseModel):
    """Base of every operation's attributes: frozen, hashable, JSON in and out, own errors only.

    A subclass sets `rules`, which look at the attributes as given, and `canonical`, which turns
    attributes that keep the rules into the field values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: ClassVar[tuple[Rule, ...]]

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            self._raise_own(error)

    @classmethod
    def model_validate(cls, obj: Any, **settings: Any) -> Self:
        """Validate a mapping; see `pydantic.BaseModel`. Raises `OpError`."""
        try:
            return super().model_validate(obj, **settings)
        except ValidationError as error:
            cls._raise_own(error)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **settings: Any) -> Self:
        """Validate JSON text; see `pydantic.BaseModel`. Raises `OpError`."""
        try:
            return super().model_validate_json(json_data, **settings)
        except ValidationError as error:
            cls._raise_own(error)

    @classmethod
    def canonical(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Turn attributes that keep every rule into field values."""
        raise NotImplementedError

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the attributes that may be left out, with their defaults."""
        return {
            name: field.default
            for name, field in cls.model_fields.items()
            if not field.is_required()
        }

    @model_validator(mode="before")
    @classmethod
    def _keep_rules(cls, given: Any) -> Any:
        if isinstance(given, cls):
            return given
        complete = {**cls.defaults(), **given} if isinstance(given, Mapping) else given
        refuse_first_fault(cls.rules, complete)
        return cls.canonical(complete)

    @classmethod
    def _raise_own(cls, error: ValidationError) -> NoReturn:
        """Raise the OpError inside; anything else that pydantic finds is text that is no JSON."""
        first = error.errors(include_url=False)[0]
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, OpError):
            raise cause from None
        raise cls.rules[0].error(Fault(first["msg"], "a JSON object")) from None


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an operation.

    Parameters
    ----------
    name
        As in the call.
    dtypes
        The dtypes it may have.
    dimensions
        What each dimension means, per data format; one entry for a vector of sizes.
    summary
        What it is, in a sentence.
    """

    name: str
    dtypes: tuple[str, ...]
    dimensions: Mapping[str, tuple[str, ...]]
    summary: str


@dataclass(frozen=True, kw_only=True, eq=False)
class OpDefinition:
    """An operation, complete, as data.

    Parameters
    ----------
    name
        TensorFlow's name of it.
    public
        Where its public function lies, as ``module:function``.
    summary, reference
        One sentence; the reference text.
    sources
        The documents it is taken from.
    Attributes
        Its attributes model.
    operands
        Its operands, in the order of the public function; the one in `sizes` is given by value.
    sizes
        The operand that holds the shape of the result.
    operand_rules
        The rules that look at a whole `Call`; they run after the attribute rules.
    result
        What comes back, in a sentence.
    kernel
        The operation whose kernels compute it.
    kernel_parameters
        The parameters of such a kernel, in order: the geometry, then operands.
    kernel_operands
        Which operands the kernel gets, in the order of its parameters.
    infer_shape
        Computes the result's spec from a `Call` that keeps every rule.
    lower
        Computes the kernel's problem from a `Call` that keeps every rule and has no unknowns.
    """

    name: str
    public: str
    summary: str
    reference: str
    sources: tuple[str, ...]
    Attributes: type[AttributesModel]
    operands: tuple[Operand, ...]
    sizes: str
    operand_rules: tuple[Rule, ...]
    result: str
    kernel: str
    kernel_parameters: tuple[str, ...]
    kernel_operands: tuple[str, ...]
    infer_shape: Callable[[Call], TensorSpec]
    lower: Callable[[Call], ConvGeometry]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule, in the order in which they run."""
        return self.Attributes.rules + self.operand_rules

    def infer(self, attributes: AttributesModel, **operands: Any) -> TensorSpec:
        """Infer the result's dtype and shape without data.

        Parameters
        ----------
        attributes
            An instance of this operation's `Attributes`.
        **operands
            Every operand: a `TensorSpec`, and for the sizes operand 5 integers. −1 is an unknown
            extent; unknown extents that the other operands determine are filled in.

        Returns
        -------
        TensorSpec
            Of the result, −1 where it is not determined.

        Raises
        ------
        OpError
            If a rule is broken by what is known.
        """
        expected = {operand.name for operand in self.operands}
        if not isinstance(attributes, self.Attributes) or operands.keys() != expected:
            raise TypeError(
                f"{self.name}.infer takes {self.name}'s Attributes and the operands "
                f"{', '.join(operand.name for operand in self.operands)}"
            )
        call = Call(attributes, operands, inferring=True)
        refuse_first_fault(self.operand_rules, call)
        return self.infer_shape(call)
