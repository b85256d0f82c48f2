"""The call of a program: its arguments in full, and the definition worked out for them."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from opspec import ops
from opspec.conformance.script_operands import kind
from opspec.geometry import Window, channel_axis, spatial_axes
from opspec.operands import read_all

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ScriptProblem:
    """A call, as a program makes it.

    Parameters
    ----------
    operation
        The operation.
    arguments
        What was given, operands included.
    data, taps
        The operands.
    shape
        The result's shape.
    data_format
        Its layout.
    windows
        Depth, height, width.
    """

    operation: str
    arguments: dict[str, Any]
    data: Array
    taps: Array
    shape: tuple[int, ...]
    data_format: str
    windows: tuple[Window, ...]

    @classmethod
    def of(cls, operation: str, arguments: dict[str, Any]) -> "ScriptProblem":
        """Read the arguments of a valid call."""
        definition = ops.get(operation)
        given = {name: value for name, value in arguments.items() if name != definition.sizes}
        operands = [given.pop(name) for name in definition.kernel_operands]
        given = {name: given[name] for name in definition.Attributes.model_fields if name in given}
        attributes: Any = definition.Attributes(**given)
        taps, data = (np.ascontiguousarray(r.array) for r in read_all(tuple(operands), "numpy"))
        shape = tuple(int(size) for size in arguments[definition.sizes])
        ones = (1,) * 5
        windows = tuple(
            Window.fitted(
                shape[axis],
                taps.shape[dimension],
                attributes.strides[axis],
                (attributes.dilations or ones)[axis],
                attributes.padding,
            )
            for dimension, axis in enumerate(spatial_axes(attributes.data_format))
        )
        return cls(operation, arguments, data, taps, shape, attributes.data_format, windows)

    @property
    def operands(self) -> tuple[Array, Array]:
        """The operands, in the order in which a program makes them."""
        return self.data, self.taps

    @property
    def dtype(self) -> str:
        """The name of the operands' dtype."""
        return str(self.taps.dtype.name)

    @property
    def kind(self) -> str:
        """How a program spells the dtype."""
        return kind(self.taps)

    def call(self, backend: str) -> str:
        """Return the call as text; it ends with the backend."""
        definition = ops.get(self.operation)
        module, _, function = definition.public.partition(":")
        filter, data = definition.kernel_operands
        named = {filter: "taps", data: "data"}
        spelled = [
            f"{name}={named.get(name) or _spelled(value)}"
            for name, value in self.arguments.items()
            if name in named or not self._is_default(name, value)
        ]
        return f"{module}.{function}({', '.join(spelled)}, backend={backend!r})"

    def _is_default(self, name: str, value: Any) -> bool:
        defaults = ops.get(self.operation).Attributes.defaults()
        if name in ("strides", "dilations") and name in defaults:
            return isinstance(value, (list, tuple)) and tuple(value) == (1, 1, 1, 1, 1)
        return name in defaults and isinstance(value, str) and value == defaults[name]

    def definition(self, *, with_size: bool) -> list[str]:
        """Return lines that work out `want`, and `size`, the sums of absolute values."""
        spread = f"full[:, {self._slices()}] += "
        loop = f"for z, y, x in np.ndindex{self.taps.shape[:3]}:"
        full = f"full = np.zeros({self._full_shape()})"
        crop = ", ".join(f"{w.before}:{w.before + w.input}" for w in self.windows)
        cropped = self._outward(f"full[:, {crop}]")
        if not with_size:
            data = self._inward("data")
            return [
                full,
                f"{loop} {spread}{data}.astype(float) @ taps[z, y, x].astype(float).T",
                f"want = {cropped}.astype(got.dtype)",
            ]
        return [
            "def spread(data, taps):",
            f"    {full}",
            f"    {loop} {spread}{self._inward('data')} @ taps[z, y, x].T",
            f"    return {cropped}",
            "want, size = (spread(part(data.astype(float)), part(taps.astype(float))) "
            "for part in (np.positive, abs))",
        ]

    def spread(self, data: Array, taps: Array) -> Array:
        """Work out the definition here, as the program does."""
        full = np.zeros(self._full_shape())
        source = np.moveaxis(data, 1, -1) if channel_axis(self.data_format) == 1 else data
        source, wide = source.astype(float), taps.astype(float)
        for tap in product(*map(range, taps.shape[:3])):
            place = tuple(
                slice(t * w.dilation, t * w.dilation + w.output * w.stride, w.stride)
                for t, w in zip(tap, self.windows, strict=True)
            )
            full[(slice(None), *place)] += source @ wide[tap].T
        crop = tuple(slice(w.before, w.before + w.input) for w in self.windows)
        return full[(slice(None), *crop)]

    def _full_shape(self) -> tuple[int, ...]:
        """Return the result's shape, channels last, with room for what lands outside."""
        spans = [
            max((w.output - 1) * w.stride + (w.kernel - 1) * w.dilation + 1, w.before + w.input)
            for w in self.windows
        ]
        return (self.shape[0], *spans, self.taps.shape[3])

    def _slices(self) -> str:
        found = []
        for letter, w in zip("zyx", self.windows, strict=True):
            start = letter if w.dilation == 1 else f"{w.dilation}*{letter}"
            step = "" if w.stride == 1 else f":{w.stride}"
            found.append(f"{start}:{start}+{w.output * w.stride}{step}")
        return ", ".join(found)

    def _inward(self, name: str) -> str:
        return f"np.moveaxis({name}, 1, -1)" if channel_axis(self.data_format) == 1 else name

    def _outward(self, text: str) -> str:
        return f"np.moveaxis({text}, -1, 1)" if channel_axis(self.data_format) == 1 else text


def _spelled(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()}, np.{value.dtype.name})"
    return repr(value)
