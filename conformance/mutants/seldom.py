"""Kernels that are wrong where tests seldom look: large steps, kernels, batches, blocks, sizes.

What is wrong in one dtype or layout only has to be found there: kernels are compiled for each.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from opspec.conformance.mutants.conditions import (
    DILATIONS,
    DIMENSIONS,
    STRIDES,
    WITHOUT_LAST_TAP,
    Where,
    both,
    has,
    has_kernel,
    has_steps,
    lies,
)
from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.parts import DEPTH, HEIGHT, without
from opspec.conformance.mutants.recipe import Array, Kernel, Recipe, only
from opspec.conformance.mutants.tiles import whole_tiles
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS, ConvGeometry

Row = tuple[str, str, Kernel]

IN_SINGLE = Recipe(sums=lambda dtype: np.dtype(np.float32))


def seldom_mutants() -> Iterator[Mutant]:
    """Yield mutants of the families that their conditions are about."""
    for family, rows in (
        ("dilation", _steps()),
        ("index", _kernel_sizes()),
        ("index", _long_dimensions()),
        ("index", _many_products()),
        ("batch", _batches()),
        ("channels", _blocks()),
        ("precision", _single()),
    ):
        yield from family_of(family, rows)


def _steps() -> Iterator[Row]:
    for stride, dilation in product(STRIDES, DILATIONS):
        yield (
            f"wrong-only-for-stride-{stride}-dilation-{dilation}",
            f"a last tap left out only for a stride of {stride} with a dilation of {dilation}",
            only(has_steps(stride, dilation), WITHOUT_LAST_TAP),
        )


def _kernel_sizes() -> Iterator[Row]:
    for axis, size in product(range(3), range(5, 10)):
        yield (
            f"wrong-only-for-kernels-of-{DIMENSIONS[axis]}-{size}",
            f"a last tap left out only for kernels of {DIMENSIONS[axis]} {size}",
            only(has_kernel(axis, size), WITHOUT_LAST_TAP),
        )


def _long_dimensions() -> Iterator[Row]:
    for (axis, dimension), length in product(
        ((DEPTH, "depth"), (HEIGHT, "height")), (8, 16, 32, 64)
    ):
        yield (
            f"last-tile-of-{length}-along-the-{dimension}-lost",
            f"whole tiles of {length} places along the {dimension} and the rest never written",
            Recipe(made=whole_tiles(axis, length)),
        )
    for dtype, layout in product(FLOATING, DATA_FORMATS):
        if dtype != "bfloat16":
            yield (
                f"{dtype}-{layout.lower()}-last-plane-beyond-17-lost",
                f"a last plane that is never written in {dtype} and {layout} beyond a depth of 17",
                only(
                    both(_is(dtype, layout), lambda g: g.windows[0].input > 17),
                    Recipe(made=lambda made, geometry: without(made, DEPTH, slice(-1, None))),
                ),
            )


def _many_products() -> Iterator[Row]:
    yield (
        "wrong-only-for-50-million-products",
        "a last tap left out only for more than 50 million products",
        only(lambda geometry: geometry.multiply_adds > 50_000_000, WITHOUT_LAST_TAP),
    )


def _batches() -> Iterator[Row]:
    for dtype, layout, most in product(FLOATING, DATA_FORMATS, (3, 7, 15)):
        yield (
            f"{dtype}-{layout.lower()}-batch-entries-beyond-{most}-repeated",
            f"at most {most} batch entries of {dtype} in {layout}, the last of them repeated",
            only(_is(dtype, layout), Recipe(made=_repeated_beyond(most))),
        )


def _blocks() -> Iterator[Row]:
    for dtype, layout in product(FLOATING, DATA_FORMATS):
        for block in (32, 64, 128):
            yield (
                f"{dtype}-{layout.lower()}-wrong-only-for-made-channels-in-{block}s",
                f"a last tap left out only for made channels of {dtype} in {layout} that fill "
                f"blocks of {block}",
                only(both(_is(dtype, layout), _makes_blocks(block)), WITHOUT_LAST_TAP),
            )
        for block in (32, 64):
            yield (
                f"{dtype}-{layout.lower()}-wrong-only-for-contracted-channels-in-{block}s",
                f"a last tap left out only for channels of data of {dtype} in {layout} that fill "
                f"blocks of {block}",
                only(both(_is(dtype, layout), _sums_blocks(block)), WITHOUT_LAST_TAP),
            )


def _single() -> Iterator[Row]:
    """Float64 whose sums are float32's in one kind of problem only."""
    conditions: tuple[tuple[str, str, Where], ...] = (
        ("batch-3", "a batch of 3", lambda g: g.batch == 3),
        ("many-made-channels", "more than 37 made channels", lambda g: g.in_channels > 37),
        ("one-made-channel", "one made channel", lambda g: g.in_channels == 1),
        ("ncdhw", "NCDHW", lambda g: g.data_format == "NCDHW"),
        ("dilated", "dilations", lambda g: g.dilated),
        ("kernel-1", "1x1x1 kernels", lambda g: all(w.kernel == 1 for w in g.windows)),
        (
            "upsampling-by-2",
            "kernel 2 and stride 2",
            lambda g: all(w.kernel == w.stride == 2 for w in g.windows),
        ),
        ("one-position", "a single position", lambda g: all(w.output == 1 for w in g.windows)),
    )
    for name, words, where in conditions:
        yield (
            f"float64-in-float32-only-for-{name}",
            f"float64 summed in float32 only for {words}",
            only(both(has("float64"), where), IN_SINGLE),
        )


def _is(dtype: str, layout: str) -> Where:
    return both(has(dtype), lies(layout))


def _makes_blocks(block: int) -> Where:
    return lambda geometry: geometry.in_channels % block == 0 < geometry.in_channels


def _sums_blocks(block: int) -> Where:
    return lambda geometry: geometry.out_channels % block == 0 < geometry.out_channels


def _repeated_beyond(most: int) -> Callable[[Array, ConvGeometry], Array]:
    def repeated(made: Array, geometry: ConvGeometry) -> Array:
        return made[np.minimum(np.arange(len(made)), most - 1)]

    return repeated
