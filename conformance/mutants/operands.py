"""Operands read as if they lay otherwise in memory, and arrays for the result filled wrongly.

What is read stays within the memory that an operand spans; a real kernel would read beyond it.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from opspec.conformance.mutants.memory import reached
from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import RIGHT, Array, Kernel
from opspec.geometry import ConvGeometry


def operand_mutants() -> Iterator[Mutant]:
    """Yield more of the family "memory"."""
    return family_of("memory", (*_misread(), *_misread_broadcast(), *_refused(), *_given_out()))


def _misread() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "filter-read-as-contiguous",
        "a filter read as if it were contiguous",
        _on_operands(_read_as_contiguous, _as_it_is),
    )
    yield (
        "data-read-as-contiguous",
        "data read as if they were contiguous",
        _on_operands(_as_it_is, _read_as_contiguous),
    )
    yield (
        "negative-strides-read-as-positive",
        "negative strides read as positive",
        _on_operands(_unturned, _unturned),
    )
    yield (
        "innermost-stride-of-data-ignored",
        "data read as if their innermost elements touched",
        _on_operands(_as_it_is, _innermost_touching),
    )
    yield (
        "innermost-stride-of-filter-ignored",
        "a filter read as if its innermost elements touched",
        _on_operands(_innermost_touching, _as_it_is),
    )
    yield (
        "filter-in-fortran-order-read-as-c",
        "a filter in Fortran order read as if it were in C order",
        _on_operands(_fortran_read_as_c, _as_it_is),
    )


def _misread_broadcast() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "broadcast-filter-read-as-contiguous",
        "a broadcast filter read as if each element were stored",
        _on_operands(_read_broadcast_as_contiguous, _as_it_is),
    )
    yield (
        "broadcast-data-read-as-contiguous",
        "broadcast data read as if each element were stored",
        _on_operands(_as_it_is, _read_broadcast_as_contiguous),
    )


def _refused() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "read-only-operand-refused",
        "an error for an operand that is read-only",
        _refusing(lambda array: not array.flags.writeable, "buffer source array is read-only"),
    )
    yield (
        "strided-operand-refused",
        "an error for an operand that is not contiguous",
        _refusing(lambda array: not array.flags.c_contiguous, "ndarray is not C-contiguous"),
    )


def _given_out() -> Iterator[tuple[str, str, Kernel]]:
    yield "out-added-to", "out= added to instead of filled", filling(_add)
    yield "out-left-as-it-was", "out= never written", filling(lambda out, result, geometry: None)
    yield (
        "out-filled-where-reached",
        "out= left as it was where no tap reaches",
        filling(_fill_where_reached),
    )
    yield (
        "out-without-the-last-channel",
        "out= left as it was in the last channel",
        filling(_fill_all_but_last),
    )
    yield (
        "out-as-if-in-the-other-layout",
        "out= filled in NDHWC whatever the data format",
        filling(_fill_channels_last),
    )
    yield "out-not-returned", "another array than out= returned", _returning_another
    yield "out-not-returned-at-all", "nothing returned where out= is given", _returning_nothing
    yield (
        "out-zeroed-too-late",
        "out= cleared after a part of the sums was written",
        filling(_clear_too_late),
    )


def _on_operands(
    filter_read: Callable[[Array], Array], data_read: Callable[[Array], Array]
) -> Kernel:
    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        return RIGHT(geometry, filter_read(filter), data_read(out_backprop))

    return kernel


def _as_it_is(array: Array) -> Array:
    return array


def _read_as_contiguous(array: Array) -> Array:
    """Read on from the first element; what lies behind the operand's memory reads as 0."""
    if array.flags.c_contiguous or array.size == 0:
        return array
    _, end = byte_bounds(array)
    count = min((end - array.ctypes.data) // array.itemsize, array.size)
    read = np.zeros(array.size, array.dtype)
    read[:count] = as_strided(array, (count,), (array.itemsize,), writeable=False)
    return read.reshape(array.shape)


def _read_broadcast_as_contiguous(array: Array) -> Array:
    steps = zip(array.shape, array.strides, strict=True)
    is_broadcast = any(size > 1 and stride == 0 for size, stride in steps)
    return _read_as_contiguous(array) if is_broadcast else array


def _unturned(array: Array) -> Array:
    forwards = tuple(slice(None, None, -1 if stride < 0 else 1) for stride in array.strides)
    return array[forwards]


def _innermost_touching(array: Array) -> Array:
    if array.size == 0 or array.strides[-1] <= array.itemsize:
        return array
    return as_strided(array, strides=(*array.strides[:-1], array.itemsize), writeable=False)


def _fortran_read_as_c(array: Array) -> Array:
    if array.flags.c_contiguous or not array.flags.f_contiguous:
        return array
    return array.ravel("K").reshape(array.shape)


def _refusing(where: Callable[[Array], bool], message: str) -> Kernel:
    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        if where(filter) or where(out_backprop):
            raise ValueError(message)
        return RIGHT(geometry, filter, out_backprop)

    return kernel


def filling(fill: Callable[[Array, Array, ConvGeometry], None]) -> Kernel:
    """Return a kernel that is right unless it is given an array for the result."""

    def kernel(
        geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
    ) -> Array:
        result = RIGHT(geometry, filter, out_backprop)
        if out is None:
            return result
        with np.errstate(all="ignore"):
            fill(out, result, geometry)
        return out

    return kernel


def _add(out: Array, result: Array, geometry: ConvGeometry) -> None:
    out += result


def _fill_where_reached(out: Array, result: Array, geometry: ConvGeometry) -> None:
    which = reached(geometry)[..., None] if geometry.data_format == "NDHWC" else reached(geometry)
    np.copyto(out, result, where=which)


def _channels_last(array: Array, geometry: ConvGeometry) -> Array:
    return np.moveaxis(array, 1, -1) if geometry.data_format == "NCDHW" else array


def _fill_all_but_last(out: Array, result: Array, geometry: ConvGeometry) -> None:
    _channels_last(out, geometry)[..., :-1] = _channels_last(result, geometry)[..., :-1]


def _fill_channels_last(out: Array, result: Array, geometry: ConvGeometry) -> None:
    out.reshape(-1)[...] = _channels_last(result, geometry).reshape(-1)


def _clear_too_late(out: Array, result: Array, geometry: ConvGeometry) -> None:
    out[...] = result
    _channels_last(out, geometry)[..., :1] = 0


def _returning_another(
    geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
) -> Array:
    return RIGHT(geometry, filter, out_backprop)


def _returning_nothing(
    geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
) -> Any:
    result = RIGHT(geometry, filter, out_backprop)
    if out is None:
        return result
    out[...] = result
    return None
