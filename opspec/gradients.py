"""Gradients of the operations, by the operations themselves: `opspec.vjp`.

Each operation here is linear in each of its two operands, and the three sides of a convolution are
what it reads or makes. With B(a, b) the operation and g the gradient of some number by its result,

    the gradient by a is the operation that makes a's side of g and b,
    the gradient by b is the operation that makes b's side of a and g.

So gradients are calls like any other, on whatever backend, and have gradients of their own.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opspec import ops
from opspec.definition import OpDefinition
from opspec.dtypes import name_of
from opspec.explanation import definition_of, public_function
from opspec.geometry import Side
from opspec.operands import read_all
from opspec.rule import Fault, Rule, TensorSpec, refuse_first_fault

SOURCE = "docs/calling.md"
Array = Any
Gradients = dict[str, Array]


def vjp(op: str | Callable[..., Any], *arguments: Any, **keywords: Any) -> tuple[Array, "Pullback"]:
    """Call an operation, and return with its result what takes gradients back to its operands.

    Parameters
    ----------
    op
        An operation, or its name.
    *arguments, **keywords
        As in the call. With ``backend=`` the gradients are computed there too.

    Returns
    -------
    result
        What the call returns.
    pullback
        Called with the gradient of some number by the result, an array of the result's shape and
        dtype, it returns the number's gradients by the operands, by name.

    Raises
    ------
    LookupError
        If `op` is no operation.
    opspec.errors.OpError
        If the call breaks a rule.
    opspec.errors.BackendError
        If no backend, or not the named one, takes the call.

    Examples
    --------
    >>> import numpy as np
    >>> import opspec
    >>> voxel = np.full((1, 1, 1, 1, 1), 2, np.float32)
    >>> filters = np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1, 1)
    >>> result, pullback = opspec.vjp("conv3d_transpose", voxel, filters, [1, 1, 1, 4, 1], 4)
    >>> gradients = pullback(np.ones_like(result))
    >>> gradients["input"].ravel(), gradients["filters"].ravel()
    (array([6.], dtype=float32), array([2., 2., 2., 2.], dtype=float32))
    """
    definition = definition_of(op)
    function = public_function(definition)
    bound = inspect.signature(function).bind(*arguments, **keywords)
    bound.apply_defaults()
    given = bound.arguments
    result = function(*arguments, **keywords)
    attributes = definition.Attributes(
        **{name: given[name] for name in definition.Attributes.model_fields}
    )
    operands = [given[name] for name in definition.kernel_operands]
    reads = read_all(tuple(operands), given["backend"])
    arrays = {
        # What was lent for the call is lent again for each gradient.
        name: read.array if read.owner is None else operand
        for name, operand, read in zip(definition.kernel_operands, operands, reads, strict=True)
    }
    call = _Bilinear(definition, attributes, given["backend"], given["name"])
    return result, Pullback(call, arrays, result)


@dataclass(frozen=True)
class _Bilinear:
    """An operation with its attributes: the convolution that it is, whichever side is made."""

    definition: OpDefinition
    attributes: Any
    backend: Any
    name: object

    def made(self, side: Side, operands: Mapping[Side, Array], shape: tuple[int, ...]) -> Array:
        """Make one side, of a shape, of the two others."""
        raw = ops.get(RAW[side])
        arguments = {name: operands[from_side] for name, from_side in raw.operand_sides.items()}
        if raw.sizes is not None:
            arguments[raw.sizes] = list(shape)
        attributes = self.attributes
        return public_function(raw)(
            **arguments,
            strides=attributes.strides,
            padding=attributes.padding,
            data_format=attributes.data_format,
            dilations=attributes.dilations or (1, 1, 1, 1, 1),
            backend=self.backend,
            name=self.name,
        )


# The operation that makes each side of the two others.
RAW: Mapping[Side, str] = {
    "input": "Conv3DBackpropInputV2",
    "filter": "Conv3DBackpropFilterV2",
    "output": "Conv3D",
}


class Pullback:
    """Takes a gradient by the result of a call back to its operands.

    Parameters
    ----------
    call
        The operation.
    operands
        What it was called with.
    result
        What it returned.
    """

    def __init__(self, call: _Bilinear, operands: Mapping[str, Array], result: Array) -> None:
        self._call = call
        self._arrays = operands
        self._result = _spec_of(result)

    def __call__(self, gradient: Array) -> Gradients:
        """Return the gradients by the operands, by name.

        Parameters
        ----------
        gradient
            Of some number by the result, with the result's shape and dtype.

        Raises
        ------
        opspec.errors.OpError
            If it has another shape or dtype.
        """
        self._require_like("gradient", gradient, self._result)
        one, other = self._arrays
        return {
            one: self._by(one, other, self._arrays[other], gradient),
            other: self._by(other, one, self._arrays[one], gradient),
        }

    def vjp(self, gradient: Array) -> tuple[Gradients, Callable[[Gradients], Gradients]]:
        """Return the gradients, and what takes gradients by them back once more: second order.

        The function takes the gradients of some number by the gradients, by name, and returns the
        number's gradients by the operands and, as ``"gradient"``, by the gradient of the result.

        Parameters
        ----------
        gradient
            As in a call.
        """
        gradients = self(gradient)
        one, other = self._arrays
        a, b = self._arrays[one], self._arrays[other]

        def back(seconds: Gradients) -> Gradients:
            rule = _are_all_there(self._call.definition.name, tuple(gradients))
            refuse_first_fault((rule,), seconds, self._call.name)
            for name, second in seconds.items():
                self._require_like(name, second, _spec_of(self._arrays[name]))
            return {
                one: self._by(one, other, seconds[other], gradient),
                other: self._by(other, one, seconds[one], gradient),
                "gradient": self._again(one, seconds[one], other, b)
                + self._again(other, seconds[other], one, a),
            }

        return gradients, back

    def _by(self, name: str, other: str, beside: Array, gradient: Array) -> Array:
        """Make one operand's side of the other operand and a gradient by the result."""
        sides = self._call.definition.operand_sides
        made_of: dict[Side, Array] = {
            sides[other]: beside,
            self._call.definition.result_side: gradient,
        }
        return self._call.made(sides[name], made_of, tuple(self._arrays[name].shape))

    def _again(self, name: str, array: Array, other: str, beside: Array) -> Array:
        """Call the operation again, with another array for one operand."""
        definition = self._call.definition
        sides = definition.operand_sides
        made_of: dict[Side, Array] = {sides[name]: array, sides[other]: beside}
        return self._call.made(definition.result_side, made_of, self._result.shape)

    def _require_like(self, argument: str, array: Array, wanted: TensorSpec) -> None:
        rule = _is_like(self._call.definition.name, argument, wanted)
        refuse_first_fault((rule,), array, self._call.name)


def _is_like(op: str, argument: str, wanted: TensorSpec) -> Rule:
    """Make the rule that a gradient is like what it is the gradient by."""

    def find_fault(given: Any) -> Fault | None:
        if not hasattr(given, "dtype") or not hasattr(given, "shape"):
            return Fault(f"a {type(given).__name__}", _described(wanted), kind="type")
        spec = _spec_of(given)
        return None if spec == wanted else Fault(_described(spec), _described(wanted))

    sentence = f"{argument} must have the shape and dtype of what it is the gradient by"
    return Rule(op, f"{argument}.is_like_its_array", argument, sentence, SOURCE, find_fault)


def _are_all_there(op: str, wanted: Iterable[str]) -> Rule:
    """Make the rule that there is a gradient by each operand's gradient, and no other."""
    allowed = ", ".join(wanted)

    def find_fault(given: Any) -> Fault | None:
        names = list(given) if isinstance(given, Mapping) else None
        if names is None:
            return Fault(f"a {type(given).__name__}", f"by name: {allowed}", kind="type")
        return None if set(names) == set(wanted) else Fault(", ".join(map(str, names)), allowed)

    sentence = "gradients must be given by name, one for each operand"
    return Rule(op, "gradients.are_all_there", "gradients", sentence, SOURCE, find_fault)


def _spec_of(array: Array) -> TensorSpec:
    return TensorSpec(name_of(array.dtype), tuple(array.shape))


def _described(spec: TensorSpec) -> str:
    return f"{spec.dtype} of shape {list(spec.shape)}"
