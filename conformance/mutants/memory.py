"""Memory that is kept, shared, written or left unwritten where it must not be."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, family_of, remembering
from opspec.conformance.mutants.parts import CHANNELS
from opspec.conformance.mutants.recipe import RIGHT, Array, Kernel, Recipe, Windows, places
from opspec.dtypes import numpy_dtype
from opspec.geometry import ConvGeometry

Key = Callable[[ConvGeometry, Array, Array], Any]


def memory_mutants() -> Iterator[Mutant]:
    """Yield what is kept from call to call, written into operands, or never written."""
    yield from remembering("memory", (*_results_kept(), *_filters_kept(), *_plans_kept()))
    yield from family_of("memory", (*_operands_written(), *_never_written(), *_laid_out()))


def _results_kept() -> Iterator[tuple[str, str, Callable[[], Kernel]]]:
    yield (
        "sums-not-cleared-between-calls",
        "sums kept for the next call of the same shape and not cleared before it",
        _accumulating,
    )
    yield (
        "one-result-for-all-calls",
        "a result that the next call of the same shape writes into",
        _returning_its_buffer,
    )
    yield (
        "result-remembered-by-shape",
        "the result of an earlier call of the same problem on other values",
        lambda: _remembered(lambda geometry, filter, data: geometry),
    )
    yield (
        "result-remembered-by-address",
        "the result of an earlier call on the same addresses",
        lambda: _remembered(
            lambda geometry, filter, data: (geometry, filter.ctypes.data, data.ctypes.data)
        ),
    )


def _filters_kept() -> Iterator[tuple[str, str, Callable[[], Kernel]]]:
    for name, words, key in (
        ("shape", "of that shape", lambda _, filter, data: (filter.shape, filter.dtype)),
        ("identity", "that was the same object", lambda _, filter, data: id(filter)),
        ("address", "that lay there", lambda _, filter, data: filter.ctypes.data),
        ("first-tap", "that begins alike", lambda _, filter, data: filter[:1, :1, :1].tobytes()),
    ):
        yield (
            f"filter-remembered-by-{name}",
            f"a packed filter kept from an earlier call {words}",
            _keeping_filters(key),
        )
    yield (
        "data-remembered-by-address",
        "data kept from an earlier call that lay there",
        _keeping_data,
    )


def _plans_kept() -> Iterator[tuple[str, str, Callable[[], Kernel]]]:
    for name, left_out, key in (
        ("strides", "the strides", lambda w: (w.input, w.kernel, w.dilation, w.before)),
        ("dilations", "the dilations", lambda w: (w.input, w.output, w.kernel, w.stride)),
        ("padding", "the padding", lambda w: (w.output, w.kernel, w.stride, w.dilation)),
    ):
        yield (
            f"plan-kept-without-{name}",
            f"a plan kept for shapes that leaves out {left_out}",
            _keeping_plans(key),
        )


def _operands_written() -> Iterator[tuple[str, str, Kernel]]:
    yield "filter-turned-round-in-place", "a filter turned round in place", _turning_the_filter
    yield "data-used-as-scratch", "data used as scratch memory", _scratching_the_data
    yield (
        "result-over-the-data",
        "a result written over the data of a 1x1x1 kernel",
        _over_the_data,
    )
    yield (
        "data-returned-itself",
        "the data themselves returned where the result equals them",
        _returning_the_data,
    )


def _never_written() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "unreached-places-never-written",
        "memory never written where no tap reaches",
        Recipe(finished=_unreached_unwritten),
    )
    yield (
        "last-lanes-never-written",
        "memory never written where made channels do not fill a vector of 8",
        Recipe(rounded=_last_lanes_unwritten),
    )


def _laid_out() -> Iterator[tuple[str, str, Kernel]]:
    yield "result-in-fortran-order", "a result in Fortran order", Recipe(finished=_in_fortran_order)
    yield "result-with-gaps", "a result with gaps between its elements", Recipe(finished=_with_gaps)
    yield (
        "ncdhw-result-only-viewed-so",
        "an NCDHW result that is an NDHWC one seen through a transposed view",
        Recipe(outward=_viewed),
    )


def _accumulating() -> Kernel:
    kept: dict[Any, Array] = {}

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        result = RIGHT(geometry, filter, out_backprop)
        key = (geometry.input_shape, geometry.dtype)
        kept[key] = kept.get(key, np.zeros_like(result)) + result
        return kept[key]

    return kernel


def _returning_its_buffer() -> Kernel:
    kept: dict[Any, Array] = {}

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        result = RIGHT(geometry, filter, out_backprop)
        buffer = kept.setdefault((result.shape, result.dtype), result)
        buffer[...] = result
        return buffer

    return kernel


def _remembered(key: Key) -> Kernel:
    kept: dict[Any, Array] = {}

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        found = key(geometry, filter, out_backprop)
        if found not in kept:
            kept[found] = RIGHT(geometry, filter, out_backprop)
        return kept[found].copy()

    return kernel


def _keeping_filters(key: Key) -> Callable[[], Kernel]:
    def make() -> Kernel:
        kept: dict[Any, Array] = {}

        def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
            found = (key(geometry, filter, out_backprop), filter.shape, filter.dtype)
            return RIGHT(geometry, kept.setdefault(found, filter.copy()), out_backprop)

        return kernel

    return make


def _keeping_data() -> Kernel:
    kept: dict[Any, Array] = {}

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        found = (out_backprop.ctypes.data, out_backprop.shape, out_backprop.dtype)
        return RIGHT(geometry, filter, kept.setdefault(found, out_backprop.copy()))

    return kernel


def _keeping_plans(key: Callable[[Any], Any]) -> Callable[[], Kernel]:
    """Keep windows; positions and places stay within what the arrays have."""

    def make() -> Kernel:
        kept: dict[Any, Windows] = {}

        def windows(geometry: ConvGeometry) -> Windows:
            return kept.setdefault(tuple(map(key, geometry.windows)), geometry.windows)

        return Recipe(windows=windows)

    return make


def _turning_the_filter(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result = RIGHT(geometry, filter, out_backprop)
    if filter.flags.writeable:
        filter[...] = filter[::-1, ::-1, ::-1].copy()
    return result


def _scratching_the_data(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result = RIGHT(geometry, filter, out_backprop)
    if out_backprop.flags.writeable:
        out_backprop *= out_backprop.dtype.type(2)
    return result


def _over_the_data(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result = RIGHT(geometry, filter, out_backprop)
    pointwise = all(window.kernel == window.stride == 1 for window in geometry.windows)
    flags = out_backprop.flags
    if not pointwise or result.size > out_backprop.size or not (flags.carray and flags.aligned):
        return result
    written = out_backprop.reshape(-1)[: result.size].reshape(result.shape)
    written[...] = result
    return written


def _returning_the_data(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result = RIGHT(geometry, filter, out_backprop)
    alike = np.array_equal(result, out_backprop) and out_backprop.flags.c_contiguous
    return out_backprop if alike else result


def reached(geometry: ConvGeometry) -> Array:
    """Return for each place of the result, channels left out, whether any tap reaches it."""
    along = []
    for window in geometry.windows:
        touched = np.zeros(window.input, bool)
        for tap in range(window.kernel):
            touched[places(window, tap)[1]] = True
        along.append(touched)
    depth, height, width = along
    return depth[:, None, None] & height[:, None] & width


def _unreached_unwritten(result: Array, geometry: ConvGeometry) -> Array:
    fresh = np.empty(result.shape, result.dtype)
    which = reached(geometry)[..., None] if geometry.data_format == "NDHWC" else reached(geometry)
    np.copyto(fresh, result, where=which)
    return fresh


def _last_lanes_unwritten(sums: Array, dtype: np.dtype[Any]) -> Array:
    channels = sums.shape[CHANNELS]
    written = channels if channels < 8 else channels // 8 * 8
    fresh = np.empty(sums.shape, dtype)
    fresh[..., :written] = sums[..., :written]
    return fresh


def _in_fortran_order(result: Array, geometry: ConvGeometry) -> Array:
    return np.asfortranarray(result)


def _with_gaps(result: Array, geometry: ConvGeometry) -> Array:
    spread = np.zeros((*result.shape[:-1], 2 * result.shape[-1]), numpy_dtype(geometry.dtype))
    spread[..., ::2] = result
    return spread[..., ::2]


def _viewed(result: Array, geometry: ConvGeometry) -> Array:
    return np.moveaxis(result, -1, 1) if geometry.data_format == "NCDHW" else result
