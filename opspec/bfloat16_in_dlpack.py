"""bfloat16 through DLPack, which NumPy does not take: it is told that the words are uint16.

DLPack hands a C structure over, in a capsule. Only the code of its dtype is changed, after the
lender has filled it in and before the borrower reads it; the memory stays as it is.
"""

import ctypes
from typing import Any

# DLPack's codes of dtypes; both of these have 16 bits here.
_CODES = {"uint16": 1, "bfloat16": 4}

_VERSIONED = b"dltensor_versioned"


class _Tensor(ctypes.Structure):
    """DLTensor, up to its dtype."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype_code", ctypes.c_uint8),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned; before version 1 the tensor came first."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def with_bfloat16_as(name: str, array: Any) -> Any:
    """Return what lends the 16-bit words of an array as dtype `name`: uint16 or bfloat16."""
    return _Words(array, _CODES[name])


class _Words:
    """Lends an array with another code of its dtype."""

    def __init__(self, array: Any, code: int) -> None:
        self._array = array
        self._code = code

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = self._array.__dlpack__(**keywords)
        _tensor_in(capsule).dtype_code = self._code
        return capsule


def _tensor_in(capsule: Any) -> _Tensor:
    if _is_valid(capsule, _VERSIONED):
        tensor: _Tensor = _Versioned.from_address(_pointer(capsule, _VERSIONED)).tensor
        return tensor
    return _Tensor.from_address(_pointer(capsule, b"dltensor"))
