"""The four dtypes of the operations; bfloat16 comes from ml_dtypes."""

from functools import cache
from typing import Any, Final

import numpy as np

FLOATING: Final = ("float16", "bfloat16", "float32", "float64")

_BYTES: Final = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the native-endian NumPy dtype of that name."""
    if name != "bfloat16":
        return np.dtype(name)
    # Imported when first needed: some releases of it take a second.
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def name_of(dtype: object) -> str:
    """Return the name of a dtype of any array library, byte order left out.

    NumPy's and CuPy's dtypes name themselves; other libraries print theirs as ``library.name``.
    """
    if isinstance(dtype, np.dtype):
        return dtype.name
    return str(dtype).rpartition(".")[2]


def size_of(name: str) -> int:
    """Return the bytes of one element."""
    return _BYTES[name]
