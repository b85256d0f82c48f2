"""From a golden case to its verdict."""

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opspec import ops
from opspec.conformance.call import Call
from opspec.conformance.case import Case, Golden
from opspec.conformance.example import Example, example_of
from opspec.conformance.forms import given_out
from opspec.conformance.report import CaseResult, Place, Verdict
from opspec.conformance.tolerance import MismatchError
from opspec.dtypes import FLOATING
from opspec.errors import OpError
from opspec.explanation import explain, public_function
from opspec.geometry import DATA_FORMATS
from opspec.registry import Backend, Capabilities, Demand, UnsupportedByBackend
from opspec.registry.backend import NUMPY_ARRAY
from opspec.rule import TensorSpec


class _Judged(Exception):
    """A verdict that is not a pass, with its reason."""

    def __init__(
        self,
        verdict: Verdict,
        reason: str,
        place: Place | None = None,
        fingerprint: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.verdict, self.reason, self.place = verdict, reason, place
        self.fingerprint = fingerprint or reason


def judge(golden: Golden, case: Case, backend: Backend) -> CaseResult:
    """Run one golden case on one backend."""
    if case.expected.rule is not None:
        return _concluded(golden, case, golden.file.lane, lambda: _refused(golden, case, backend))
    if case.through == "attributes":
        return _concluded(golden, case, golden.file.lane, lambda: _modelled(golden, case))
    if case.through == "infer":
        return _concluded(golden, case, golden.file.lane, lambda: _inferred(golden, case))
    return _judge_call(golden, case, example_of(golden, case), backend, require_right)


def judge_form(
    golden: Golden,
    case: Case,
    example: Example,
    backend: Backend,
    require: Callable[[Call], None],
    form: str,
) -> CaseResult:
    """Run what a golden case is in some form on one backend."""
    return _judge_call(golden, case, example, backend, require, form)


def form_identity(golden: Golden, case: Case, form: str) -> str:
    """Return the id of a case in a form."""
    return f"{golden.folder}/form/{form}/{golden.file.lane}/{case.name}"


def demand_of(example: Example) -> Demand:
    """Return what an example needs of a backend, whichever it is."""
    return explain(example.operation, **example.arguments(), backend="numpy").demand


def _judge_call(
    golden: Golden,
    case: Case,
    example: Example,
    backend: Backend,
    require: Callable[[Call], None],
    form: str | None = None,
) -> CaseResult:
    demand = demand_of(example)
    refusal = backend.capabilities.refusal(demand)

    def run() -> None:
        if refusal is not None:
            _undeclared(example, backend, demand, refusal, require)
        require(Call(example, backend, demand))

    return _concluded(golden, case, "form" if form else golden.file.lane, run, demand, form)


def _concluded(
    golden: Golden,
    case: Case,
    lane: str,
    run: Callable[[], None],
    demand: Demand | None = None,
    form: str | None = None,
) -> CaseResult:
    """Run, and turn whatever comes of it into a verdict."""
    start = time.perf_counter()
    outcome = _Judged(Verdict.PASS, "")
    try:
        # Infinities and NaN are among the cases, and among the wrong results.
        with np.errstate(all="ignore"):
            run()
    except _Judged as judged:
        outcome = judged
    except MismatchError as error:
        outcome = _Judged(Verdict.FAIL, str(error), error.place, error.fingerprint)
    except (NotImplementedError, UnsupportedByBackend) as error:
        reason = f"declared, but {type(error).__name__}: {error}"
        outcome = _Judged(Verdict.UNDECLARED_UNSUPPORTED, reason)
    # Whatever a backend raises is this case's verdict and must not stop the others.
    except (Exception, SystemExit) as error:
        outcome = _Judged(Verdict.FAIL, f"{type(error).__name__}: {error}")
    return CaseResult(
        case=form_identity(golden, case, form) if form else golden.identity(case),
        lane=lane,
        operation=golden.file.operation,
        verdict=outcome.verdict,
        reason=outcome.reason,
        seconds=time.perf_counter() - start,
        demand=demand,
        features=tuple(_features(case, demand, form)),
        place=outcome.place,
        fingerprint=None if outcome.verdict == Verdict.PASS else outcome.fingerprint,
    )


def _features(case: Case, demand: Demand | None, form: str | None) -> Iterator[str]:
    if demand is None:
        return
    yield demand.data_format
    padding = case.arguments.get("padding")
    yield str(padding.value) if padding else "SAME"
    if demand.dilated:
        yield "dilated"
    if demand.empty:
        yield "empty"
    if form is not None:
        yield form


def _refused(golden: Golden, case: Case, backend: Backend) -> None:
    definition = ops.get(golden.file.operation)
    arguments = golden.arguments(case)
    try:
        if case.through == "attributes":
            definition.Attributes(**arguments)
        else:
            public_function(definition)(**arguments, backend=backend)
    except OpError as error:
        if error.rule != case.expected.rule:
            reason = f"refused by {error.rule}, not by {case.expected.rule}"
            raise _Judged(Verdict.FAIL, reason) from error
        return
    raise _Judged(Verdict.FAIL, f"accepted, though it breaks {case.expected.rule}")


def _modelled(golden: Golden, case: Case) -> None:
    model = ops.get(golden.file.operation).Attributes
    attributes = model(**golden.arguments(case))
    if model.model_validate_json(attributes.model_dump_json()) != attributes:
        raise _Judged(Verdict.FAIL, "the attributes do not survive JSON")


def _inferred(golden: Golden, case: Case) -> None:
    definition, given = ops.get(golden.file.operation), golden.arguments(case)
    fields = definition.Attributes.model_fields
    attributes = definition.Attributes(**{name: given[name] for name in fields if name in given})
    operands: dict[str, Any] = {
        operand.name: given[operand.name] for operand in definition.operands
    }
    for name in definition.kernel_operands:
        operands[name] = TensorSpec(operands[name].dtype.name, operands[name].shape)
    inferred = definition.infer(attributes, **operands).shape
    if list(inferred) != case.expected.shape:
        reason = f"the shape {inferred} was inferred, not {case.expected.shape}"
        raise _Judged(Verdict.FAIL, reason)


def require_right(call: Call) -> None:
    """Raise unless the result is right, also when it is written into an array full of NaN."""
    call.require_right(call.run(call.arguments()))
    takes_out = call.backend.takes_out(call.demand.operation)
    if takes_out and call.demand.arrays == call.backend.arrays == NUMPY_ARRAY:
        # A kernel that adds to what it finds, or leaves something out, shows it.
        try:
            given_out(call)
        except MismatchError as error:
            raise error.preceded("with out=") from None


def _undeclared(
    example: Example,
    backend: Backend,
    demand: Demand,
    refusal: str,
    require: Callable[[Call], None],
) -> None:
    """See whether what is not declared works all the same; raise the verdict."""
    unbounded = copy.copy(backend)
    unbounded.capabilities = Capabilities(
        operations=(demand.operation,), dtypes=FLOATING, data_formats=DATA_FORMATS
    )
    try:
        require(Call(example, unbounded, demand))
    # Anything may happen where nothing was promised.
    except Exception as error:
        raise _Judged(Verdict.UNSUPPORTED, refusal) from error
    raise _Judged(Verdict.WORKS_BUT_UNDECLARED, f"it works, but {refusal}")
