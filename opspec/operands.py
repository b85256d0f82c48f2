"""How an operand is read: whatever was given becomes an array, its dtype, shape and library."""

from typing import Any, NamedTuple

import numpy as np

from opspec import dtypes
from opspec.lending import CannotLendError, Owner, described, lend, refuse_without_way_back
from opspec.registry.backend import NUMPY_ARRAY, Backend
from opspec.registry.selection import arrays_of_type
from opspec.rule import UNKNOWN, TensorSpec, Unreadable


class Read(NamedTuple):
    """An operand as read.

    Parameters
    ----------
    array
        The array; None when there is none.
    dtype, shape
        As the array has them. `dtype` is None when there is no array, and `shape` then holds the
        words that say why.
    library
        The qualified name of the array type; None for lists and scalars.
    owner
        Whose array it is a view of; None where it is the caller's own.
    """

    array: Any
    dtype: Any
    shape: tuple[Any, ...]
    library: str | None
    owner: Owner | None = None

    @property
    def home(self) -> str | None:
        """Whose the caller's array is, and where, in words; None for lists and scalars."""
        return self.library if self.owner is None else self.owner.name

    def spec(self) -> TensorSpec | Unreadable:
        """Return what the rules look at."""
        if self.dtype is None:
            return Unreadable(self.shape[0])
        return TensorSpec(dtypes.name_of(self.dtype), tuple(self.shape))


def read_all(
    operands: tuple[Any, ...], backend: str | Backend | None, *, specs: bool = False
) -> tuple[Read, ...]:
    """Read operands. Lists and scalars take the dtype of the arrays beside them, or float32.

    With `specs`, a `TensorSpec` stands for a NumPy array.
    """
    reads = [None if _is_plain(value) else _read_array(value, backend) for value in operands]
    if specs:
        pairs = zip(operands, reads, strict=True)
        reads = [_read_spec(v) if isinstance(v, TensorSpec) else read for v, read in pairs]
    if None not in reads:
        return tuple(reads)  # type: ignore[arg-type]  # no None is left
    beside = (dtypes.name_of(read.dtype) for read in reads if read is not None and read.dtype)
    dtype = next((name for name in beside if name in dtypes.FLOATING), "float32")
    return tuple(
        _read_numbers(value, dtype) if read is None else read
        for value, read in zip(operands, reads, strict=True)
    )


_PLAIN = (list, tuple, int, float, complex, str, bytes, type(None))


def _is_plain(value: object) -> bool:
    """Whether a value is Python's own and takes its dtype from what stands beside it."""
    return type(value) is not np.ndarray and isinstance(value, _PLAIN)


def _read_array(value: Any, backend: str | Backend | None) -> Read:
    kind = type(value)
    if kind is np.ndarray:
        return Read(_native(value), value.dtype, value.shape, NUMPY_ARRAY)
    if isinstance(value, np.ma.MaskedArray):
        return _unreadable("a masked array, whose mask would be lost; use its filled()")
    library = arrays_of_type(kind, backend)
    of_numpy = isinstance(value, (np.ndarray, np.generic))
    if of_numpy and library in (None, NUMPY_ARRAY):
        array = np.asarray(value)
        return Read(_native(array), array.dtype, array.shape, NUMPY_ARRAY)
    try:
        return _read_foreign(value, library)
    except CannotLendError as refusal:
        return _unreadable(str(refusal))
    # Foreign attributes and conversions may fail in any way; whatever it was is the reason.
    except Exception as error:
        return _unreadable(f"{described(value)} that becomes no array ({error!r:.200})")


def _read_spec(spec: TensorSpec) -> Read:
    if UNKNOWN in spec.shape:
        return _unreadable(f"shape {list(spec.shape)}, where a call needs every extent")
    return Read(None, spec.dtype, spec.shape, NUMPY_ARRAY)


def _read_foreign(value: Any, library: str | None) -> Read:
    if library is not None:
        return Read(value, value.dtype, tuple(value.shape), library)
    if hasattr(value, "__array__") and not hasattr(value, "__dlpack__"):
        refuse_without_way_back(value)
        return _read_array(np.asarray(value), None)
    array, library, owner = lend(value)
    return Read(array, array.dtype, array.shape, library, owner)


def _read_numbers(value: Any, dtype: str) -> Read:
    if isinstance(value, (str, bytes, type(None))):
        return _unreadable(f"{value!r:.60} ({type(value).__name__})")
    try:
        array = np.asarray(value)
    except ValueError:
        return _unreadable("nested lists of unequal lengths")
    # What lies in the lists may fail in any way when NumPy asks what it is.
    except Exception as error:
        return _unreadable(f"nested lists that become no array ({error!r:.200})")
    if array.dtype.kind not in "iuf" and array.dtype.name not in dtypes.FLOATING:
        return _unreadable(f"nested lists of {array.dtype.name}")
    with np.errstate(over="ignore"):
        if dtype == "bfloat16" and array.dtype.kind in "iuf":
            array = _to_odd_float32(array.astype(np.float64))
        array = array.astype(dtypes.numpy_dtype(dtype))
    return Read(array, array.dtype, array.shape, None)


def _to_odd_float32(wide: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Round to float32 so that rounding on to bfloat16 is as if it were done once.

    ml_dtypes before 0.7 goes from float64 to bfloat16 through float32 and rounds twice. Cut towards
    zero with the last bit set wherever anything was cut, the second rounding sees which side it is.
    """
    single = wide.astype(np.float32)
    back = single.astype(np.float64)
    bits = single.view(np.uint32) - (np.abs(back) > np.abs(wide))
    odd: np.ndarray[Any, Any] = (bits | (back != wide)).astype(np.uint32).view(np.float32)
    return odd


def _unreadable(given: str) -> Read:
    return Read(None, None, (given,), None)


def _native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array itself where kernels can read it in place, else a copy they can read."""
    if array.dtype.isnative and array.flags.aligned:
        return array
    return array.astype(array.dtype.newbyteorder("="))
