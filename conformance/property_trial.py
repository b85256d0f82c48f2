"""One attempt at refuting a property: a problem, a backend, and every call that was made."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opspec import nn, raw_ops
from opspec.conformance.oracle import direct_sum
from opspec.conformance.problems import Array, Problem
from opspec.conformance.tolerance import (
    MismatchError,
    require_bounded,
    require_exact,
    require_same_form,
    rhos,
    same_bits,
)
from opspec.registry import Backend

# A root mean square over fewer elements says little: one of them may well be 2 units off.
MANY_ELEMENTS = 256


@dataclass(slots=True)
class Made:
    """A call that was made.

    Parameters
    ----------
    operation
        Its operation.
    problem
        What it amounts to.
    arguments
        What it was called with.
    result
        What came of it, or None if nothing usable did.
    """

    operation: str
    problem: Problem
    arguments: dict[str, Any]
    result: Array | None = None


@dataclass(slots=True)
class Trial:
    """An attempt at refuting a property.

    Parameters
    ----------
    backend
        What computes.
    problem
        The problem that was drawn.
    generator
        For whatever else a property needs.
    calls
        The calls made so far.
    """

    backend: Backend
    problem: Problem
    generator: np.random.Generator
    calls: list[Made] = field(default_factory=list)

    def compute(self, **changes: Any) -> Array:
        """Return the result of the problem with some of its parts changed."""
        problem = replace(self.problem, **changes)
        return self._run("Conv3DBackpropInputV2", problem, problem.arguments())

    def transpose(self, **spelled: Any) -> Array:
        """Return the result of the problem through conv3d_transpose, arguments spelled so."""
        plain = self.problem.arguments()
        arguments = {
            "input": plain["out_backprop"],
            "filters": plain["filter"],
            "output_shape": plain["input_sizes"],
            **{name: plain[name] for name in ("strides", "padding", "data_format", "dilations")},
        }
        return self._run("conv3d_transpose", self.problem, {**arguments, **spelled})

    def is_to_blame_for(self, error: BaseException) -> bool:
        """Whether an error came of the backend: a wrong result, or a call that ended with it."""
        unfinished = bool(self.calls) and self.calls[-1].result is None
        return isinstance(error, MismatchError) or unfinished

    def require_equal(self, result: Array, expected: Array, words: str) -> None:
        """Raise unless two results have equal elements; `words` say what is wrong then."""
        require_equal_numbers(result, expected, self.problem.data_format, words)

    def require_same_bits(self, result: Array, expected: Array, words: str) -> None:
        """Raise unless two results agree in every bit."""
        self.require_equal(result, expected, words)
        if not same_bits(result, expected):
            raise MismatchError(f"{words}: the signs of zeros differ")

    def _run(self, operation: str, problem: Problem, arguments: dict[str, Any]) -> Array:
        function: Any = (
            nn.conv3d_transpose
            if operation == "conv3d_transpose"
            else raw_ops.Conv3DBackpropInputV2
        )
        # The arguments as they were: a kernel may write into those that it gets.
        kept = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        made = Made(operation, problem, kept)
        self.calls.append(made)
        with np.errstate(all="ignore"):
            result = function(**arguments, backend=self.backend)
        require_same_form(result, problem.dtype, problem.input_sizes)
        # A kernel may hand out the same memory again.
        kept_result: Array = result.copy()
        made.result = kept_result
        return kept_result


def require_equal_numbers(result: Array, expected: Array, data_format: str, words: str) -> None:
    """Raise unless all numbers are equal, whatever the dtypes; `words` say what is wrong then."""
    try:
        require_exact(result.astype(np.float64), expected.astype(np.float64), data_format)
    except MismatchError as error:
        raise error.preceded(words) from None


def require_right_sums(result: Array, problem: Problem) -> None:
    """Raise unless a result of any numbers is within the bound of the definition's sums."""
    expected, magnitude = direct_sum(**problem.arguments())
    if result.size < MANY_ELEMENTS and (rhos(result, expected, magnitude) <= 8).all():
        return
    require_bounded(result, expected, magnitude, problem.data_format)


def was_right(made: Made, *, whole: bool) -> bool:
    """Whether a call gave what the definition says."""
    if made.result is None:
        return False
    try:
        if whole:
            expected = made.problem.exact_result()
            require_equal_numbers(made.result, expected, made.problem.data_format, "")
        else:
            require_right_sums(made.result, made.problem)
    except MismatchError:
        return False
    return True
