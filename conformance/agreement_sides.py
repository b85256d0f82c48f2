"""What a compared call says: its sizes, its operands, the shapes of its three sides."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from opspec.conformance.agreement_judge import Comparison
from opspec.geometry import Side


def argument_at_fault(c: Comparison) -> str:
    """Return the argument that the broken rule is about."""
    return c.ours.rule.split(".")[1]


def sizes_asked(c: Comparison) -> list[int]:
    """Return the integers among the sizes that the call asks for."""
    leaves = list(leaves_of(c.call.arguments.get(c.call.definition.sizes or "", ())))
    return [int(n) for n in leaves if isinstance(n, (int, np.integer))]


def operands_of(c: Comparison) -> list[Any]:
    """Return the operands, as the call gives them."""
    return [c.call.arguments[name] for name in c.call.definition.kernel_operands]


def shape_of(c: Comparison, wanted: Side) -> tuple[int, ...]:
    """Return the shape of a side; that of the result as opspec made it, or as it is asked for."""
    for name, side in c.call.definition.operand_sides.items():
        if side == wanted:
            return np.shape(c.call.arguments[name])
    return tuple(sizes_asked(c)) if c.ours.value is None else c.ours.value.shape


def axes_without_positions(c: Comparison) -> list[int]:
    """Return the spatial axes in which the small side has no position."""
    first = 2 if c.call.arguments.get("data_format") == "NCDHW" else 1
    small = shape_of(c, "output")
    return [axis for axis in range(first, first + 3) if len(small) == 5 and small[axis] == 0]


def leaves_of(value: Any) -> Iterator[Any]:
    """Yield what nested sequences or an array hold."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves_of(item)
    elif isinstance(value, np.ndarray):
        yield from value.reshape(-1).tolist()
    else:
        yield value


def is_inexact(value: Any) -> bool:
    """Tell whether a value holds a float, a bool or text."""
    kinds = (float, np.floating, bool, np.bool_, str, bytes)
    return any(isinstance(leaf, kinds) for leaf in leaves_of(value))


def dtype_of(operand: Any) -> str | None:
    """Return an array's dtype; None for what is no array."""
    return operand.dtype.name if isinstance(operand, np.ndarray) else None


def as_floats(operand: Any) -> np.ndarray[Any, Any]:
    """Return an operand in float64."""
    return np.asarray(operand).astype(np.float64)
