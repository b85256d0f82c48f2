"""An example's call on one backend: made in whatever form, its result judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opspec import ops
from opspec.conformance.axes import axes_in_common, places_axes
from opspec.conformance.example import Array, Example
from opspec.conformance.tolerance import (
    MismatchError,
    require_bounded,
    require_exact,
    require_same_form,
)
from opspec.definition import OpDefinition
from opspec.explanation import public_function
from opspec.registry import Backend, Demand


@dataclass(frozen=True)
class Call:
    """An example's call.

    Parameters
    ----------
    example
        The call and what it must give.
    backend
        What runs it.
    demand
        What it needs of a backend.
    """

    example: Example
    backend: Backend
    demand: Demand
    definition: OpDefinition = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "definition", ops.get(self.example.operation))

    @property
    def operands(self) -> dict[str, tuple[int, int]]:
        """The operands by name, with the axis of each that is one of the result's: here, there."""
        return axes_in_common(self.definition, self.demand.data_format)

    def arguments(self) -> dict[str, Any]:
        """Return fresh arguments, the operands contiguous."""
        return self.example.arguments()

    @property
    def expected(self) -> Array:
        """The expected result."""
        return self.example.expected

    @property
    def magnitude(self) -> Array | None:
        """The sums of absolute values, or None where the bits must match."""
        return self.example.magnitude

    def made(self, arguments: Mapping[str, Any], out: Array | None = None) -> Any:
        """Make the call and return its result, whatever it is."""
        function = public_function(self.definition)
        return function(**arguments, backend=self.backend, out=out)

    def run(self, arguments: Mapping[str, Any], out: Array | None = None) -> Any:
        """Make the call and return its result, of the right form; operands must stay as they are.

        Raises
        ------
        MismatchError
            If the result has another dtype or shape, or an operand has changed.
        """
        arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
        before = {name: value.tobytes() for name, value in arrays.items()}
        # Infinities and NaN are among the cases; a backend need not silence NumPy about them.
        with np.errstate(all="ignore"):
            result = self.made(arguments, out)
        require_same_form(result, self.demand.dtype, self.expected.shape)
        for name, value in arrays.items():
            if value.tobytes() != before[name]:
                raise MismatchError(f"the kernel wrote into {name}")
            if np.shares_memory(value, result):
                raise MismatchError(f"the result shares memory with {name}")
        return result

    def require_right(self, result: Array, *, negated: bool = False) -> None:
        """Raise unless a result is the expected one, or its negative."""
        expected = -self.expected if negated else self.expected
        self.require_equal(result, expected, self.magnitude)

    def require_equal(self, result: Array, expected: Array, magnitude: Array | None) -> None:
        """Raise unless a result is what is given here."""
        axes = places_axes(self.definition.result_side, self.demand.data_format)
        if magnitude is None:
            require_exact(result, expected, axes)
        else:
            require_bounded(result, expected, magnitude, axes)
