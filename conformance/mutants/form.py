"""Results of the wrong form, and problems without elements: the families "dtype" and "empties"."""

from collections.abc import Callable, Iterator

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import Array, Kernel, Recipe, only
from opspec.dtypes import numpy_dtype
from opspec.geometry import ConvGeometry

Change = Callable[[Array, ConvGeometry], Array]


def form_mutants() -> Iterator[Mutant]:
    """Yield the family "empties", and the part of "dtype" that is about the result's type."""
    yield from family_of("dtype", (*_types(), *_orders()))
    yield from family_of("empties", (*_no_sum(), *_no_positions(), *_no_elements()))


def _types() -> Iterator[tuple[str, str, Kernel]]:
    for dtype, returned in (
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float32", "float64"),
        ("float64", "float32"),
        ("float16", "bfloat16"),
    ):
        yield (
            f"{dtype}-returned-as-{returned}",
            f"a {returned} result for {dtype} operands",
            _of(dtype, Recipe(finished=_as(returned))),
        )
    yield (
        "bfloat16-returned-as-bits",
        "a bfloat16 result returned as whole numbers of its bits",
        _of("bfloat16", Recipe(finished=lambda result, geometry: result.view(np.uint16))),
    )
    yield (
        "empty-result-of-another-dtype",
        "a float32 result where there are no elements, whatever the dtype",
        only(
            lambda geometry: geometry.batch == 0,
            by_shape(lambda geometry: np.zeros(geometry.input_shape, np.float32)),
        ),
    )


def _orders() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "result-in-the-other-byte-order",
        "a result in the other byte order",
        _of_numpy(Recipe(finished=_swapped_bytes)),
    )
    yield (
        "bfloat16-halves-swapped",
        "a bfloat16 result with the bytes of each element swapped",
        _of("bfloat16", Recipe(finished=_swapped_bits)),
    )
    yield (
        "result-flat",
        "a result of one dimension",
        Recipe(finished=lambda result, geometry: result.reshape(-1)),
    )


def _no_sum() -> Iterator[tuple[str, str, Kernel]]:
    for name, looks_like, value in (
        ("nan", "NaN where there are no channels to sum over (0 / 0)", np.nan),
        ("one", "ones where there are no channels to sum over", 1.0),
    ):
        yield f"no-channels-give-{name}", looks_like, _without_channels(_filled(value))
    yield (
        "no-channels-left-uninitialised",
        "memory never written where there are no channels to sum over",
        _without_channels(_uninitialised),
    )
    yield (
        "no-channels-refused",
        "an error where there are no channels to sum over",
        _without_channels(_refused("integer division or modulo by zero")),
    )


def _no_positions() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "no-positions-refused",
        "an error where no window fits",
        only(_has_no_positions, _refused("need at least one array to concatenate")),
    )
    yield (
        "no-positions-left-uninitialised",
        "memory never written where no window fits",
        only(_has_no_positions, _uninitialised),
    )
    yield (
        "no-positions-give-an-empty-result",
        "a result without elements where no window fits",
        only(
            _has_no_positions,
            by_shape(lambda geometry: np.zeros((0,), numpy_dtype(geometry.dtype))),
        ),
    )


def _no_elements() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "batch-0-refused",
        "an error for a batch of 0",
        only(_has_no_batch, _refused("invalid configuration argument")),
    )
    yield (
        "batch-0-taken-for-1",
        "a batch of 0 taken for a batch of 1",
        only(_has_no_batch, by_shape(_one_entry)),
    )
    yield (
        "batch-0-loses-its-shape",
        "a result of shape [0] for a batch of 0",
        only(
            _has_no_batch,
            by_shape(lambda geometry: np.zeros((0,), numpy_dtype(geometry.dtype))),
        ),
    )
    yield (
        "size-0-refused",
        "an error for a spatial size of 0",
        only(_has_no_places, _refused("negative dimensions are not allowed")),
    )
    yield (
        "size-0-taken-for-1",
        "a spatial size of 0 taken for 1",
        only(_has_no_places, by_shape(_one_place)),
    )


def by_shape(make: Callable[[ConvGeometry], Array]) -> Kernel:
    """Return a kernel that looks at the shapes only."""

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        return make(geometry)

    return kernel


def _of(dtype: str, wrong: Kernel) -> Kernel:
    return only(lambda geometry: geometry.dtype == dtype, wrong)


def _of_numpy(wrong: Kernel) -> Kernel:
    """Wrong for the dtypes that have a byte order in NumPy."""
    return only(lambda geometry: geometry.dtype != "bfloat16", wrong)


def _as(dtype: str) -> Change:
    return lambda result, geometry: result.astype(numpy_dtype(dtype))


def _swapped_bytes(result: Array, geometry: ConvGeometry) -> Array:
    return result.astype(result.dtype.newbyteorder())


def _swapped_bits(result: Array, geometry: ConvGeometry) -> Array:
    return result.view(np.uint16).byteswap().view(result.dtype)


def _has_no_positions(geometry: ConvGeometry) -> bool:
    """Whether there are places but no positions: VALID with a kernel above the size."""
    return any(window.output == 0 < window.input for window in geometry.windows)


def _has_no_batch(geometry: ConvGeometry) -> bool:
    return geometry.batch == 0


def _has_no_places(geometry: ConvGeometry) -> bool:
    return any(window.input == 0 for window in geometry.windows)


def _without_channels(wrong: Kernel) -> Kernel:
    return only(lambda geometry: geometry.out_channels == 0, wrong)


def _filled(value: float) -> Kernel:
    def fill(geometry: ConvGeometry) -> Array:
        return np.full(geometry.input_shape, value).astype(numpy_dtype(geometry.dtype))

    return by_shape(fill)


def _uninitialised(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    return np.empty(geometry.input_shape, numpy_dtype(geometry.dtype))


def _refused(message: str) -> Kernel:
    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        raise ValueError(message)

    return kernel


def _one_entry(geometry: ConvGeometry) -> Array:
    return np.zeros((1, *geometry.input_shape[1:]), numpy_dtype(geometry.dtype))


def _one_place(geometry: ConvGeometry) -> Array:
    return np.zeros([max(size, 1) for size in geometry.input_shape], numpy_dtype(geometry.dtype))
