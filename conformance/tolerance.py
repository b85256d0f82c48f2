"""When a result is right: the same bits, or within a bound that rounding cannot exceed.

The bound judges each element by rho = |y - reference| / (u * sum of |a * b|), u the unit roundoff
of the result's dtype. On zero-mean data every correct kernel that was measured stays at rho <= 3.3
whatever the number of terms; arithmetic of lower precision behind the same dtype gives 167 and more
(docs/semantics.md §4).

Every function here raises; none returns a verdict that a caller could drop.
"""

from typing import Any

import numpy as np

UNIT_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
LARGEST_RHO = 8.0
LARGEST_RMS_RHO = 1.0

Array = np.ndarray[Any, Any]


class MismatchError(AssertionError):
    """A result is wrong. The message says where first and by how much."""


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


def require_exact(result: Array, expected: Array, data_format: str) -> None:
    """Raise unless every element equals; NaN equals NaN, and so do zeros of either sign."""
    wrong = ~((result == expected) | (np.isnan(result) & np.isnan(expected)))
    if wrong.any():
        place = _first(wrong)
        raise MismatchError(
            f"{_at(place, data_format)}: {result[place]}, expected exactly {expected[place]}; "
            f"{int(wrong.sum())} of {wrong.size} elements are wrong"
        )


def require_bounded(result: Array, reference: Array, magnitude: Array, data_format: str) -> None:
    """Raise unless every element is within the bound, and their root mean square within its own."""
    rho = rhos(result, reference, magnitude)
    wrong = ~(rho <= LARGEST_RHO)
    if wrong.any():
        place = _first(wrong)
        raise MismatchError(
            f"{_at(place, data_format)}: {result[place]}, expected {reference[place]}, which is "
            f"{rho[place]:.3g} units of the bound (limit {LARGEST_RHO:g}); "
            f"{int(wrong.sum())} of {wrong.size} elements are wrong, the worst by {rho.max():.3g}"
        )
    rms = float(np.sqrt(np.mean(np.square(rho)))) if rho.size else 0.0
    if rms > LARGEST_RMS_RHO:
        raise MismatchError(
            f"each element is within the bound, but their root mean square is {rms:.3g} units "
            f"(limit {LARGEST_RMS_RHO:g}): the arithmetic is less precise than {result.dtype.name}"
        )


def rhos(result: Array, reference: Array, magnitude: Array) -> Array:
    """Return each element's error in units of the bound; inf where nothing may differ but does."""
    unit = UNIT_ROUNDOFF[result.dtype.name]
    error = np.abs(result.astype(np.float64) - reference)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = error / (unit * magnitude.astype(np.float64))
    return np.where(error == 0, 0.0, rho)


def _first(wrong: Array) -> tuple[int, ...]:
    return tuple(int(index) for index in np.argwhere(wrong)[0])


def _at(place: tuple[int, ...], data_format: str) -> str:
    order = data_format.lower()
    inside = ", ".join(f"{letter}={place[order.index(letter)]}" for letter in "ndhwc")
    return f"at ({inside})"
