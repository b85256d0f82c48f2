"""The argument ``out``: what it must be, and how the result gets into it.

These are rules of the call. TensorFlow has no such argument, so no definition knows them. Nothing
is written before all of them hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from opspec import dtypes
from opspec.errors import BackendContractError
from opspec.registry.backend import NUMPY_ARRAY, Backend
from opspec.registry.capabilities import Demand
from opspec.rule import Fault, Rule, refuse_first_fault

SOURCE = "docs/semantics.md §5"


@dataclass(frozen=True, slots=True)
class Offer:
    """An array that a caller wants a result in.

    Parameters
    ----------
    out
        The array.
    library
        Whose array it must be: the qualified name of the operands' array type, or their owner.
    shape, dtype
        The result's.
    held
        The arrays that must not be written into, each after the name of its operand: those that the
        kernel reads and, where they are others, those that the caller gave.
    owner
        Whose array it is a view of, or why there is no view; None where none is needed.
    """

    out: Any
    library: str
    shape: tuple[int, ...]
    dtype: str
    held: Sequence[tuple[str, Any]]
    owner: str | None = None


def refuse_unusable(op: str, offer: Offer, name: object) -> None:
    """Raise unless the result can be written into the array.

    Raises
    ------
    OpError
        For the first broken rule.
    """
    refuse_first_fault(out_rules(op), offer, name)


@cache
def out_rules(op: str) -> tuple[Rule, ...]:
    """Return the rules of ``out`` in the order in which they are checked."""
    return tuple(
        Rule(op, f"out.{label}", "out", sentence, SOURCE, find_fault)
        for label, sentence, find_fault in (
            ("array", "out must be an array of the operands' library, of no subclass", _array),
            ("dtype", "the dtype of out must be the result's, in native byte order", _dtype),
            ("shape", "out must have the shape of the result", _shape),
            ("layout", "out must be C-contiguous and aligned", _layout),
            ("writeable", "out must be writeable", _writeable),
            ("overlap", "out must not share memory with an operand", _overlap),
        )
    )


def filled(
    out: Any,
    kernel: Callable[..., Any],
    finish: Callable[[Any], Any],
    backend: Backend,
    demand: Demand,
) -> tuple[Callable[..., Any], Callable[[Any], Any]]:
    """Return what to call and how to finish so that the result ends in `out`.

    A kernel that takes ``out`` writes there itself; the result of any other is copied.
    """
    if demand.arrays == backend.arrays and backend.takes_out(demand.operation):
        return partial(kernel, out=out), partial(_returned, out, backend.name)
    return kernel, partial(_copied, out, finish, backend.name)


def _returned(out: Any, backend: str, result: Any) -> Any:
    if result is not out:
        raise BackendContractError(
            f"backend {backend!r}: a kernel that takes out= must fill that array and return it; "
            f"it returned another {type(result).__name__}"
        )
    return out


def _copied(out: Any, finish: Callable[[Any], Any], backend: str, result: Any) -> Any:
    result = finish(result)
    made = dtypes.name_of(result.dtype), tuple(result.shape)
    wanted = dtypes.name_of(out.dtype), tuple(out.shape)
    # Assigning would convert and broadcast, and so hide a wrong result.
    if made != wanted:
        raise BackendContractError(
            f"backend {backend!r}: the kernel returned {made[0]} of shape {list(made[1])} "
            f"for a result of {wanted[0]} and shape {list(wanted[1])}"
        )
    out[...] = result
    return out


def _array(offer: Offer) -> Fault | None:
    kind = type(offer.out)
    if offer.owner is not None:
        right = offer.owner == offer.library
    elif offer.library == NUMPY_ARRAY:
        right = kind is np.ndarray
    else:
        names = (f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__)
        right = offer.library in names
    if right:
        return None
    hint = None
    plain = offer.owner is None and isinstance(offer.out, np.ndarray)
    if plain and not isinstance(offer.out, np.ma.MaskedArray):
        hint = "numpy.asarray(out) is a plain array on the same memory"
    given = offer.owner or f"a {kind.__module__}.{kind.__qualname__}"
    return Fault(given, f"{offer.library}, or None for a fresh array", hint, kind="type")


def _dtype(offer: Offer) -> Fault | None:
    given, wanted = offer.out.dtype, offer.dtype
    if isinstance(given, np.dtype) and given == dtypes.numpy_dtype(wanted):
        return None
    name = dtypes.name_of(given)
    if not isinstance(given, np.dtype) and name == wanted:
        return None
    if name == wanted:
        name = f"{wanted} of the other byte order"
    return Fault(name, wanted, kind="type")


def _shape(offer: Offer) -> Fault | None:
    given, wanted = tuple(offer.out.shape), offer.shape
    return None if given == wanted else Fault(str(list(given)), str(list(wanted)))


def _layout(offer: Offer) -> Fault | None:
    # Another library's arrays may show no flags; their kernels then take any.
    flags = getattr(offer.out, "flags", None)
    if not getattr(flags, "c_contiguous", True):
        strides = getattr(offer.out, "strides", None)
        return Fault(f"an array with strides {strides}", "one like numpy.empty makes")
    if not getattr(flags, "aligned", True):
        return Fault("an array that is not aligned", "one like numpy.empty makes")
    return None


def _writeable(offer: Offer) -> Fault | None:
    flags = getattr(offer.out, "flags", None)
    if getattr(flags, "writeable", True):
        return None
    return Fault("a read-only array", "a writeable one")


def _overlap(offer: Offer) -> Fault | None:
    for operand, array in offer.held:
        if _may_share_memory(offer.out, array):
            return Fault(
                f"an array within the memory that {operand} spans",
                "memory of its own",
                f"only first and last bytes are compared: if they interleave, copy {operand}",
            )
    return None


def _may_share_memory(out: Any, other: Any) -> bool:
    """Whether the bytes from first to last of two arrays meet.

    Whether any byte is really shared can take exponential time to find out where strides
    interleave, so such arrays count as sharing.
    """
    if isinstance(out, np.ndarray) and isinstance(other, np.ndarray):
        return np.may_share_memory(out, other)
    if out is other:
        return True
    mine, theirs = _device_span(out), _device_span(other)
    return mine.start < theirs.stop and theirs.start < mine.stop


def _device_span(array: Any) -> range:
    """Return the addresses from first to last of an array on a GPU; none for any other object."""
    shown = getattr(array, "__cuda_array_interface__", None)
    if shown is None or 0 in shown["shape"]:
        return range(0)
    first, item = shown["data"][0], int(shown["typestr"][2:])
    strides = shown.get("strides")
    if strides is None:
        return range(first, first + item * prod(shown["shape"]))
    reach = [(size - 1) * stride for size, stride in zip(shown["shape"], strides, strict=True)]
    return range(
        first + sum(step for step in reach if step < 0),
        first + sum(step for step in reach if step > 0) + item,
    )
