"""A lane of one operation while it is being made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opspec.conformance.case import Lane
from opspec.conformance.generate.oracles import DisagreementError
from opspec.conformance.oracle import direct_sum, exact_sum

SEED = 20261202
# Up to here every whole number is a float32, so that float32 sums are exact in any order.
LARGEST_EXACT = 2**24

Array = np.ndarray[Any, Any]

OPERANDS = {
    "Conv3DBackpropInputV2": ("input_sizes", "filter", "out_backprop"),
    "conv3d_transpose": ("output_shape", "filters", "input"),
}


@dataclass
class Built:
    """A lane of one operation while it is being made."""

    operation: str
    lane: Lane
    cases: list[dict[str, Any]] = field(default_factory=list)
    tensors: dict[str, Array] = field(default_factory=dict)
    source: str | None = None
    licence: str | None = None


def exact_result(problem: Mapping[str, Any]) -> Array:
    """Return the exact result: in integers, or with IEEE's infinities and NaN."""
    operands = (problem["filter"], problem["out_backprop"])
    if not all(np.isfinite(operand.astype(np.float64)).all() for operand in operands):
        return direct_sum(**problem)[0]
    wide = {name: np.abs(problem[name].astype(np.float64)) for name in ("filter", "out_backprop")}
    if exact_sum(**{**problem, **wide}).max(initial=0) > LARGEST_EXACT:
        raise DisagreementError("float32 sums of these operands depend on their order")
    return exact_sum(**problem).astype(np.float64)
