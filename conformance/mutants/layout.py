"""Wrong layouts: channels taken for places, and the steps or the filter read in another order.

Where a layout is misread the memory stays as it is and is given another shape, as a kernel that
computes its own offsets would read it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import (
    Array,
    Kernel,
    Recipe,
    Windows,
    only,
)
from opspec.geometry import ConvGeometry


def layout_mutants() -> Iterator[Mutant]:
    """Yield the family "layout"."""
    return family_of("layout", (*_misread_data(), *_misread_results(), *_misread_under_ncdhw()))


def _misread_data() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "ncdhw-data-misread-as-ndhwc",
        "NCDHW data read as NDHWC",
        only(_channels_first, Recipe(inward=_as_channels_last)),
    )
    yield (
        "ndhwc-data-misread-as-ncdhw",
        "NDHWC data read as NCDHW",
        only(_channels_last, Recipe(inward=_as_channels_first)),
    )
    yield (
        "ncdhw-data-misread-as-ndchw",
        "NCDHW data read with the depth before the channels",
        only(_channels_first, Recipe(inward=_as_depth_first)),
    )
    yield (
        "data-batch-and-channels-swapped-in-memory",
        "data read with batch and channels swapped",
        Recipe(source=_batch_swapped),
    )
    for axes, names in (((1, 2), "depth-and-height"), ((2, 3), "height-and-width")):
        yield (
            f"data-{names}-swapped-in-memory",
            f"data read with {names.replace('-', ' ')} swapped",
            Recipe(source=_read_swapped(*axes)),
        )


def _misread_results() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "ncdhw-result-not-moved-back",
        "an NCDHW result computed with the channels last and left so",
        only(_channels_first, Recipe(outward=_left_channels_last)),
    )
    yield (
        "ncdhw-computed-as-ndhwc",
        "NCDHW computed as NDHWC on both sides",
        only(_channels_first, Recipe(inward=_as_channels_last, outward=_left_channels_last)),
    )
    yield (
        "ncdhw-result-spatial-axes-rotated",
        "an NCDHW result written in the order height, width, depth",
        only(_channels_first, Recipe(made=lambda made, geometry: _written(made, (0, 2, 3, 1, 4)))),
    )
    yield (
        "ncdhw-result-spatial-axes-reversed",
        "an NCDHW result written in the order width, height, depth",
        only(_channels_first, Recipe(made=lambda made, geometry: _written(made, (0, 3, 2, 1, 4)))),
    )
    yield (
        "result-batch-and-channels-swapped-in-memory",
        "a result written with batch and channels swapped",
        Recipe(made=lambda made, geometry: _written(made, (4, 1, 2, 3, 0))),
    )
    yield (
        "ndhwc-result-written-as-ncdhw",
        "an NDHWC result written as NCDHW",
        only(_channels_last, Recipe(made=lambda made, geometry: _written(made, (0, 4, 1, 2, 3)))),
    )


def _misread_under_ncdhw() -> Iterator[tuple[str, str, Kernel]]:
    for step in ("stride", "dilation"):
        yield (
            f"ncdhw-{step}s-at-the-positions-of-ndhwc",
            f"NCDHW {step}s read from the positions that NDHWC has them in",
            only(_channels_first, Recipe(windows=_one_too_early(step))),
        )
    yield (
        "ncdhw-filter-misread-as-channels-first",
        "a filter read as [in, out, depth, height, width] under NCDHW",
        only(_channels_first, Recipe(filter=_read_channels_first)),
    )
    yield (
        "ncdhw-filter-misread-as-out-in-first",
        "a filter read as [out, in, depth, height, width] under NCDHW",
        only(_channels_first, Recipe(filter=_read_out_in_first)),
    )
    yield (
        "ncdhw-filter-channels-swapped",
        "a filter read as [depth, height, width, out, in] under NCDHW",
        only(_channels_first, Recipe(filter=read_with_channels_swapped)),
    )
    yield (
        "ncdhw-filter-flipped",
        "a filter turned round in all dimensions under NCDHW",
        only(_channels_first, Recipe(filter=lambda filter, geometry: filter[::-1, ::-1, ::-1])),
    )


def read_with_channels_swapped(filter: Array, geometry: ConvGeometry) -> Array:
    """Read a filter's memory as if it were [depth, height, width, out, in]."""
    *kernel, made, contracted = filter.shape
    return filter.reshape(*kernel, contracted, made).swapaxes(3, 4)


def _channels_first(geometry: ConvGeometry) -> bool:
    return geometry.data_format == "NCDHW"


def _channels_last(geometry: ConvGeometry) -> bool:
    return geometry.data_format == "NDHWC"


def _small_side(geometry: ConvGeometry) -> tuple[int, ...]:
    return tuple(window.output for window in geometry.windows)


def _as_channels_last(source: Array, geometry: ConvGeometry) -> Array:
    return source.reshape(geometry.batch, *_small_side(geometry), geometry.out_channels)


def _as_channels_first(source: Array, geometry: ConvGeometry) -> Array:
    read = source.reshape(geometry.batch, geometry.out_channels, *_small_side(geometry))
    return np.moveaxis(read, 1, -1)


def _as_depth_first(source: Array, geometry: ConvGeometry) -> Array:
    depth, height, width = _small_side(geometry)
    read = source.reshape(geometry.batch, depth, geometry.out_channels, height, width)
    return np.moveaxis(read, 2, -1)


def _batch_swapped(source: Array, geometry: ConvGeometry) -> Array:
    batch, *places, channels = source.shape
    return source.reshape(channels, *places, batch).swapaxes(0, 4)


def _read_swapped(axis: int, other: int) -> Callable[[Array, ConvGeometry], Array]:
    def read(source: Array, geometry: ConvGeometry) -> Array:
        shape = list(source.shape)
        shape[axis], shape[other] = shape[other], shape[axis]
        return source.reshape(shape).swapaxes(axis, other)

    return read


def _left_channels_last(result: Array, geometry: ConvGeometry) -> Array:
    return np.ascontiguousarray(result).reshape(geometry.input_shape)


def _written(made: Array, order: tuple[int, ...]) -> Array:
    return made.transpose(order).reshape(made.shape)


def _one_too_early(step: str) -> Callable[[ConvGeometry], Windows]:
    """Read positions 1 to 3 of five: a channel's 1, then depth's and height's step."""

    def windows(geometry: ConvGeometry) -> Windows:
        steps = [1, *(getattr(window, step) for window in geometry.windows[:2])]
        return tuple(
            replace(window, **{step: value})
            for window, value in zip(geometry.windows, steps, strict=True)
        )

    return windows


def _read_channels_first(filter: Array, geometry: ConvGeometry) -> Array:
    *kernel, made, contracted = filter.shape
    return np.moveaxis(filter.reshape(made, contracted, *kernel), (0, 1), (3, 4))


def _read_out_in_first(filter: Array, geometry: ConvGeometry) -> Array:
    *kernel, made, contracted = filter.shape
    return np.moveaxis(filter.reshape(contracted, made, *kernel), (0, 1), (4, 3))
