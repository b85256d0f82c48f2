"""A call and the result that it must give, whatever it was made from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opspec.conformance.case import Case, Golden

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Example:
    """A call and what it must give.

    Parameters
    ----------
    operation
        The operation.
    arguments
        Makes the keyword arguments, fresh and the operands contiguous.
    expected
        The expected result.
    magnitude
        The sums of absolute values, or None where the bits must match.
    """

    operation: str
    arguments: Callable[[], dict[str, Any]]
    expected: Array
    magnitude: Array | None = None


def example_of(golden: Golden, case: Case) -> Example:
    """Return what a golden case stands for."""
    named = case.expected.magnitude
    return Example(
        golden.file.operation,
        lambda: golden.arguments(case),
        golden.expected(case),
        None if named is None else golden.tensors[named],
    )
