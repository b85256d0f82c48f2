"""For each property a backend that breaks it, under the property's name; one for the mean."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from opspec.backends.numpy import backend as numpy_backend
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS, ConvGeometry
from opspec.registry import Backend, Capabilities

OPERATION = "Conv3DBackpropInputV2"
right = numpy_backend.kernel(OPERATION)

Array = np.ndarray[Any, Any]
Kernel = Callable[[ConvGeometry, Array, Array], Any]
ALL = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)


def other_padding(g: ConvGeometry, f: Array, o: Array) -> Any:
    depth, height, width = (replace(w, before=w.after) for w in g.windows)
    return right(replace(g, windows=(depth, height, width)), f, o)


def ten_bits(g: ConvGeometry, f: Array, o: Array) -> Any:
    if f.dtype != np.float32:
        return right(g, f, o)
    return right(g, (f.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32), o)


def less_precise(g: ConvGeometry, f: Array, o: Array) -> Any:
    """Within the bound for each element, but too often far from the sum."""
    if f.dtype != np.float32:
        return right(g, f, o)
    return right(g, (f.view(np.uint32) & np.uint32(0xFFFFFFFC)).view(np.float32), o)


def first_position_dropped(g: ConvGeometry, f: Array, o: Array) -> Any:
    kept = o.copy()
    kept[(slice(None),) + (slice(0, 1),) * 3 if g.data_format == "NDHWC" else ()] = 0
    return right(g, f, kept)


def last_contracted_dropped(g: ConvGeometry, f: Array, o: Array) -> Any:
    kept = f.copy()
    kept[..., -1:] = 0
    return right(g, kept, o)


def channels_first_reversed(g: ConvGeometry, f: Array, o: Array) -> Any:
    made = right(g, f, o)
    return np.ascontiguousarray(made[:, ::-1]) if g.data_format == "NCDHW" else made


calls = 0


def every_other_call(g: ConvGeometry, f: Array, o: Array) -> Any:
    global calls
    calls += 1
    return right(g, f, o) + np.array(calls % 2, f.dtype)


KERNELS: dict[str, Kernel] = {
    "definition": lambda g, f, o: right(g, np.ascontiguousarray(f[::-1, ::-1, ::-1]), o),
    "bounded": ten_bits,
    "linear-in-filter": lambda g, f, o: right(g, abs(f), o),
    "linear-in-out_backprop": lambda g, f, o: right(g, f, np.maximum(o, np.zeros((), o.dtype))),
    "adjoint": other_padding,
    "spatial-shift": first_position_dropped,
    "channel-permutation": last_contracted_dropped,
    "batch-independence": lambda g, f, o: np.ascontiguousarray(right(g, f, o)[::-1]),
    "layouts-agree": channels_first_reversed,
    "powers-of-two": lambda g, f, o: right(g, np.clip(f, -1000, 1000).astype(f.dtype), o),
    "spellings-agree": every_other_call,
    "operations-agree": every_other_call,
    "mean": less_precise,
}


def planted(kernel: Kernel) -> Backend:
    backend = Backend("planted", "numpy.ndarray", ALL)
    backend.implements(OPERATION)(
        lambda geometry, filter, out_backprop: kernel(geometry, filter, out_backprop)
    )
    return backend


for name, kernel in KERNELS.items():
    globals()[name.replace("-", "_")] = planted(kernel)
