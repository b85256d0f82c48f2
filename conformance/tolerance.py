"""When a result is right: the same bits, or within a bound that rounding cannot exceed.

The bound judges each element by rho = |y - reference| / (u * sum of |a * b|), u the unit roundoff
of the result's dtype. On zero-mean data every correct kernel that was measured stays at rho <= 3.3
whatever the number of terms; arithmetic of lower precision behind the same dtype gives 167 and more
(docs/semantics.md §4).

Every function here raises; none returns a verdict that a caller could drop.
"""

import hashlib
from typing import Any

import numpy as np

from opspec.conformance.report import Place

UNIT_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
LARGEST_RHO = 8.0
LARGEST_RMS_RHO = 1.0

Array = np.ndarray[Any, Any]


class MismatchError(AssertionError):
    """A result is wrong. The message says where first and by how much.

    Parameters
    ----------
    message
        What is wrong.
    place
        The first wrong element, if it is about elements.
    fingerprint
        A digest of the wrong result; by default the message.
    """

    def __init__(
        self, message: str, place: Place | None = None, fingerprint: str | None = None
    ) -> None:
        super().__init__(message)
        self.place = place
        self.fingerprint = fingerprint or message

    def preceded(self, words: str) -> "MismatchError":
        """Return the same with a message that says first under which circumstances."""
        return MismatchError(f"{words}: {self}", self.place, self.fingerprint)


def require_same_form(result: object, dtype: str, shape: tuple[int, ...]) -> None:
    """Raise unless `result` is a contiguous array of that dtype and shape."""
    if not isinstance(result, np.ndarray):
        raise MismatchError(f"the result is a {type(result).__name__}, not an array")
    if result.dtype.name != dtype or not result.dtype.isnative:
        raise MismatchError(f"the result has dtype {result.dtype!s}, not {dtype}")
    if result.shape != shape:
        raise MismatchError(f"the result has shape {result.shape}, not {shape}")
    if not result.flags.c_contiguous:
        raise MismatchError("the result is not contiguous")


def require_exact(result: Array, expected: Array, axes: str) -> None:
    """Raise unless every element equals; NaN equals NaN, and so do zeros of either sign."""
    wrong = ~((result == expected) | (np.isnan(result) & np.isnan(expected)))
    if wrong.any():
        place = _first(wrong, result, expected, None, axes)
        raise MismatchError(
            f"{_at(place)}: {result[wrong][0]}, expected exactly {expected[wrong][0]}; "
            f"{place.wrong} of {place.elements} elements are wrong",
            place,
            digest(result),
        )


def require_bounded(result: Array, reference: Array, magnitude: Array, axes: str) -> None:
    """Raise unless every element is within the bound, and their root mean square within its own."""
    rho = rhos(result, reference, magnitude)
    wrong = ~(rho <= LARGEST_RHO)
    if wrong.any():
        place = _first(wrong, result, reference, rho, axes)
        raise MismatchError(
            f"{_at(place)}: {result[wrong][0]}, expected {reference[wrong][0]}, which is "
            f"{place.units:.3g} units of the bound (limit {LARGEST_RHO:g}); {place.wrong} of "
            f"{place.elements} elements are wrong, the worst by {rho.max():.3g}",
            place,
            digest(result),
        )
    rms = float(np.sqrt(np.mean(np.square(rho)))) if rho.size else 0.0
    if rms > LARGEST_RMS_RHO:
        worst = rho == rho.max()
        place = _first(worst, result, reference, rho, axes)
        raise MismatchError(
            f"each element is within the bound, but their root mean square is {rms:.3g} units "
            f"(limit {LARGEST_RMS_RHO:g}): the arithmetic is less precise than "
            f"{result.dtype.name}; the worst is {_at(place)[3:]}",
            place,
            digest(result),
        )


def same_bits(one: Array, other: Array) -> bool:
    """Whether two results are the same in every bit; a NaN is a NaN whatever its payload."""
    quiet = np.isnan(one) & np.isnan(other)
    bits = np.dtype(f"u{one.dtype.itemsize}")
    differing = np.ascontiguousarray(one).view(bits) != np.ascontiguousarray(other).view(bits)
    return not (differing & ~quiet).any()


def digest(result: Array) -> str:
    """Return what identifies a result: two kernels with the same fault have the same."""
    with np.errstate(all="ignore"):
        positive_zeros = np.ascontiguousarray(result) + np.zeros((), result.dtype)
    return hashlib.sha256(positive_zeros.tobytes()).hexdigest()[:16]


def rhos(result: Array, reference: Array, magnitude: Array) -> Array:
    """Return each element's error in units of the bound; inf where nothing may differ but does."""
    unit = UNIT_ROUNDOFF[result.dtype.name]
    with np.errstate(all="ignore"):
        error = np.abs(result.astype(np.float64) - reference)
        rho = error / (unit * magnitude.astype(np.float64))
    return np.where(error == 0, 0.0, rho)


def _first(wrong: Array, result: Array, expected: Array, rho: Array | None, axes: str) -> Place:
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    at = {axis: place[axes.index(axis)] for axis in axes}
    return Place(
        n=at.get("N"),
        d=at["D"],
        h=at["H"],
        w=at["W"],
        c=at["C"],
        j=at.get("J"),
        given=float(result[place]),
        expected=float(expected[place]),
        units=None if rho is None else float(rho[place]),
        wrong=int(wrong.sum()),
        elements=wrong.size,
    )


def _at(place: Place) -> str:
    return f"at {place.index}"
