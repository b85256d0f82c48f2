"""The run that says whether a backend does what it declares.

Every case ends in a verdict, and a run is good only if it did all that the backend declares: one
that executes nothing, or leaves out something declared, is not.
"""

import copy
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from opspec import ops
from opspec.conformance.case import Case, Golden, all_golden
from opspec.conformance.report import CaseResult, Report, Verdict
from opspec.conformance.tolerance import (
    MismatchError,
    require_bounded,
    require_exact,
    require_same_form,
)
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.errors import OpError
from opspec.explanation import explain, public_function
from opspec.geometry import DATA_FORMATS
from opspec.registry import (
    Backend,
    Capabilities,
    Demand,
    UnsupportedByBackend,
    discovery,
)
from opspec.registry.backend import NUMPY_ARRAY
from opspec.rule import TensorSpec


def check(
    backend: str | Backend,
    *,
    pattern: str | None = None,
    strict: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Run the golden cases on one backend.

    Parameters
    ----------
    backend
        A name, a ``module:attribute``, or a `Backend`.
    pattern
        Run only the cases whose id contains this text.
    strict
        Whether working without declaring it counts as a failure.
    progress
        Called after each case with how many are done and how many there are.

    Returns
    -------
    Report
        ``report.ok`` says whether all that is declared was executed and passed.

    Raises
    ------
    BackendUnavailable
        If `backend` names none.
    """
    found = discovery.find(backend) if isinstance(backend, str) else backend
    name = backend if isinstance(backend, str) else found.name
    if reason := found.unavailable_reason():
        return Report(name, (), unavailable=f"cannot run here: {reason}")
    chosen = [
        (golden, case)
        for golden in all_golden()
        for case in golden.file.cases
        if pattern is None or pattern in golden.identity(case)
    ]
    results = []
    for done, (golden, case) in enumerate(chosen, 1):
        results.append(judge(golden, case, found))
        if progress is not None:
            progress(done, len(chosen))
    return Report(
        backend=name,
        results=tuple(results),
        uncovered=tuple(_uncovered(found.capabilities, results)),
        partial=pattern is not None,
        strict=strict,
    )


def judge(golden: Golden, case: Case, backend: Backend) -> CaseResult:
    """Run one case on one backend."""
    start = time.perf_counter()
    demand: Demand | None = None
    try:
        if case.expected.rule is not None:
            verdict, reason = _judge_rejection(golden, case, backend)
        elif case.through == "attributes":
            verdict, reason = _judge_attributes(golden, case)
        elif case.through == "infer":
            verdict, reason = _judge_inference(golden, case)
        else:
            demand = explain(
                golden.file.operation, **golden.arguments(case), backend=backend
            ).demand
            verdict, reason = _judge_value(golden, case, backend, demand)
    # Whatever a backend raises is this case's verdict and must not stop the others.
    except Exception as error:
        verdict, reason = Verdict.FAIL, f"{type(error).__name__}: {error}"
    return CaseResult(
        case=golden.identity(case),
        lane=golden.file.lane,
        operation=golden.file.operation,
        verdict=verdict,
        reason=reason,
        seconds=time.perf_counter() - start,
        demand=demand,
    )


def _judge_rejection(golden: Golden, case: Case, backend: Backend) -> tuple[Verdict, str]:
    definition = ops.get(golden.file.operation)
    arguments = golden.arguments(case)
    try:
        if case.through == "attributes":
            definition.Attributes(**arguments)
        else:
            public_function(definition)(**arguments, backend=backend)
    except OpError as error:
        if error.rule == case.expected.rule:
            return Verdict.PASS, ""
        return Verdict.FAIL, f"refused by {error.rule}, not by {case.expected.rule}"
    return Verdict.FAIL, f"accepted, though it breaks {case.expected.rule}"


def _judge_attributes(golden: Golden, case: Case) -> tuple[Verdict, str]:
    model = ops.get(golden.file.operation).Attributes
    attributes = model(**golden.arguments(case))
    if model.model_validate_json(attributes.model_dump_json()) != attributes:
        return Verdict.FAIL, "the attributes do not survive JSON"
    return Verdict.PASS, ""


def _judge_inference(golden: Golden, case: Case) -> tuple[Verdict, str]:
    definition, given = ops.get(golden.file.operation), golden.arguments(case)
    fields = definition.Attributes.model_fields
    attributes = definition.Attributes(**{name: given[name] for name in fields if name in given})
    operands = {operand.name: given[operand.name] for operand in definition.operands}
    for name in definition.kernel_operands:
        operands[name] = TensorSpec(operands[name].dtype.name, operands[name].shape)
    inferred = definition.infer(attributes, **operands).shape
    if list(inferred) != case.expected.shape:
        return Verdict.FAIL, f"the shape {inferred} was inferred, not {case.expected.shape}"
    return Verdict.PASS, ""


def _judge_value(
    golden: Golden, case: Case, backend: Backend, demand: Demand
) -> tuple[Verdict, str]:
    refusal = backend.capabilities.refusal(demand)
    if refusal is not None:
        return _judge_undeclared(golden, case, backend, demand, refusal)
    try:
        _require_right(golden, case, backend, demand)
    except (NotImplementedError, UnsupportedByBackend) as error:
        return Verdict.UNDECLARED_UNSUPPORTED, f"declared, but {type(error).__name__}: {error}"
    except MismatchError as error:
        return Verdict.FAIL, str(error)
    return Verdict.PASS, ""


def _judge_undeclared(
    golden: Golden, case: Case, backend: Backend, demand: Demand, refusal: str
) -> tuple[Verdict, str]:
    """See whether a case that is not declared works all the same."""
    unbounded = copy.copy(backend)
    unbounded.capabilities = Capabilities(
        operations=(demand.operation,), dtypes=FLOATING, data_formats=DATA_FORMATS
    )
    try:
        _require_right(golden, case, unbounded, demand)
    # Anything may happen where nothing was promised.
    except Exception:
        return Verdict.UNSUPPORTED, refusal
    return Verdict.WORKS_BUT_UNDECLARED, f"it works, but {refusal}"


def _require_right(golden: Golden, case: Case, backend: Backend, demand: Demand) -> None:
    """Raise unless the result is right and the operands are as they were."""
    expected = golden.expected(case)
    _require_right_once(golden, case, backend, demand, None)
    if backend.takes_out(demand.operation) and demand.arrays == backend.arrays == NUMPY_ARRAY:
        # A kernel that adds to what it finds, or leaves something out, shows it.
        garbage = np.full(expected.shape, np.nan, numpy_dtype(demand.dtype))
        try:
            _require_right_once(golden, case, backend, demand, garbage)
        except MismatchError as error:
            raise MismatchError(f"with out=: {error}") from None


def _require_right_once(
    golden: Golden, case: Case, backend: Backend, demand: Demand, out: Any
) -> None:
    function = public_function(ops.get(golden.file.operation))
    arguments, untouched = golden.arguments(case), golden.arguments(case)
    # Infinities and NaN are among the cases; a backend need not silence NumPy about them.
    with np.errstate(all="ignore"):
        result = function(**arguments, backend=backend, out=out)
    expected = golden.expected(case)
    require_same_form(result, demand.dtype, expected.shape)
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            _require_untouched(name, value, untouched[name], result)
    if case.expected.magnitude is None:
        require_exact(result, expected, demand.data_format)
    else:
        magnitude = golden.tensors[case.expected.magnitude]
        require_bounded(result, expected, magnitude, demand.data_format)


def _require_untouched(
    name: str, value: np.ndarray[Any, Any], before: np.ndarray[Any, Any], result: Any
) -> None:
    if value.tobytes() != before.tobytes():
        raise MismatchError(f"the kernel wrote into {name}")
    if np.shares_memory(value, result):
        raise MismatchError(f"the result shares memory with {name}")


def _uncovered(declared: Capabilities, results: list[CaseResult]) -> Iterator[str]:
    """Yield what is declared and no executed case needed."""
    ran = [r.demand for r in results if r.demand and r.verdict in (Verdict.PASS, Verdict.FAIL)]
    combinations = {(need.operation, need.dtype, need.data_format) for need in ran}
    for wanted in product(declared.operations, declared.dtypes, declared.data_formats):
        if wanted not in combinations:
            yield " ".join(wanted)
    if not (declared.operations and declared.dtypes and declared.data_formats):
        yield "anything at all (no operation, dtype or data format is declared)"
    if declared.dilation and not any(need.dilated for need in ran):
        yield "dilation"
    if declared.empties and not any(need.empty for need in ran):
        yield "empty tensors"
