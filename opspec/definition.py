"""What an operation is, as data: attributes, operands, ordered rules, inference, reference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opspec.attributes import AttributesModel
from opspec.geometry import ConvGeometry, Side
from opspec.rule import Call, Rule, TensorSpec, refuse_first_fault


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
    ----------
        Its attributes model.
    operands
        Its operands, in the order of the public function; the one in `sizes` is given by value.
    sizes
        The operand that holds the shape of the result, or None.
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
    kernel_sides
        Which side of the convolution each of these is.
    result_side
        Which side the result is.
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
    sizes: str | None
    operand_rules: tuple[Rule, ...]
    result: str
    kernel: str
    kernel_parameters: tuple[str, ...]
    kernel_operands: tuple[str, ...]
    kernel_sides: tuple[Side, ...]
    result_side: Side
    infer_shape: Callable[[Call], TensorSpec]
    lower: Callable[[Call], ConvGeometry]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule, in the order in which they run."""
        return self.Attributes.rules + self.operand_rules

    @property
    def operand_sides(self) -> dict[str, Side]:
        """Which side of the convolution each operand of the kernel is."""
        return dict(zip(self.kernel_operands, self.kernel_sides, strict=True))

    @property
    def memory_rule(self) -> Rule:
        """The rule that the result fits into memory."""
        return next(rule for rule in self.operand_rules if rule.label.endswith("_memory"))

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
        for name, spec in operands.items():
            if name != self.sizes and not isinstance(spec, TensorSpec):
                raise TypeError(
                    f"{self.name}.infer takes a TensorSpec for {name}; "
                    f"given a {type(spec).__name__}"
                )
        call = Call(attributes, operands, inferring=True)
        refuse_first_fault(self.operand_rules, call)
        return self.infer_shape(call)
