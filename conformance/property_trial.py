"""One attempt at refuting a property: a problem, a backend, and every call that was made."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opspec import ops
from opspec.conformance.axes import places_axes
from opspec.conformance.oracle import direct_sum
from opspec.conformance.oracle_siblings import DIRECT, EXACT
from opspec.conformance.problems import Array, Problem
from opspec.conformance.tolerance import (
    LARGEST_RHO,
    MismatchError,
    require_bounded,
    require_exact,
    require_same_form,
    rhos,
    same_bits,
)
from opspec.explanation import public_function
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
        What it amounts to, or was made for.
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

    def forward(self, input: Array) -> Array:
        """Return what Conv3D makes of an input of the problem's result's shape."""
        return self._run("Conv3D", self.problem, self.problem.forward_arguments(input))

    def filter_gradient(self, input: Array, **changes: Any) -> Array:
        """Return the gradient by the filter, of an input of the problem's result's shape."""
        problem = replace(self.problem, **changes)
        return self._run("Conv3DBackpropFilterV2", problem, problem.filter_arguments(input))

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
        definition = ops.get(operation)
        function = public_function(definition)
        # The arguments as they were: a kernel may write into those that it gets.
        kept = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        made = Made(operation, problem, kept)
        self.calls.append(made)
        with np.errstate(all="ignore"):
            result = function(**arguments, backend=self.backend)
        require_same_form(result, problem.dtype, problem.shape_of(definition.result_side))
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
    require_near(result, *direct_sum(**problem.arguments()), problem.data_format)


def require_near(result: Array, expected: Array, magnitude: Array, axes: str) -> None:
    """Raise unless a result is within the bound of these sums."""
    if result.size < MANY_ELEMENTS and (rhos(result, expected, magnitude) <= LARGEST_RHO).all():
        return
    require_bounded(result, expected, magnitude, axes)


def require_rounded(result: Array, sums: Array, axes: str, words: str) -> None:
    """Raise unless a result is these whole sums, rounded once."""
    with np.errstate(over="ignore"):
        rounded = sums.astype(np.float64).astype(result.dtype)
    require_equal_numbers(result, rounded, axes, words)


def was_right(made: Made, *, whole: bool) -> bool:
    """Whether a call gave what the definition says."""
    if made.result is None:
        return False
    definition = ops.get(made.operation)
    axes = places_axes(definition.result_side, made.problem.data_format)
    try:
        if definition.result_side == "input" and whole:
            require_equal_numbers(made.result, made.problem.exact_result(), axes, "")
        elif definition.result_side == "input":
            require_right_sums(made.result, made.problem)
        elif whole:
            require_rounded(made.result, EXACT[made.operation](**made.arguments), axes, "")
        else:
            require_near(made.result, *DIRECT[made.operation](**made.arguments), axes)
    except MismatchError:
        return False
    return True
