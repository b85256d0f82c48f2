"""The decisions of docs/semantics.md that part opspec from TensorFlow, each as a narrow predicate.

A predicate looks at the very thing that its decision is about. None of them is asked about a call
for which opspec's own value is wrong: nothing excuses that.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from opspec.conformance.agreement_judge import Comparison
from opspec.conformance.agreement_siblings import (
    dilations_change_axes,
    gradient_of_nothing,
    no_channels_are_made,
    nothing_is_looked_at,
    padding_is_negative,
)
from opspec.conformance.agreement_sides import (
    argument_at_fault,
    as_floats,
    axes_without_positions,
    dtype_of,
    is_inexact,
    operands_of,
    shape_of,
    sizes_asked,
)
from opspec.dtypes import FLOATING

STEPS = ("strides", "dilations")


@dataclass(frozen=True)
class Decision:
    """A numbered decision and what it explains.

    Parameters
    ----------
    section
        Of docs/semantics.md.
    title
        The decision, and what TensorFlow does instead.
    explains
        Whether a difference is due to it.
    """

    section: str
    title: str
    explains: Callable[[Comparison], bool]


def explanation(comparison: Comparison) -> Decision | None:
    """Return the decision that explains a difference; None if none does."""
    if comparison.our_deviation:
        return None
    return next((one for one in DECISIONS if one.explains(comparison)), None)


def _windows_are_none(c: Comparison) -> bool:
    """Tell whether VALID leaves an axis no positions, its size below what the filter spans."""
    if c.call.arguments.get("padding") != "VALID":
        return False
    if c.ours.value is None:
        # Refused for its dtypes; TensorFlow, which would convert one, died of it before.
        died = c.theirs.status == "crash" and _is_about_dtypes(c)
        return died and bool(axes_without_positions(c))
    if c.theirs.value is not None:
        return any(c.ours.value.shape[axis] > 0 for axis in _resized_axes(c))
    refused = c.theirs.status == "error" and any(
        text in c.theirs.error for text in ("would be negative", "Negative dimension", "Window")
    )
    return bool(axes_without_positions(c)) and (c.theirs.status == "crash" or refused)


def _nothing_stays_nothing(c: Comparison) -> bool:
    """Tell whether XLA lengthens a result of size 0 to what the filter spans."""
    if c.ours.value is None or c.xla is None:
        return False
    resized = _resized_axes(c)
    return bool(resized) and all(c.ours.value.shape[axis] == 0 for axis in resized)


def _nan_leaks(c: Comparison) -> bool:
    """Tell whether TensorFlow is right wherever it does not say NaN, Inf or NaN being given."""
    operands = map(as_floats, operands_of(c))
    if c.theirs.value is None or not c.their_deviation:
        return False
    if c.theirs.value.shape != c.reference.sums.shape or all(
        np.isfinite(array).all() for array in operands
    ):
        return False
    spoilt = np.isnan(c.theirs.value.astype(np.float64))
    with np.errstate(all="ignore"):
        mended = np.where(spoilt, c.reference.sums, c.theirs.value.astype(np.float64))
        return not c.reference.deviation(mended.astype(c.theirs.value.dtype))


def _subnormals_are_flushed(c: Comparison) -> bool:
    """Tell whether TensorFlow is off by no more than the numbers that its threads flush to 0."""
    if c.theirs.value is None or not c.their_deviation:
        return False
    if c.theirs.value.shape != c.reference.sums.shape:
        return False
    summed_in = np.float64 if c.theirs.value.dtype == np.float64 else np.float32
    theirs = c.theirs.value.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(theirs - c.reference.sums) <= 8 * float(np.finfo(summed_in).tiny)
        mended = np.where(near, c.reference.sums, theirs)
        return not c.reference.deviation(mended.astype(c.theirs.value.dtype))


def _filter_is_grouped(c: Comparison) -> bool:
    accepted = c.xla is not None and c.xla.status == "value"
    return accepted and c.ours.rule.endswith(("filter.is_not_grouped", "filters.is_not_grouped"))


def _no_channels_asked(c: Comparison) -> bool:
    """Tell whether XLA dies of sizes that ask for no channels where the filter makes some."""
    asked = c.ours.rule.endswith((".channels_equal_filter", ".channels_equal_filters"))
    return asked and c.theirs.status == "crash" and 0 in sizes_asked(c)


def _nothing_is_contracted(c: Comparison) -> bool:
    """Tell whether TensorFlow dies of a sum over no channels or returns what was in memory."""
    shape = shape_of(c, "filter")
    if len(shape) != 5 or shape[4] != 0:
        return False
    if c.ours.value is None:
        # Refused for what has nothing to do with operands; TensorFlow died before it could say.
        elsewhere = argument_at_fault(c) in (*STEPS, "padding", "data_format", "name")
        return elsewhere and c.theirs.status == "crash"
    return c.theirs.status == "crash" or bool(c.their_deviation)


def _filter_is_empty(c: Comparison) -> bool:
    """Tell whether TensorFlow does not refuse a filter without taps or made channels."""
    return c.ours.rule.endswith((".has_taps", ".makes_channels")) and c.theirs.status != "error"


def _conversion_to_integer(c: Comparison) -> bool:
    """Tell whether TensorFlow makes an integer of a float, bool or string."""
    if not c.ours.rule.endswith(".are_integers") or c.theirs.status != "value":
        return False
    return is_inexact(c.call.arguments[argument_at_fault(c)])


def _object_array(c: Comparison) -> bool:
    """Tell whether TensorFlow takes an array of Python objects for an integer array."""
    if not c.ours.rule.endswith(".are_integers") or c.theirs.status != "value":
        return False
    value = c.call.arguments[argument_at_fault(c)]
    return isinstance(value, np.ndarray) and value.dtype == object


def _index_of_scalar_array(c: Comparison) -> bool:
    """Tell whether TensorFlow iterates over an array without axes, which has `__index__`."""
    scalars = [v for v in map(c.call.arguments.get, STEPS) if isinstance(v, np.ndarray)]
    refused = c.theirs.status == "error" and "iteration over a 0-d array" in c.theirs.error
    return c.ours.value is not None and refused and any(v.ndim == 0 for v in scalars)


def _sizes_wrap(c: Comparison) -> bool:
    """Tell whether TensorFlow takes the lower 32 bits of a size beyond them."""
    sizes = sizes_asked(c)
    if c.ours.value is not None or c.theirs.value is None:
        return False
    beyond = any(abs(size) >= 2**31 for size in sizes)
    return beyond and [size % 2**32 for size in sizes] == list(c.theirs.value.shape)


def _steps_are_an_array(c: Comparison) -> bool:
    """Tell whether TensorFlow's raw op misses a list where an array or range stands."""
    if c.ours.value is None or c.theirs.status != "error":
        return False
    return any(
        f"Expected list for '{name}' argument" in c.theirs.error
        and isinstance(c.call.arguments.get(name), (np.ndarray, range))
        for name in STEPS
    )


def _dilations_are_none(c: Comparison) -> bool:
    """Tell whether TensorFlow's raw op takes None for dilations."""
    raw = c.call.definition.name == c.call.definition.kernel
    refused = raw and c.ours.rule.endswith(".dilations.are_integers")
    return refused and c.theirs.status == "value" and c.call.arguments["dilations"] is None


def _text_is_lax(c: Comparison) -> bool:
    """Tell whether TensorFlow takes None or bytes for a padding or data format."""
    if not c.ours.rule.endswith((".padding.is_known", ".data_format.is_known")):
        return False
    given = c.call.arguments[argument_at_fault(c)]
    return c.theirs.status == "value" and isinstance(given, (bytes, type(None)))


def _rank_kills(c: Comparison) -> bool:
    """Tell whether XLA dies of an operand that has not five axes."""
    return c.ours.rule.endswith(".rank_is_5") and c.xla is not None and c.xla.status == "crash"


def _dtype_is_promoted(c: Comparison) -> bool:
    """Tell whether TensorFlow converts an array to another dtype."""
    if not _is_about_dtypes(c) or c.theirs.value is None:
        return False
    given = set(map(dtype_of, operands_of(c)))
    return len(given) == 2 or not given <= set(FLOATING)


def _list_takes_the_dtype(c: Comparison) -> bool:
    """Tell whether TensorFlow takes a list for float32 beside an array of another dtype."""
    arrays = [value for value in operands_of(c) if isinstance(value, np.ndarray)]
    if c.ours.value is None or len(arrays) != 1 or dtype_of(arrays[0]) == "float32":
        return False
    if c.theirs.value is not None:
        return bool(c.theirs.value.dtype != c.ours.value.dtype)
    return c.theirs.status == "error" and "does not match type" in c.theirs.error


def _name_is_no_text(c: Comparison) -> bool:
    name = c.call.arguments.get("name")
    refused = c.ours.rule.endswith(".name.is_text") and not isinstance(name, (str, type(None)))
    return refused and c.theirs.status == "value"


DECISIONS = (
    Decision("§1", "VALID below the filter's span: no windows; TF fails", _windows_are_none),
    Decision("§1", "Inf and NaN stay where taps reach; TF leaks NaN", _nan_leaks),
    Decision("§2", "an object array is no integer array; TF looks inside", _object_array),
    Decision("§3.2", "no grouped filters; XLA takes them", _filter_is_grouped),
    Decision("§3.2", "channels match, 0 too; XLA dies", _no_channels_asked),
    Decision("§3.3", "a sum over no channels is 0; TF dies or invents", _nothing_is_contracted),
    Decision("§3.3", "a filter has taps and makes channels; TF dies or accepts", _filter_is_empty),
    Decision("§3.4", "a result of size 0 has size 0; XLA resizes it", _nothing_stays_nothing),
    Decision("§3.5", "float, bool, str are no integers; TF converts", _conversion_to_integer),
    Decision("§3.5", "what has __index__ is an integer; TF iterates", _index_of_scalar_array),
    Decision("§3.6", "sizes never wrap; TF takes 32 bits", _sizes_wrap),
    Decision(
        "§3.8", "steps are 5 integers, arrays too; TF's raw op wants lists", _steps_are_an_array
    ),
    Decision("§3.8", "raw dilations are 5 integers; TF takes None", _dilations_are_none),
    Decision("§3.9", "exactly the documented strings; TF takes None, bytes", _text_is_lax),
    Decision("§3.10", "no array is promoted; eager TF converts", _dtype_is_promoted),
    Decision("§3.10", "a list takes the array's dtype; TF takes float32", _list_takes_the_dtype),
    Decision("§3.11", "a wrong rank is an error; XLA dies", _rank_kills),
    Decision("§3.12", "subnormal numbers are kept; TF flushes them", _subnormals_are_flushed),
    Decision("§3.14", "a name is text; TF takes anything", _name_is_no_text),
    Decision("§6.2", "padding is not negative; TF's Conv3D shifts windows", padding_is_negative),
    Decision("§6.3", "out_channels = 0 makes nothing; TF refuses", no_channels_are_made),
    Decision("§6.4", "a gradient of nothing is 0; TF leaves memory", gradient_of_nothing),
    Decision("§6.7", "an axis has its own dilation; TF's graphs mix them", dilations_change_axes),
    Decision("§6.8", "channels match in nothing too; TF does not look", nothing_is_looked_at),
)


def _resized_axes(c: Comparison) -> list[int]:
    """Return the axes in which the results differ, if all of them are without positions."""
    if c.ours.value is None or c.theirs.value is None:
        return []
    ours, theirs = c.ours.value.shape, c.theirs.value.shape
    if len(ours) != len(theirs):
        return []
    differing = [axis for axis in range(len(ours)) if ours[axis] != theirs[axis]]
    return differing if set(differing) <= set(axes_without_positions(c)) else []


def _is_about_dtypes(c: Comparison) -> bool:
    return re.search(r"\.dtype_(is_supported|equals_\w+)$", c.ours.rule) is not None
