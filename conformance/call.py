"""A golden case's call on one backend: made in whatever form, its result judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opspec import ops
from opspec.conformance.case import Case, Golden
from opspec.conformance.tolerance import (
    MismatchError,
    require_bounded,
    require_exact,
    require_same_form,
)
from opspec.explanation import public_function
from opspec.registry import Backend, Demand

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Call:
    """The call that a golden case stands for.

    Parameters
    ----------
    golden, case
        Which case.
    backend
        What runs it.
    demand
        What it needs of a backend.
    """

    golden: Golden
    case: Case
    backend: Backend
    demand: Demand
    operands: tuple[str, str] = field(init=False)

    def __post_init__(self) -> None:
        filter, data = ops.get(self.golden.file.operation).kernel_operands
        object.__setattr__(self, "operands", (filter, data))

    def arguments(self) -> dict[str, Any]:
        """Return fresh arguments, the operands contiguous."""
        return self.golden.arguments(self.case)

    @property
    def expected(self) -> Array:
        """The expected result."""
        return self.golden.expected(self.case)

    @property
    def magnitude(self) -> Array | None:
        """The sums of absolute values, or None where the bits must match."""
        name = self.case.expected.magnitude
        return None if name is None else self.golden.tensors[name]

    def run(self, arguments: Mapping[str, Any], out: Array | None = None) -> Any:
        """Make the call and return its result, of the right form; operands must stay as they are.

        Raises
        ------
        MismatchError
            If the result has another dtype or shape, or an operand has changed.
        """
        function = public_function(ops.get(self.golden.file.operation))
        arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
        before = {name: value.tobytes() for name, value in arrays.items()}
        # Infinities and NaN are among the cases; a backend need not silence NumPy about them.
        with np.errstate(all="ignore"):
            result = function(**arguments, backend=self.backend, out=out)
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
        if magnitude is None:
            require_exact(result, expected, self.demand.data_format)
        else:
            require_bounded(result, expected, magnitude, self.demand.data_format)
