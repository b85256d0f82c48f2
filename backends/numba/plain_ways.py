"""The ways that need nothing laid out: zeros, plain loops, and copies around another way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opspec.backends.numba.plan import Table

Array: TypeAlias = np.ndarray[Any, Any]
# Takes filter and source, contiguous, and perhaps an array for the result; returns the result.
Way: TypeAlias = Callable[[Array, Array, Array | None], Array]


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing lands inside, or there is nothing: the result is zeros."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __call__(self, filter: Array, source: Array, out: Array | None) -> Array:
        """Return zeros."""
        if out is None:
            return np.zeros(self.shape, self.dtype)
        out.fill(0)
        return out


@dataclass(frozen=True, slots=True)
class Directly:
    """Plain loops over arrays that are channels last."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    numbers: Table
    kernel: Any

    def __call__(self, filter: Array, source: Array, out: Array | None) -> Array:
        """Compute in the caller's arrays."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        # Numba would compile the kernel anew for arrays that may not be written.
        source, filter = (
            array if array.flags.writeable else array.copy() for array in (source, filter)
        )
        self.kernel(self.numbers, source, filter, out)
        return out


@dataclass(frozen=True, slots=True)
class OnCopies:
    """Another way, with copies of source and result: channels last, in the type of the sums.

    Parameters
    ----------
    inner
        The way.
    sums, filters, dtype
        What it takes and makes; what it takes the filter in; what is stored.
    channels_first
        Whether the caller's arrays are.
    """

    inner: Way
    sums: np.dtype[Any]
    filters: np.dtype[Any]
    dtype: np.dtype[Any]
    channels_first: bool

    def __call__(self, filter: Array, source: Array, out: Array | None) -> Array:
        """Compute in copies and copy the result."""
        if self.channels_first:
            source = np.moveaxis(source, 1, -1)
        source = source.astype(self.sums, order="C")
        made = self.inner(filter.astype(self.filters, copy=False), source, None)
        if self.channels_first:
            made = np.moveaxis(made, -1, 1)
        if out is None:
            out = np.empty(made.shape, self.dtype)
        # An overflow is not worth a warning: compiled code gives none.
        with np.errstate(all="ignore"):
            out[...] = made
        return out
