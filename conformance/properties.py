"""The property lane: laws of the operation that must hold on random problems.

Hypothesis draws the problems, always the same ones, and makes a counter-example small. The verdict
names what differed first in it, and a script shows it without this package.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from opspec import ops
from opspec.conformance import property_calls as calls
from opspec.conformance import property_laws as laws
from opspec.conformance import sibling_laws as siblings
from opspec.conformance.case import FOLDERS
from opspec.conformance.problems import Values
from opspec.conformance.property_search import Refutation, searched
from opspec.conformance.property_trial import Trial
from opspec.conformance.report import CaseResult, Verdict
from opspec.conformance.tolerance import MismatchError
from opspec.dtypes import FLOATING
from opspec.explanation import explain
from opspec.geometry import DATA_FORMATS
from opspec.registry import Backend, Capabilities, Demand, UnsupportedByBackend

RAW, TRANSPOSE = "Conv3DBackpropInputV2", "conv3d_transpose"
FORWARD, FILTER = "Conv3D", "Conv3DBackpropFilterV2"


@dataclass(frozen=True, slots=True)
class Property:
    """A law that every right backend keeps.

    Parameters
    ----------
    name
        Unique.
    operation
        The operation that it is about.
    shows
        What it is there to show.
    holds
        Raises if it does not hold for a trial's problem.
    values
        What kind of operands it needs.
    across_layouts
        Whether it compares data formats.
    empties
        Whether it says anything about problems without elements.
    beside
        Other operations that it compares with.
    since
        The version of the suite that brought it.
    """

    name: str
    operation: str
    shows: str
    holds: Callable[[Trial], None]
    values: Values = "whole"
    across_layouts: bool = False
    empties: bool = True
    beside: tuple[str, ...] = ()
    since: int = 1

    @property
    def data_formats(self) -> tuple[str, ...]:
        """The data formats of its problems."""
        return DATA_FORMATS[:1] if self.across_layouts else DATA_FORMATS

    def refusal(self, declared: Capabilities) -> str | None:
        """Say in words why a backend need not keep it, or None."""
        for kernel in (ops.get(self.operation).kernel, *self.beside):
            if kernel not in declared.operations:
                return f"it does not declare the operation {kernel}"
        if not set(declared.dtypes) & set(FLOATING):
            return f"it declares none of the dtypes {', '.join(FLOATING)}"
        missing = [name for name in DATA_FORMATS if name not in declared.data_formats]
        if missing and (self.across_layouts or len(missing) == len(DATA_FORMATS)):
            return f"it does not declare data_format {' or '.join(missing)}"
        return None


ALL: tuple[Property, ...] = (
    Property(
        "definition",
        RAW,
        "the result is the definition's, in exact integers",
        laws.equals_the_definition,
    ),
    Property(
        "bounded",
        RAW,
        "normally distributed numbers stay within the bound of rounding",
        laws.stays_within_the_bound,
        values="normal",
    ),
    Property(
        "linear-in-filter", RAW, "f(a x + b y) = a f(x) + b f(y) in filter", laws.linear_in_filter
    ),
    Property(
        "linear-in-out_backprop",
        RAW,
        "f(a x + b y) = a f(x) + b f(y) in out_backprop",
        laws.linear_in_out_backprop,
    ),
    Property("adjoint", RAW, "it is the adjoint of the forward convolution", laws.adjoint),
    Property(
        "spatial-shift",
        RAW,
        "out_backprop moved by one position moves the result by the stride",
        laws.shifts_with_out_backprop,
        empties=False,
    ),
    Property(
        "channel-permutation",
        RAW,
        "made channels permute with the filter, contracted ones in any order give the same",
        laws.channels_permute,
    ),
    Property(
        "batch-independence",
        RAW,
        "each batch entry alone is what it is in the whole",
        laws.batch_entries_are_independent,
    ),
    Property(
        "layouts-agree",
        RAW,
        "NDHWC and NCDHW give transposes of each other",
        laws.layouts_agree,
        across_layouts=True,
    ),
    Property(
        "powers-of-two",
        RAW,
        "an operand times a power of two scales the result exactly",
        laws.powers_of_two_scale,
    ),
    Property(
        "spellings-agree",
        TRANSPOSE,
        "every legal spelling of the arguments gives the same bits",
        calls.spellings_agree,
    ),
    Property(
        "operations-agree",
        TRANSPOSE,
        "conv3d_transpose and Conv3DBackpropInputV2 give the same bits",
        calls.operations_agree,
    ),
    Property(
        "definition",
        FORWARD,
        "the result is the definition's, in exact integers",
        siblings.forward_equals_the_definition,
    ),
    Property(
        "bounded",
        FORWARD,
        "normally distributed numbers stay within the bound of rounding",
        siblings.forward_stays_within_the_bound,
        values="normal",
    ),
    Property(
        "adjoint",
        FORWARD,
        "it is the adjoint of the backend's own gradient by the input",
        siblings.forward_is_adjoint,
        beside=(RAW,),
    ),
    Property(
        "definition",
        FILTER,
        "the result is the definition's, in exact integers",
        siblings.filter_gradient_equals_the_definition,
    ),
    Property(
        "bounded",
        FILTER,
        "normally distributed numbers stay within the bound of rounding",
        siblings.filter_gradient_stays_within_the_bound,
        values="normal",
    ),
    Property(
        "adjoint",
        FILTER,
        "it is the adjoint of the backend's own convolution, as a function of the filter",
        siblings.filter_gradient_is_adjoint,
        beside=(FORWARD,),
    ),
    Property(
        "entries-add-up",
        FILTER,
        "the gradient of a batch is the sum of its entries' gradients",
        siblings.filter_gradients_of_entries_add_up,
    ),
)


def identity(property: Property) -> str:
    """Return the property's id: folder, lane and name."""
    return f"{FOLDERS[property.operation]}/property/{property.name}"


def judge_property(
    property: Property, backend: Backend, examples: int, *, name: str | None = None
) -> CaseResult:
    """Look for a counter-example among random problems.

    Parameters
    ----------
    property
        The law.
    backend
        Who should keep it.
    examples
        How many problems are tried.
    name
        How a script finds the backend; by default its own name.
    """
    start = time.perf_counter()
    refusal = property.refusal(backend.capabilities)
    verdict = Verdict.UNSUPPORTED if refusal else Verdict.PASS
    found = None
    demand = None
    if refusal is None:
        last, found = searched(property, backend, examples)
        demand = _demand(found.trial if found else last)
        if found is not None:
            verdict = _verdict(found)
    return CaseResult(
        case=identity(property),
        lane="property",
        operation=property.operation,
        verdict=verdict,
        reason=refusal or (_reason(found, property) if found else ""),
        seconds=time.perf_counter() - start,
        demand=demand,
        features=tuple(_features(found, demand)) if found and demand else (),
        place=getattr(found.error, "place", None) if found else None,
        script=found.script(name or backend.name, property.values) if found else None,
        fingerprint=_fingerprint(found) if found else None,
    )


def _verdict(found: Refutation) -> Verdict:
    if isinstance(found.error, (NotImplementedError, UnsupportedByBackend)):
        return Verdict.UNDECLARED_UNSUPPORTED
    return Verdict.FAIL


def _reason(found: Refutation, property: Property) -> str:
    error = found.error
    said = str(error) if isinstance(error, MismatchError) else f"{type(error).__name__}: {error}"
    if _verdict(found) == Verdict.UNDECLARED_UNSUPPORTED:
        return f"declared, but {said}"
    sometimes = "" if found.always else " (the same problem did not fail each time)"
    return f"{property.name} does not hold: {said}{sometimes}"


def _fingerprint(found: Refutation) -> str:
    if isinstance(found.error, MismatchError):
        return found.error.fingerprint
    return f"{type(found.error).__name__}: {found.error}"


def _features(found: Refutation, demand: Demand) -> list[str]:
    traits = {"dilated": demand.dilated, "empty": demand.empty}
    there = [name for name, present in traits.items() if present]
    return [demand.data_format, found.trial.problem.padding, *there]


def _demand(trial: Trial) -> Demand:
    made = trial.calls[0]
    return explain(made.operation, **made.arguments, backend="numpy").demand
