"""The four dtypes of the operations; bfloat16 comes from ml_dtypes."""

from typing import Any, Final

import ml_dtypes
import numpy as np

FLOATING: Final = ("float16", "bfloat16", "float32", "float64")

_BY_NAME: Final[dict[str, np.dtype[Any]]] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the native-endian NumPy dtype of that name."""
    return _BY_NAME[name]


def name_of(dtype: object) -> str:
    """Return the name of a dtype of any array library, byte order left out.

    NumPy's and CuPy's dtypes name themselves; other libraries print theirs as ``library.name``.
    """
    if isinstance(dtype, np.dtype):
        return dtype.name
    return str(dtype).rpartition(".")[2]


def size_of(name: str) -> int:
    """Return the bytes of one element."""
    return _BY_NAME[name].itemsize
