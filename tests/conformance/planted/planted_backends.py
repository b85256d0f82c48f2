"""Backends that a suite must not let through, each under its own name in this module."""

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from opspec.backends.numpy import backend as numpy_backend
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS, ConvGeometry
from opspec.registry import Backend, Capabilities

OPERATION = "Conv3DBackpropInputV2"
ALL = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)
NOTHING = Capabilities(operations=(), dtypes=(), data_formats=())

Array = np.ndarray[Any, Any]
Kernel = Callable[[ConvGeometry, Array, Array], Array]
right = numpy_backend.kernel(OPERATION)


def planted(
    name: str, kernel: Kernel | None, capabilities: Capabilities = ALL, **more: Any
) -> Backend:
    backend = Backend(name, "numpy.ndarray", capabilities, **more)
    if kernel is not None:
        backend.implements(OPERATION)(
            lambda geometry, filter, out_backprop: kernel(geometry, filter, out_backprop)
        )
    return backend


def raises(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    raise NotImplementedError("not yet")


def zeros(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    return np.zeros(geometry.input_shape, filter.dtype)


def dies(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    if geometry.dilated:
        ctypes.string_at(0)
    result: Array = right(geometry, filter, out_backprop)
    return result


def traps(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    """Let the processor trap what is not a number, as some numeric programs do."""
    libm = ctypes.CDLL("libm.so.6")
    enabled = ctypes.c_int(1 | 4)
    libm.feenableexcept(enabled)
    try:
        result: Array = right(geometry, filter, out_backprop)
        return result
    finally:
        libm.fedisableexcept(enabled)


def mutates(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result: Array = right(geometry, filter, out_backprop)
    if filter.size and filter.flags.writeable:
        filter[(0,) * 5] = 0
    return result


def leaves_out(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    """Write only what is not 0, into memory as it comes."""
    made: Array = right(geometry, filter, out_backprop)
    result = np.empty_like(made)
    np.copyto(result, made, where=made != 0)
    return result


def hangs(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    while geometry.dilated and geometry.data_format == "NCDHW":
        time.sleep(0.1)
    result: Array = right(geometry, filter, out_backprop)
    return result


def leaves(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    if geometry.empty:
        raise SystemExit(0)
    result: Array = right(geometry, filter, out_backprop)
    return result


empty = planted("empty", None)
declares_nothing = planted("declares_nothing", None, NOTHING)
raising = planted("raising", raises)
zero = planted("zero", zeros)
segfault = planted("segfault", dies)
trap = planted("trap", traps)
mutation = planted("mutation", mutates)
uninitialised = planted("uninitialised", leaves_out)
hang = planted("hang", hangs)
leaving = planted("leaving", leaves)
right_one = planted("right_one", right)
pinned = planted("pinned", right, suite=1)
dead_device = planted("dead_device", right, unavailable=lambda: ctypes.string_at(0) and "never")
