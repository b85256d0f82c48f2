"""Backends with a fault each, under its name, that scripts must show."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from opspec.backends.numpy import backend as numpy_backend
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS, ConvGeometry
from opspec.registry import Backend, Capabilities

OPERATION = "Conv3DBackpropInputV2"
right = numpy_backend.kernel(OPERATION)

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
ALL = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)


def planted(kernel: Kernel) -> Backend:
    backend = Backend("planted", "numpy.ndarray", ALL)
    backend.implements(OPERATION)(kernel)
    return backend


def simple(kernel: Kernel) -> Backend:
    return planted(lambda geometry, filter, out_backprop: kernel(geometry, filter, out_backprop))


def contiguous_only(g: ConvGeometry, f: Array, o: Array) -> Any:
    """Read memory as if every operand lay in C order."""

    def flat(a: Array) -> Array:
        if a.size == 0 or a.flags.c_contiguous:
            return a
        base: Any = a if a.base is None else a.base
        while isinstance(getattr(base, "base", None), np.ndarray):
            base = base.base
        found = np.resize(np.ravel(base, "K").view(a.dtype), a.shape)
        return np.ascontiguousarray(found)

    return right(g, flat(f), flat(o))


def writes(g: ConvGeometry, f: Array, o: Array) -> Any:
    made = right(g, f, o)
    f[...] = 0
    return made


def refuses_broadcast(g: ConvGeometry, f: Array, o: Array) -> Any:
    return right(g, f if f.strides[3] else f * 2, o)


def leaves_zeros(g: ConvGeometry, f: Array, o: Array) -> Any:
    made = right(g, f, o)
    found = np.empty_like(made)
    np.copyto(found, made, where=made != 0)
    return found


remembered: dict[Any, Any] = {}


def remembers(g: ConvGeometry, f: Array, o: Array) -> Any:
    key = g.input_shape, g.windows
    if key not in remembered:
        remembered[key] = f.copy()
    return right(g, remembered[key], o)


def unsettles(g: ConvGeometry, f: Array, o: Array) -> Any:
    np.seterr(all="raise")
    with np.errstate(all="ignore"):
        return right(g, f, o)


shared: dict[str, Array] = {}


def shares(g: ConvGeometry, f: Array, o: Array) -> Any:
    shared["data"] = o
    time.sleep(0.001)
    return right(g, f, shared["data"])


def adds(
    geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
) -> Any:
    made = right(geometry, filter, out_backprop)
    if out is None:
        return made
    out += made
    return out


def unsteady(g: ConvGeometry, f: Array, o: Array) -> Any:
    remembered["count"] = remembered.get("count", 0) + 1
    made = right(g, f, o)
    return made * made.dtype.type(1 + 2e-7) if remembered["count"] % 3 == 0 else made


def bits(mask: int) -> Kernel:
    def kernel(g: ConvGeometry, f: Array, o: Array) -> Any:
        if f.dtype != np.float32:
            return right(g, f, o)
        return right(g, (f.view(np.uint32) & np.uint32(mask)).view(np.float32), o)

    return kernel


def raises(g: ConvGeometry, f: Array, o: Array) -> Any:
    raise ZeroDivisionError("no")


flipped = simple(lambda g, f, o: right(g, np.ascontiguousarray(f[::-1, ::-1, ::-1]), o))
flat = simple(contiguous_only)
writing = simple(writes)
doubling = simple(refuses_broadcast)
leaving = simple(leaves_zeros)
remembering = simple(remembers)
unsettling = simple(unsettles)
sharing = simple(shares)
adding = planted(adds)
wavering = simple(unsteady)
ten_bits = simple(bits(0xFFFFE000))
two_bits_less = simple(bits(0xFFFFFFFC))
raising = simple(raises)
of_zeros = simple(lambda g, f, o: np.zeros(g.input_shape, f.dtype))
aliasing = simple(lambda g, f, o: f if f.shape == g.input_shape else right(g, f, o))
doubles = simple(lambda g, f, o: right(g, f, o).astype(float))
fortran = simple(lambda g, f, o: np.asfortranarray(right(g, f, o)))
without_nan = simple(lambda g, f, o: np.nan_to_num(right(g, f, o), nan=0, posinf=np.inf))
only_large = simple(lambda g, f, o: right(g, f, o) + np.array(bool((o == 77).any()), f.dtype))
