"""The call of a program: its arguments in full, and the definition worked out for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from opspec import ops
from opspec.conformance.axes import axes_in_common
from opspec.conformance.script_operands import kind
from opspec.definition import OpDefinition
from opspec.geometry import ConvGeometry, channel_axis
from opspec.operands import read_all
from opspec.rule import Call, TensorSpec

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Common:
    """An axis that an operand has in common with the result.

    Parameters
    ----------
    variable
        The operand, as a program calls it.
    own, result
        The axis in the operand, and in the result.
    """

    variable: str
    own: int
    result: int


@dataclass(frozen=True)
class ScriptProblem:
    """A call, as a program makes it.

    Parameters
    ----------
    operation
        The operation.
    arguments
        What was given, operands included.
    variables
        What a program calls each operand, in the order in which it makes them.
    operands
        The operands, in that order.
    geometry
        The problem.
    """

    operation: OpDefinition
    arguments: dict[str, Any]
    variables: dict[str, str]
    operands: tuple[Array, Array]
    geometry: ConvGeometry

    @classmethod
    def of(cls, operation: str, arguments: dict[str, Any]) -> "ScriptProblem":
        """Read the arguments of a valid call."""
        definition = ops.get(operation)
        fields = definition.Attributes.model_fields
        attributes = definition.Attributes(**{n: arguments[n] for n in fields if n in arguments})
        reads = read_all(tuple(arguments[name] for name in definition.kernel_operands), "numpy")
        arrays = {
            name: np.ascontiguousarray(read.array)
            for name, read in zip(definition.kernel_operands, reads, strict=True)
        }
        given: dict[str, Any] = {n: TensorSpec(a.dtype.name, a.shape) for n, a in arrays.items()}
        if definition.sizes is not None:
            given[definition.sizes] = arguments[definition.sizes]
        variables = dict(_variables(definition))
        first, second = variables
        return cls(
            definition,
            arguments,
            variables,
            (arrays[first], arrays[second]),
            definition.lower(Call(attributes, given)),
        )

    @property
    def names(self) -> str:
        """The variables of both operands, with a comma between."""
        return ", ".join(self.variables.values())

    @property
    def other(self) -> str:
        """The variable that is not ``data``."""
        return list(self.variables.values())[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return self.geometry.shape_of(self.operation.result_side)

    @property
    def dtype(self) -> str:
        """The name of the operands' dtype."""
        return self.geometry.dtype

    @property
    def kind(self) -> str:
        """How a program spells the dtype."""
        return kind(self.operands[0])

    @property
    def common(self) -> list[Common]:
        """The axes that operands have in common with the result."""
        found = axes_in_common(self.operation, self.geometry.data_format)
        return [Common(self.variables[name], *found[name]) for name in self.variables]

    def call(self, backend: str) -> str:
        """Return the call as text; it ends with the backend."""
        module, _, function = self.operation.public.partition(":")
        spelled = [
            f"{name}={self.variables.get(name) or _spelled(value)}"
            for name, value in self.arguments.items()
            if name in self.variables or not self._is_default(name, value)
        ]
        return f"{module}.{function}({', '.join(spelled)}, backend={backend!r})"

    def _is_default(self, name: str, value: Any) -> bool:
        defaults = self.operation.Attributes.defaults()
        if name in ("strides", "dilations") and name in defaults:
            return isinstance(value, (list, tuple)) and tuple(value) == (1, 1, 1, 1, 1)
        return name in defaults and isinstance(value, str) and value == defaults[name]

    def definition(self, *, with_size: bool) -> list[str]:
        """Return lines that work out `want`, and `size`, the sums of absolute values."""
        if not with_size:
            *lines, result = self._worked_out(".astype(float)")
            return [*lines, f"want = {result}.astype(got.dtype)"]
        *lines, result = self._worked_out("")
        parts = ", ".join(f"part({name}.astype(float))" for name in self.variables.values())
        return [
            f"def defined({self.names}):",
            *(f"    {line}" for line in lines),
            f"    return {result}",
            f"want, size = (defined({parts}) for part in (np.positive, abs))",
        ]

    def magnitude(self, data: Array, other: Array) -> Array:
        """Work out the sums of absolute values here, as a program does."""
        names: dict[str, Any] = {"np": np, "data": data, self.other: other}
        with np.errstate(all="ignore"):
            exec("\n".join(self.definition(with_size=True)), names)
        found: Array = names["size"]
        return found

    def _worked_out(self, wide: str) -> list[str]:
        """Return lines, and at the end what the result is; `wide` makes operands float64."""
        side = self.operation.result_side
        full = f"full = np.zeros({self._full_shape()})"
        loop = f"for z, y, x in np.ndindex{self.geometry.filter_shape[:3]}"
        there = f"full[:, {self._slices()}]"
        tap = f"taps[z, y, x]{wide}"
        crop = ", ".join(f"{w.before}:{w.before + w.input}" for w in self.geometry.windows)
        data = self._inward("data")
        if side == "input":
            return [
                full,
                f"{loop}: {there} += {data}{wide} @ {tap}.T",
                self._outward(f"full[:, {crop}]"),
            ]
        placed = f"{full}; full[:, {crop}] = {data}"
        if side == "output":
            return [placed, self._outward(f"sum({there} @ {tap} {loop})")]
        gradient = f"{self._inward('grad')}{wide}"
        each = f'np.einsum("ndhwc,ndhwj->cj", {there}, {gradient})'
        return [placed, f"np.array([{each} {loop}]).reshape{self.shape}"]

    def _full_shape(self) -> tuple[int, ...]:
        """Return the large side's shape, channels last, with room for taps that land outside."""
        spans = [
            max((w.output - 1) * w.stride + (w.kernel - 1) * w.dilation + 1, w.before + w.input)
            for w in self.geometry.windows
        ]
        return (self.geometry.batch, *spans, self.geometry.in_channels)

    def _slices(self) -> str:
        found = []
        for letter, w in zip("zyx", self.geometry.windows, strict=True):
            start = letter if w.dilation == 1 else f"{w.dilation}*{letter}"
            step = "" if w.stride == 1 else f":{w.stride}"
            found.append(f"{start}:{start}+{w.output * w.stride}{step}")
        return ", ".join(found)

    def _inward(self, name: str) -> str:
        return f"np.moveaxis({name}, 1, -1)" if self._channels_second else name

    def _outward(self, text: str) -> str:
        return f"np.moveaxis({text}, -1, 1)" if self._channels_second else text

    @property
    def _channels_second(self) -> bool:
        return channel_axis(self.geometry.data_format) == 1


def _variables(definition: OpDefinition) -> Iterator[tuple[str, str]]:
    """Yield what a program calls each operand: ``data`` first, then ``taps`` or ``grad``."""
    sides = {side: name for name, side in definition.operand_sides.items()}
    if "filter" not in sides:
        yield sides["input"], "data"
        yield sides["output"], "grad"
        return
    yield sides["input" if "input" in sides else "output"], "data"
    yield sides["filter"], "taps"


def _spelled(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()}, np.{value.dtype.name})"
    return repr(value)
