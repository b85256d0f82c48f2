"""A lane of one operation while it is being made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opspec.conformance.case import Lane
from opspec.conformance.oracle_siblings import DIRECT, EXACT

SEED = 20261202
# Up to here every whole number is a float32, so that float32 sums are exact in any order.
LARGEST_EXACT = 2**24

Array = np.ndarray[Any, Any]


class DisagreementError(AssertionError):
    """Oracles differ, or too few of them answered."""


# What each operation calls the arguments of the raw operation that it is.
SPELLED = {
    "Conv3D": {"input": "input", "filter": "filter"},
    "Conv3DBackpropFilterV2": {
        "input": "input",
        "filter_sizes": "filter_sizes",
        "out_backprop": "out_backprop",
    },
    "Conv3DBackpropInputV2": {
        "input_sizes": "input_sizes",
        "filter": "filter",
        "out_backprop": "out_backprop",
    },
    "conv3d_transpose": {
        "input_sizes": "output_shape",
        "filter": "filters",
        "out_backprop": "input",
    },
}
SIZES = ("input_sizes", "filter_sizes")
RAW = {"conv3d_transpose": "Conv3DBackpropInputV2"}


@dataclass
class Built:
    """A lane of one operation while it is being made."""

    operation: str
    lane: Lane
    cases: list[dict[str, Any]] = field(default_factory=list)
    tensors: dict[str, Array] = field(default_factory=dict)
    source: str | None = None
    licence: str | None = None


def raw_operation(operation: str) -> str:
    """Return the raw operation that an operation is."""
    return RAW.get(operation, operation)


def arrays_of(problem: Mapping[str, Any]) -> dict[str, Array]:
    """Return the operands among the arguments of a raw operation."""
    return {name: value for name, value in problem.items() if isinstance(value, np.ndarray)}


def is_finite(problem: Mapping[str, Any]) -> bool:
    """Whether no operand has an infinity or NaN."""
    wide = (array.astype(np.float64) for array in arrays_of(problem).values())
    return all(np.isfinite(array).all() for array in wide)


def exact_result(operation: str, problem: Mapping[str, Any]) -> Array:
    """Return the exact result: in integers, or with IEEE's infinities and NaN."""
    if not is_finite(problem):
        return DIRECT[operation](**problem)[0]
    wide = {name: np.abs(array.astype(np.float64)) for name, array in arrays_of(problem).items()}
    if EXACT[operation](**{**problem, **wide}).max(initial=0) > LARGEST_EXACT:
        raise DisagreementError("float32 sums of these operands depend on their order")
    return EXACT[operation](**problem).astype(np.float64)
