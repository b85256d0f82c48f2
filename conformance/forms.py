"""The form lane: the same case with its operands lying otherwise in memory, or called otherwise.

What is expected comes from the golden case alone. Values are changed only in ways that change the
result exactly: a negated operand negates it, and an operand repeated along an axis of the result
repeats it.
"""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from opspec.conformance.call import Call
from opspec.conformance.example import Array
from opspec.conformance.tolerance import MismatchError, same_bits
from opspec.dtypes import numpy_dtype

THREADS = 8
POISONS = (0xFF, 0x3C)
# More than the buffers that any kernel would keep, and only where many results take little memory.
CALLS, FEW_ELEMENTS = 40, 5_000


@dataclass(frozen=True, slots=True)
class Form:
    """A way to lay out operands, or to call.

    Parameters
    ----------
    name, shows
        Its name and what it is there to show.
    judge
        Makes the call in this form and raises MismatchError if anything is wrong.
    since
        The version of the suite that brought it.
    """

    name: str
    shows: str
    judge: Callable[[Call], None]
    since: int = 1


def strided(array: Array) -> Array:
    """Return the values two elements apart along two axes, NaN between them."""
    shape = list(array.shape)
    shape[1], shape[-1] = 2 * shape[1], 2 * shape[-1]
    spread = np.full(shape, np.nan, array.dtype)
    view = spread[:, ::2, ..., ::2]
    view[...] = array
    return view


def negative_stride(array: Array) -> Array:
    """Return the values with every axis stored backwards."""
    return np.flip(np.ascontiguousarray(np.flip(array)))


def read_only(array: Array) -> Array:
    """Return the values where nobody may write."""
    array.flags.writeable = False
    return array


def big_endian(array: Array) -> Array:
    """Return the values in the byte order of a network."""
    return array.astype(array.dtype.newbyteorder(">"))


def misaligned(array: Array) -> Array:
    """Return the values one byte beyond where their type should start."""
    room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    room[...] = array
    return room


def laid_out(change: Callable[[Array], Array]) -> Callable[[Call], None]:
    """Judge a call whose operands are changed in layout but not in value."""

    def judge(call: Call) -> None:
        arguments = call.arguments()
        for name in call.operands:
            arguments[name] = change(arguments[name])
        call.require_right(call.run(arguments))

    return judge


def broadcast(call: Call) -> None:
    """Repeat a part of each operand along the result's axes without storing it again."""
    arguments = call.arguments()
    expected, magnitude = call.expected, call.magnitude
    for name, (own, axis) in call.operands.items():
        if expected.shape[axis] == 0:
            continue
        arguments[name] = _repeated(arguments[name], own)
        expected = _repeated(expected, axis)
        magnitude = None if magnitude is None else _repeated(magnitude, axis)
    call.require_equal(call.run(arguments), expected, magnitude)


def _repeated(array: Array, axis: int) -> Array:
    """Return the array with its first part along an axis in place of all of them."""
    return np.broadcast_to(array.take([0], axis), array.shape)


def poisoned(call: Call) -> None:
    """Leave garbage where the result is likely to be allocated, twice and differently."""
    for poison in POISONS:
        arguments = call.arguments()
        _leave_garbage(poison, call.expected.size)
        try:
            call.require_right(call.run(arguments))
        except MismatchError as error:
            raise error.preceded(f"memory full of 0x{poison:02X}") from None


def _leave_garbage(poison: int, elements: int) -> None:
    # What is freed last is allocated first: for sums of every width, and for small scratch memory.
    held = [np.full(max(elements * width, 1), poison, np.uint8) for width in (2, 4, 8) * 4]
    held += [np.full(64 * count, poison, np.uint8) for count in range(1, 17)]
    del held


def given_out(call: Call) -> None:
    """Give an array full of NaN for the result, and another one to the next call."""
    arrays = [np.full(call.expected.shape, np.nan, numpy_dtype(call.demand.dtype)) for _ in "12"]
    for array in arrays:
        call.require_right(call.run(call.arguments(), array))
    try:
        call.require_right(call.run(call.arguments()))
        for array in arrays:
            call.require_right(array)
    except MismatchError as error:
        raise error.preceded("after other calls") from None


def repeated(call: Call) -> None:
    """Call again and again, with operands changed in place between: nothing may be remembered."""
    one, other = call.operands
    arguments = call.arguments()
    first = call.run(arguments)
    kept = first.copy()
    for name, negated in ((other, True), (one, False), (other, True)):
        arguments[name] *= arguments[name].dtype.type(-1)
        try:
            call.require_right(call.run(arguments), negated=negated)
        except MismatchError as error:
            raise error.preceded(f"after {name} was negated in place") from None
    _partly_changed(call)
    later = [call.run(arguments) for _ in range(CALLS * (kept.size <= FEW_ELEMENTS))]
    if not same_bits(first, kept):
        raise MismatchError("a later call wrote into the result of an earlier one")
    del later
    if not same_bits(call.run(call.arguments()), kept):
        raise MismatchError("the same call gives other bits the second time")
    call.require_right(kept)


def _partly_changed(call: Call) -> None:
    """Negate a middle part of each operand: both of its ends may stay the same."""
    arguments, expected = call.arguments(), call.expected.copy()
    call.run(arguments)
    for name, (own, axis) in call.operands.items():
        middle = call.expected.shape[axis] // 2
        for array, along in ((arguments[name], own), (expected, axis)):
            part = array.swapaxes(0, along)[middle : middle + 1]
            part *= array.dtype.type(-1)
        try:
            call.require_equal(call.run(arguments), expected, call.magnitude)
        except MismatchError as error:
            raise error.preceded(f"after a part of {name} was negated in place") from None


def concurrent(call: Call) -> None:
    """Call from several threads at once, with the same operands and with one of them negated."""
    together = threading.Barrier(THREADS)
    *_, last = call.operands
    given, negated = call.arguments(), call.arguments()
    negated[last] = -negated[last]

    def one(number: int) -> None:
        odd = number % 2 == 1
        together.wait()
        for _ in range(2):
            call.require_right(call.run(negated if odd else given), negated=odd)

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(one, number) for number in range(THREADS)]:
            try:
                future.result()
            except MismatchError as error:
                raise error.preceded(f"{THREADS} threads at once") from None


def unsettled(call: Call) -> None:
    """Call, and look whether what the whole process shares is as it was."""
    numpys, pythons = np.random.get_state(), random.getstate()
    # States that no kernel would leave by itself: one that has been left so before shows again.
    np.random.random()
    random.random()
    try:
        with np.errstate(all="call", call=lambda *_: None):
            before = _settings() | IEEE
            call.made(call.arguments())
            after = _settings()
    finally:
        np.random.set_state(numpys)
        random.setstate(pythons)
    for name, value in before.items():
        if value != after[name]:
            raise MismatchError(f"the kernel changed {name}, which the whole process shares")


IEEE = {
    "how the processor rounds": (1 + 2.0**-23, -1 - 2.0**-23),
    "how the processor treats subnormal numbers": 2.0**-130,
}


def _settings() -> dict[str, Any]:
    # Sums that depend on the direction of rounding, and a product that is 0 where subnormals are.
    one, half_step, tiny = np.float32(1), np.float32(1.5 * 2**-24), np.float32(2**-130)
    return {
        "how NumPy handles floating-point errors": np.geterr(),
        "the state of NumPy's random numbers": str(np.random.get_state()),
        "the state of Python's random numbers": random.getstate(),
        "how the processor rounds": (float(one + half_step), float(-one - half_step)),
        "how the processor treats subnormal numbers": float(tiny * one),
    }


FORMS: tuple[Form, ...] = (
    Form("strided", "operands with gaps between their elements", laid_out(strided)),
    Form("negative-stride", "operands stored backwards", laid_out(negative_stride)),
    Form("fortran", "operands in Fortran order", laid_out(np.asfortranarray)),
    Form("read-only", "operands that nobody may write to", laid_out(read_only)),
    Form("big-endian", "operands in the other byte order", laid_out(big_endian)),
    Form("misaligned", "operands at odd addresses", laid_out(misaligned)),
    Form("broadcast", "operands with a stride of 0", broadcast),
    Form("poisoned", "memory full of garbage before the call", poisoned),
    Form("out", "an array for the result, full of NaN, which no later call writes into", given_out),
    Form("repeated", "the same bits again, whatever was called between", repeated),
    Form("threads", "several threads at once", concurrent),
    Form("settings", "what the whole process shares is left as it was", unsettled),
)
