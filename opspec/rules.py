"""Rules that many operations share, and how values are shown in errors.

Each function here makes one `Rule`. None of them computes anything that a call goes on to use.
"""

import operator
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opspec.dtypes import FLOATING
from opspec.rule import UNKNOWN, Call, Fault, Rule, Unreadable

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


def shown(value: object, depth: int = 6) -> str:
    """Show a value as a reader would write it, shortened; sequences as lists."""
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and value.size <= 12:
            return f"{value.dtype} array {value.tolist()}"
        return f"{value.dtype} array of shape {list(value.shape)}"
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, (list, tuple, range)):
        if depth == 0:
            return "[...]"
        inside = ", ".join(shown(item, depth - 1) for item in value[:12])
        return f"[{inside}{', ...' if value[12:] else ''}]"
    if isinstance(value, np.generic):
        return f"{value} ({value.dtype})"
    return _short.repr(value)


def one_integer(value: object) -> int | None:
    """Return the integer that `value` is, by `__index__`; None if it is none. bool is none."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # that is what is being found out
    # Whatever a foreign __index__ raises, it gives no integer.
    except Exception:
        return None


def integers(value: object) -> Sequence[int] | None:
    """Return the integers of a list, tuple, range or 1-D integer array; None if it is none."""
    if isinstance(value, np.ndarray):
        masked = isinstance(value, np.ma.MaskedArray)
        if masked or value.ndim != 1 or value.dtype.kind not in "iu":
            return None
        return tuple(value.tolist())
    if isinstance(value, range):
        # Not listed: it may be longer than memory. One without a length is no sequence.
        return value if abs(value.stop - value.start) < INT64_MAX else None
    if not isinstance(value, (list, tuple)):
        return None
    if set(map(type, value)) == {int}:
        return tuple(value)
    found = [one_integer(item) for item in value]
    return None if None in found else tuple(i for i in found if i is not None)


def known_integers(value: object) -> Sequence[int]:
    """Return the integers of a value that the rules have found to be integers."""
    found = integers(value)
    if found is None:
        raise TypeError(f"not integers: {shown(value)}")
    return found


def attributes_are_named(op: str, fields: Sequence[str], required: Sequence[str]) -> Rule:
    """Make the rule that every attribute is one of `fields` and the `required` are there."""

    def find_fault(given: Any) -> Fault | None:
        allowed = f"{', '.join(fields)} ({', '.join(required)} required)"
        if not isinstance(given, Mapping):
            return Fault(shown(given), f"attributes by name: {allowed}", kind="type")
        if unknown := sorted(str(name) for name in given.keys() - set(fields)):
            return Fault(f"unknown {', '.join(unknown)}", allowed)
        if missing := [name for name in required if name not in given]:
            return Fault(f"no {', '.join(missing)}", allowed)
        return None

    sentence = "attributes must be given by name, each one known and none missing"
    return Rule(
        op, "attributes.are_named", "attributes", sentence, "docs/semantics.md §3.11", find_fault
    )


def is_one_of(op: str, argument: str, values: Sequence[str | None], source: str) -> Rule:
    """Make the rule that an attribute is exactly one of `values`, case and all."""
    allowed = " or ".join(repr(value) for value in values)

    def find_fault(given: Mapping[str, Any]) -> Fault | None:
        value = given[argument]
        if value is None or isinstance(value, str):
            if value in values:
                return None
            hint = None
            if isinstance(value, str) and value.upper() in values:
                hint = f"{argument} is case-sensitive: write {value.upper()!r}"
            return Fault(shown(value), allowed, hint)
        return Fault(f"{shown(value)} ({type(value).__name__})", allowed, kind="type")

    sentence = f"{argument} must be exactly {allowed}"
    return Rule(op, f"{argument}.is_known", argument, sentence, source, find_fault)


def name_is_text(op: str) -> Rule:
    """Make the rule that the operation's name is text or None."""

    def find_fault(call: Call) -> Fault | None:
        if call.name is None or isinstance(call.name, str):
            return None
        return Fault(
            f"{shown(call.name)} ({type(call.name).__name__})", "a str or None", kind="type"
        )

    return Rule(
        op,
        "name.is_text",
        "name",
        "name must be text or None",
        "docs/semantics.md §3.14",
        find_fault,
    )


def sizes_are_integers(op: str, operand: str) -> Rule:
    """Make the rule that the sizes are a vector of integers."""

    def find_fault(call: Call) -> Fault | None:
        sizes = call.operands[operand]
        if integers(sizes) is not None:
            return None
        hint = None
        if isinstance(sizes, (list, tuple)) and None in [s for s in sizes if not _is_array(s)]:
            hint = "a call needs every size; read the unknown ones off the other operand's shape"
        return Fault(
            f"{shown(sizes)} ({type(sizes).__name__})",
            "a list, tuple or 1-D array of integers; no floats, bools or strings",
            hint,
            kind="type",
        )

    sentence = f"{operand} must be a vector of integers"
    return Rule(
        op, f"{operand}.are_integers", operand, sentence, "docs/semantics.md §2, §3.5", find_fault
    )


def sizes_are_as_many(op: str, operand: str, count: int, layouts: Mapping[str, Any]) -> Rule:
    """Make the rule that there are `count` sizes."""

    def find_fault(call: Call) -> Fault | None:
        sizes = known_integers(call.operands[operand])
        if len(sizes) == count:
            return None
        order = ", ".join(layouts[call.attributes.data_format])
        return Fault(
            f"{len(sizes)}: {shown(sizes)}",
            f"{count}, in {call.attributes.data_format} order: [{order}]",
        )

    sentence = f"{operand} must have exactly {count} entries"
    return Rule(
        op, f"{operand}.are_{count}", operand, sentence, "TensorFlow reference pages", find_fault
    )


def sizes_fit_int64(op: str, operand: str) -> Rule:
    """Make the rule that no size is beyond 64 bits."""

    def find_fault(call: Call) -> Fault | None:
        sizes = known_integers(call.operands[operand])
        if all(-INT64_MAX <= size <= INT64_MAX for size in sizes):
            return None
        return Fault(shown(sizes), f"at most {INT64_MAX} each")

    sentence = f"every entry of {operand} must fit a signed 64-bit integer"
    return Rule(op, f"{operand}.fit_int64", operand, sentence, "docs/semantics.md §3.6", find_fault)


def sizes_are_not_negative(op: str, operand: str, hint: str) -> Rule:
    """Make the rule that no size is negative; −1 is let through in shape inference."""

    def find_fault(call: Call) -> Fault | None:
        sizes = known_integers(call.operands[operand])
        least = UNKNOWN if call.inferring else 0
        if all(size >= least for size in sizes):
            return None
        if call.inferring:
            return Fault(shown(sizes), "0 or more each, -1 for unknown")
        return Fault(shown(sizes), "0 or more each", hint if UNKNOWN in sizes else None)

    sentence = f"every entry of {operand} must be 0 or more (-1, unknown, only in shape inference)"
    source = "docs/semantics.md §3.7"
    return Rule(op, f"{operand}.are_not_negative", operand, sentence, source, find_fault)


def is_array(op: str, operand: str) -> Rule:
    """Make the rule that an operand is an array or a nested list of numbers."""

    def find_fault(call: Call) -> Fault | None:
        spec = call.operands[operand]
        if not isinstance(spec, Unreadable):
            return None
        return Fault(spec.given, "an array, or numbers in equally long nested lists", kind="type")

    sentence = f"{operand} must be an array"
    return Rule(
        op,
        f"{operand}.is_array",
        operand,
        sentence,
        "TensorFlow reference pages; docs/semantics.md §3.10",
        find_fault,
    )


def dtype_is_supported(op: str, operand: str) -> Rule:
    """Make the rule that an operand has one of the four dtypes."""
    allowed = ", ".join(FLOATING)

    def find_fault(call: Call) -> Fault | None:
        dtype = call.spec(operand).dtype
        if dtype in FLOATING:
            return None
        hint = f"convert it, for example {operand}.astype('float32')"
        return Fault(dtype, allowed, hint, kind="type")

    sentence = f"the dtype of {operand} must be one of {allowed}"
    return Rule(
        op,
        f"{operand}.dtype_is_supported",
        operand,
        sentence,
        "TensorFlow reference pages",
        find_fault,
    )


def dtypes_are_equal(op: str, operand: str, other: str) -> Rule:
    """Make the rule that two operands have one dtype."""

    def find_fault(call: Call) -> Fault | None:
        dtype, wanted = call.spec(operand).dtype, call.spec(other).dtype
        if dtype == wanted:
            return None
        hint = "neither array is promoted silently; convert one of them with astype"
        return Fault(f"{dtype} beside {wanted}", wanted, hint, kind="type")

    sentence = f"the dtype of {operand} must equal the dtype of {other}"
    label = f"{operand}.dtype_equals_{other}"
    return Rule(
        op,
        label,
        operand,
        sentence,
        "TensorFlow reference pages; docs/semantics.md §3.10",
        find_fault,
    )


def libraries_are_equal(op: str, operand: str, other: str) -> Rule:
    """Make the rule that two arrays belong to one library; lists go with any."""

    def find_fault(call: Call) -> Fault | None:
        library, wanted = call.arrays.get(operand), call.arrays.get(other)
        if library is None or wanted is None or library == wanted:
            return None
        hint = "no array is copied between libraries or devices silently; convert one of them"
        return Fault(f"{library} beside {wanted}", wanted, hint, kind="type")

    sentence = f"{operand} must be an array of the same library as {other}"
    label = f"{operand}.library_equals_{other}"
    return Rule(op, label, operand, sentence, "docs/semantics.md §3.13", find_fault)


def rank_is(op: str, operand: str, rank: int, layouts: Mapping[str, Sequence[str]]) -> Rule:
    """Make the rule that an operand has `rank` dimensions."""

    def find_fault(call: Call) -> Fault | None:
        shape = call.spec(operand).shape
        if len(shape) == rank:
            return None
        meaning = layouts[call.attributes.data_format]
        return Fault(
            f"rank {len(shape)}, shape {list(shape)}",
            f"rank {rank}: [{', '.join(meaning)}]",
            "add the missing axes, for example array[numpy.newaxis]" if len(shape) < rank else None,
        )

    sentence = f"{operand} must have rank {rank}"
    return Rule(
        op, f"{operand}.rank_is_{rank}", operand, sentence, "TensorFlow reference pages", find_fault
    )


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)
