"""What a caller can ask of this backend: a tier, and TF32."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

TIERS = ("gemm", "simt", "tensor", "cudnn")

TIER_VARIABLE = "OPSPEC_CUPY_TIER"
TF32_VARIABLE = "OPSPEC_CUPY_TF32"

_tf32: ContextVar[bool | None] = ContextVar("opspec_cupy_tf32", default=None)


def asked_tier() -> str | None:
    """Return the tier that OPSPEC_CUPY_TIER names, or None.

    Raises
    ------
    ValueError
        If it names none.
    """
    asked = os.environ.get(TIER_VARIABLE) or None
    if asked is not None and asked not in TIERS:
        raise ValueError(f"{TIER_VARIABLE} is one of {', '.join(TIERS)}; given {asked!r}")
    return asked


def tf32_is_allowed() -> bool:
    """Whether float32 may be rounded to TF32: the innermost `allow_tf32`, else the variable.

    Raises
    ------
    ValueError
        If OPSPEC_CUPY_TF32 is neither 0 nor 1.
    """
    inner = _tf32.get()
    if inner is not None:
        return inner
    asked = os.environ.get(TF32_VARIABLE) or "0"
    if asked not in ("0", "1"):
        raise ValueError(f"{TF32_VARIABLE} is 0 or 1; given {asked!r}")
    return asked == "1"


@contextmanager
def allow_tf32(allowed: bool = True) -> Iterator[None]:
    """Let float32 calls inside the ``with`` block use TF32, or not.

    TF32 keeps 10 bits after the point of each operand; sums stay float32. It is off unless asked
    for, here or with OPSPEC_CUPY_TF32=1. Right with threads and async.

    Parameters
    ----------
    allowed
        Whether.
    """
    token = _tf32.set(allowed)
    try:
        yield
    finally:
        _tf32.reset(token)
