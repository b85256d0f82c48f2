"""Who is asked for the expected values, and how they must agree.

Four independent sources: exact integer arithmetic, a float64 direct sum, TensorFlow's CPU kernel in
float64, and TensorFlow through XLA where its CPU kernel refuses (NCDHW, dilation) or errs. A case
that fewer than two of them answer, or on which two differ, is refused.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opspec.conformance.generate.built import (
    SIZES,
    Array,
    DisagreementError,
    arrays_of,
    is_finite,
)
from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.conformance.oracle_siblings import DIRECT, EXACT

LEAST = 2


def consult(
    operation: str,
    problem: Mapping[str, Any],
    expected: Array,
    magnitude: Array | None,
    tensorflow: TensorFlowChild | None,
) -> list[str]:
    """Ask every oracle that can answer.

    Parameters
    ----------
    operation
        A raw operation.
    problem
        Its arguments.
    expected
        What they must agree on, in float64.
    magnitude
        Sums of absolute values when they may differ by rounding; None when the bits must match.
    tensorflow
        A running TensorFlow, or None to do without.

    Returns
    -------
    list
        The names of the oracles that agreed.

    Raises
    ------
    DisagreementError
        If one differs.
    """
    agreed = []
    whole = magnitude is None
    for name, answer in _answers(operation, problem, whole=whole, tensorflow=tensorflow):
        _require_agreement(name, answer, expected, magnitude)
        agreed.append(name)
    return agreed


def _answers(
    operation: str,
    problem: Mapping[str, Any],
    *,
    whole: bool,
    tensorflow: TensorFlowChild | None,
) -> list[tuple[str, Array]]:
    answers = [("direct_sum", DIRECT[operation](**problem)[0])]
    if whole and is_finite(problem):
        answers.append(("exact_sum", EXACT[operation](**problem).astype(np.float64)))
    if tensorflow is not None and _tensorflow_takes(operation, problem):
        answers.append(_ask_tensorflow(operation, problem, tensorflow))
    return answers


def _tensorflow_takes(operation: str, problem: Mapping[str, Any]) -> bool:
    """Whether TensorFlow has an answer at all (docs/semantics.md §3.3, §6)."""
    if operation == "Conv3DBackpropInputV2":
        # It dies on a sum over zero channels.
        return bool(problem["filter"].shape[4] > 0)
    kernel = problem["filter"].shape if operation == "Conv3D" else problem["filter_sizes"]
    if kernel[4] == 0:
        return False
    # It refuses a window that does not fit, where there is no window.
    return problem["padding"] == "SAME" or all(
        size >= spanned for size, spanned, _ in _spans(problem, kernel)
    )


def _spans(problem: Mapping[str, Any], kernel: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return, per spatial dimension, input size, span of the filter, and stride."""
    axes = (1, 2, 3) if problem["data_format"] == "NDHWC" else (2, 3, 4)
    return [
        (
            problem["input"].shape[axis],
            (kernel[dimension] - 1) * problem["dilations"][axis] + 1,
            problem["strides"][axis],
        )
        for dimension, axis in enumerate(axes)
    ]


def _ask_tensorflow(
    operation: str, problem: Mapping[str, Any], tensorflow: TensorFlowChild
) -> tuple[str, Array]:
    xla = problem["data_format"] == "NCDHW" or max(problem["dilations"]) > 1
    if operation == "Conv3DBackpropInputV2":
        # TensorFlow's CPU kernel multiplies the filter with zeros that it pads in, so a NaN in the
        # filter leaks to where no tap lands; XLA's does not.
        xla = xla or not bool(np.isfinite(problem["filter"].astype(np.float64)).all())
    if operation == "Conv3DBackpropFilterV2":
        # So does this one with zeros that it puts between the positions of out_backprop.
        xla = xla or not is_finite(problem)
    if operation == "Conv3D" and problem["padding"] == "SAME":
        # Its CPU kernel takes a padding below zero where strides are well above the filter.
        xla = xla or any(
            (-(-size // stride) - 1) * stride + spanned < size
            for size, spanned, stride in _spans(problem, problem["filter"].shape)
        )
    wide = {name: array.astype(np.float64) for name, array in arrays_of(problem).items()}
    sizes = {name: np.array(problem[name], np.int32) for name in SIZES if name in problem}
    outcome = tensorflow.call(operation, {**problem, **wide, **sizes}, xla=xla)
    if outcome.value is None:
        raise DisagreementError(f"TensorFlow answers {outcome.status}: {outcome.error}")
    return ("tensorflow-xla-float64" if xla else "tensorflow-float64"), outcome.value


def _require_agreement(name: str, answer: Array, expected: Array, magnitude: Array | None) -> None:
    if answer.shape != expected.shape:
        raise DisagreementError(f"{name}: shape {answer.shape}, expected {expected.shape}")
    if magnitude is None:
        same = (answer == expected) | (np.isnan(answer) & np.isnan(expected))
    else:
        same = np.abs(answer - expected) <= 8 * 2.0**-53 * magnitude
    if not same.all():
        raise DisagreementError(f"{name}: {int((~same).sum())} of {same.size} elements differ")
