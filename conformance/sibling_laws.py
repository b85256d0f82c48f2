"""What holds for Conv3D and the gradient by the filter, and for the three operations together.

The problems are those of Conv3DBackpropInputV2; the input that both read is drawn beside them.
"""

import numpy as np

from opspec.conformance.axes import places_axes
from opspec.conformance.oracle_siblings import DIRECT, EXACT
from opspec.conformance.problems import Array
from opspec.conformance.property_trial import Trial, require_near, require_rounded
from opspec.conformance.tolerance import MismatchError
from opspec.dtypes import size_of

REACH = 9


def forward_equals_the_definition(trial: Trial) -> None:
    """Compare Conv3D with the definition in exact integers, rounded once."""
    given = _whole_input(trial)
    sums = EXACT["Conv3D"](**trial.problem.forward_arguments(given))
    words = "the result is not the definition's"
    require_rounded(trial.forward(given), sums, trial.problem.data_format, words)


def filter_gradient_equals_the_definition(trial: Trial) -> None:
    """Compare the gradient by the filter with the definition in exact integers, rounded once."""
    given = _whole_input(trial)
    sums = EXACT["Conv3DBackpropFilterV2"](**trial.problem.filter_arguments(given))
    words = "the result is not the definition's"
    require_rounded(trial.filter_gradient(given), sums, places_axes("filter", ""), words)


def forward_stays_within_the_bound(trial: Trial) -> None:
    """Compare Conv3D of normally distributed numbers with the definition in float64."""
    given = _normal_input(trial)
    right = DIRECT["Conv3D"](**trial.problem.forward_arguments(given))
    require_near(trial.forward(given), *right, trial.problem.data_format)


def filter_gradient_stays_within_the_bound(trial: Trial) -> None:
    """Compare the gradient of normally distributed numbers with the definition in float64."""
    given = _normal_input(trial)
    right = DIRECT["Conv3DBackpropFilterV2"](**trial.problem.filter_arguments(given))
    require_near(trial.filter_gradient(given), *right, places_axes("filter", ""))


def forward_is_adjoint(trial: Trial) -> None:
    """<Conv3D(x), y> = <x, the gradient by the input for y>, both by the backend."""
    if _rounds(trial):
        forward_equals_the_definition(trial)
        return
    given = _whole_input(trial)
    there = _inner(trial.forward(given), trial.problem.out_backprop)
    back = _inner(given, trial.compute())
    _require_equal_products("Conv3D(x), y", there, "x, BackpropInput(y)", back)


def filter_gradient_is_adjoint(trial: Trial) -> None:
    """<w, the gradient by the filter> = <Conv3D(x, w), y>, both by the backend."""
    if _rounds(trial):
        filter_gradient_equals_the_definition(trial)
        return
    given = _whole_input(trial)
    there = _inner(trial.problem.filter, trial.filter_gradient(given))
    back = _inner(trial.forward(given), trial.problem.out_backprop)
    _require_equal_products("w, BackpropFilter(x, y)", there, "Conv3D(x, w), y", back)


def filter_gradients_of_entries_add_up(trial: Trial) -> None:
    """The gradient of a batch is the sum of its entries' gradients."""
    if _rounds(trial):
        filter_gradient_equals_the_definition(trial)
        return
    given, data = _whole_input(trial), trial.problem.out_backprop
    whole = trial.filter_gradient(given)
    parts = np.zeros(whole.shape)
    for entry in range(len(given)):
        one = slice(entry, entry + 1)
        parts += trial.filter_gradient(given[one], out_backprop=data[one])
    words = "the gradients of the batch entries do not add up to that of the whole"
    require_rounded(whole, parts, places_axes("filter", ""), words)


def _rounds(trial: Trial) -> bool:
    """Whether results are rounded, so that only the definition can be compared with."""
    return size_of(trial.problem.dtype) == 2


def _whole_input(trial: Trial) -> Array:
    shape = trial.problem.input_sizes
    made: Array = trial.generator.integers(-REACH, REACH + 1, shape)
    return made.astype(trial.problem.filter.dtype)


def _normal_input(trial: Trial) -> Array:
    made = trial.generator.standard_normal(trial.problem.input_sizes)
    return made.astype(trial.problem.filter.dtype)


def _inner(one: Array, other: Array) -> float:
    return float(np.vdot(one.astype(np.float64), other.astype(np.float64)))


def _require_equal_products(one: str, there: float, other: str, back: float) -> None:
    if there != back:
        raise MismatchError(f"<{one}> is {there:g}, but <{other}> is {back:g}")
