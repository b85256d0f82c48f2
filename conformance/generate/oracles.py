"""Who is asked for the expected values, and how they must agree.

Four independent sources: exact integer arithmetic (scatter), a float64 direct sum (gather),
TensorFlow's CPU kernel in float64, and TensorFlow through XLA where its CPU kernel refuses (NCDHW,
dilation). A case that fewer than two of them answer, or on which two differ, is refused.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.conformance.oracle import direct_sum, exact_sum

Array = np.ndarray[Any, Any]

LEAST = 2


class DisagreementError(AssertionError):
    """Oracles differ, or too few of them answered."""


def consult(
    problem: Mapping[str, Any],
    expected: Array,
    magnitude: Array | None,
    tensorflow: TensorFlowChild | None,
) -> list[str]:
    """Ask every oracle that can answer.

    Parameters
    ----------
    problem
        The canonical arguments of Conv3DBackpropInputV2.
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
    for name, answer in _answers(problem, whole=magnitude is None, tensorflow=tensorflow):
        _require_agreement(name, answer, expected, magnitude)
        agreed.append(name)
    return agreed


def _answers(
    problem: Mapping[str, Any], *, whole: bool, tensorflow: TensorFlowChild | None
) -> list[tuple[str, Array]]:
    answers = [("direct_sum", direct_sum(**problem)[0])]
    operands = (problem["filter"], problem["out_backprop"])
    if whole and all(np.isfinite(operand.astype(np.float64)).all() for operand in operands):
        answers.append(("exact_sum", exact_sum(**problem).astype(np.float64)))
    # TensorFlow dies on a sum over zero channels (docs/semantics.md §3.3).
    if tensorflow is not None and problem["filter"].shape[4] > 0:
        answers.append(_ask_tensorflow(problem, tensorflow))
    return answers


def _ask_tensorflow(problem: Mapping[str, Any], tensorflow: TensorFlowChild) -> tuple[str, Array]:
    # TensorFlow's CPU kernel has no NCDHW and no dilation, and it multiplies the filter with zeros
    # that it pads in, so a NaN in the filter leaks to where no tap lands; XLA does neither.
    finite = bool(np.isfinite(problem["filter"].astype(np.float64)).all())
    xla = problem["data_format"] == "NCDHW" or max(problem["dilations"]) > 1 or not finite
    wide = {name: problem[name].astype(np.float64) for name in ("filter", "out_backprop")}
    sizes = np.array(problem["input_sizes"], np.int32)
    outcome = tensorflow.call(
        "Conv3DBackpropInputV2", {**problem, **wide, "input_sizes": sizes}, xla=xla
    )
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
