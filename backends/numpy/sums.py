"""What results and their sums start from."""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]


def summed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of sums: float32 for halves, which are rounded once at the end."""
    return dtype if dtype.itemsize >= 4 else np.dtype(np.float32)


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any], out: Array | None) -> Array:
    """Return zeros, in `out` if given."""
    # Fresh zeros come from the system without being written.
    if out is None:
        return np.zeros(shape, dtype)
    out.fill(0)
    return out
