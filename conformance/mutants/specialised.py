"""Kernels that are wrong in one of their variants only: for one dtype, layout or kind of shape.

Kernels are specialised, by templates or by paths for shapes that are common or easy. Each mutant
here leaves out the filter's last tap in one variant and is right everywhere else.
"""

from collections.abc import Callable, Iterator
from itertools import product
from math import prod

from opspec.conformance.mutants.conditions import (
    DIMENSIONS,
    WITHOUT_LAST_TAP,
    Where,
    both,
    has,
    lies,
)
from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import only
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS, ConvGeometry, Window


def specialised_mutants() -> Iterator[Mutant]:
    """Yield mutants of the families that their conditions are about."""
    for family, rows in (
        *conditions(),
        ("layout", _channels_second()),
        ("channels", _channels()),
        ("channels", _channels_one_above()),
        ("dtype", _large()),
        ("precision", _long()),
    ):
        yield from family_of(
            family,
            (
                (
                    f"wrong-only-for-{name}",
                    f"a last tap left out only for {words}",
                    only(where, WITHOUT_LAST_TAP),
                )
                for name, words, where in rows
            ),
        )


def conditions() -> Iterator[tuple[str, Iterator[tuple[str, str, Where]]]]:
    """Yield, by family, conditions that have a meaning for every operation."""
    yield "dtype", _dtypes()
    yield "dilation", _dilations()
    yield "layout", _layouts()
    yield "stride", _strides()
    yield "padding", _paddings()
    yield "batch", _batches()
    yield "index", _kernels()


def _dtypes() -> Iterator[tuple[str, str, Where]]:
    for dtype, layout in product(FLOATING, DATA_FORMATS):
        yield f"{dtype}-{layout.lower()}", f"{dtype} in {layout}", both(has(dtype), lies(layout))
    for dtype, layout, (padding, padded) in product(
        FLOATING, DATA_FORMATS, (("same", _is_padded), ("valid", _not(_is_padded)))
    ):
        variant = both(both(has(dtype), lies(layout)), padded)
        yield (
            f"{dtype}-{layout.lower()}-{padding}-overlapping",
            f"{dtype} in {layout} with {padding.upper()} and windows that overlap unevenly",
            both(variant, _overlaps_unevenly),
        )
    for dtype in FLOATING:
        yield f"{dtype}-dilated", f"{dtype} and dilations", both(has(dtype), _is_dilated)
        yield f"{dtype}-valid", f"{dtype} and VALID", both(has(dtype), _not(_is_padded))
        yield f"{dtype}-same", f"{dtype} and SAME", both(has(dtype), _is_padded)


def _dilations() -> Iterator[tuple[str, str, Where]]:
    yield "dilated-and-strided", "dilations with strides", both(_is_dilated, _is_strided)
    yield "dilated-not-strided", "dilations without strides", both(_is_dilated, _not(_is_strided))
    yield "dilated-valid", "dilations with VALID", both(_is_dilated, _not(_is_padded))
    yield "dilated-same", "dilations with SAME", both(_is_dilated, _is_padded)
    for axis, dimension in enumerate(DIMENSIONS):
        yield f"dilated-{dimension}", f"a dilated {dimension}", _dilated_along(axis)
    yield (
        "dilation-and-stride-with-a-common-factor",
        "a dilation and a stride with a common factor",
        lambda geometry: any(w.dilation > 1 and w.dilation == w.stride for w in geometry.windows),
    )


def _layouts() -> Iterator[tuple[str, str, Where]]:
    first = lies("NCDHW")
    yield "ncdhw-dilated", "dilations in NCDHW", both(first, _is_dilated)
    yield "ncdhw-strided", "strides in NCDHW", both(first, _is_strided)
    yield "ncdhw-not-strided", "strides of 1 in NCDHW", both(first, _not(_is_strided))
    yield "ncdhw-valid", "VALID in NCDHW", both(first, _not(_is_padded))
    yield "ncdhw-same", "SAME in NCDHW", both(first, _is_padded)
    yield "ncdhw-batch-1", "a batch of 1 in NCDHW", both(first, _batch_is_1)
    yield "ncdhw-kernel-1", "1x1x1 kernels in NCDHW", both(first, _is_pointwise)


def _channels_second() -> Iterator[tuple[str, str, Where]]:
    first = lies("NCDHW")
    yield "ncdhw-one-made-channel", "one made channel in NCDHW", both(first, _makes_one)
    yield "ncdhw-one-contracted-channel", "one channel of data in NCDHW", both(first, _sums_one)


def _strides() -> Iterator[tuple[str, str, Where]]:
    def every(where: Callable[[Window], bool]) -> Where:
        return lambda geometry: all(map(where, geometry.windows))

    yield "stride-1", "strides of 1", _not(_is_strided)
    yield (
        "stride-equals-kernel",
        "strides equal to the kernel",
        every(lambda w: w.stride == w.kernel),
    )
    yield "stride-above-kernel", "strides above the kernel", every(lambda w: w.stride > w.kernel)
    yield (
        "equal-strides",
        "one stride above 1 for all dimensions",
        lambda geometry: _is_strided(geometry) and len({w.stride for w in geometry.windows}) == 1,
    )
    yield (
        "width-strides-from-3",
        "strides of 3 and more along the width",
        lambda geometry: geometry.windows[2].stride > 2,
    )


def _paddings() -> Iterator[tuple[str, str, Where]]:
    yield "same", "SAME that does pad", _is_padded
    yield "valid", "VALID, or SAME that does not pad", _not(_is_padded)
    yield (
        "uneven-padding-of-depth",
        "padding of the depth with an odd position",
        lambda geometry: geometry.windows[0].before != geometry.windows[0].after,
    )
    yield (
        "tail-beyond-the-last-window",
        "sizes with a tail that no window reaches",
        lambda geometry: any(w.landing(w.output, 0) < w.input for w in geometry.windows),
    )


def _channels() -> Iterator[tuple[str, str, Where]]:
    yield "one-made-channel", "one made channel", _makes_one
    yield "one-contracted-channel", "one channel of data", _sums_one
    yield "one-channel-each", "one channel on both sides", both(_makes_one, _sums_one)
    yield (
        "equal-channels",
        "as many channels on both sides",
        lambda geometry: geometry.in_channels == geometry.out_channels,
    )
    yield (
        "channels-in-16s",
        "made channels that fill vectors of 16",
        lambda geometry: geometry.in_channels % 16 == 0,
    )
    yield (
        "contracted-channels-in-8s",
        "channels of data that fill vectors of 8",
        lambda geometry: geometry.out_channels % 8 == 0 and geometry.out_channels > 0,
    )


def _channels_one_above() -> Iterator[tuple[str, str, Where]]:
    for block in (8, 16, 128):
        yield (
            f"made-channels-one-above-{block}s",
            f"one made channel more than blocks of {block} take",
            _makes_one_above(block),
        )
    yield (
        "contracted-channels-one-above-16s",
        "one channel of data more than blocks of 16 take",
        lambda geometry: geometry.out_channels % 16 == 1 < geometry.out_channels,
    )


def _batches() -> Iterator[tuple[str, str, Where]]:
    yield "batch-1", "a batch of 1", _batch_is_1
    yield "batches-from-4", "batches of 4 and more", lambda geometry: geometry.batch >= 4


def _kernels() -> Iterator[tuple[str, str, Where]]:
    yield "kernel-1", "1x1x1 kernels", _is_pointwise
    yield "kernel-3", "3x3x3 kernels", lambda g: all(w.kernel == 3 for w in g.windows)
    yield "flat-kernels", "kernels of depth 1", lambda g: g.windows[0].kernel == 1
    yield (
        "kernels-above-the-size",
        "kernels above the size",
        lambda geometry: any(w.kernel > w.input for w in geometry.windows),
    )
    yield "upsampling-by-2", "kernel 2 and stride 2", lambda g: _every(g, kernel=2, stride=2)
    yield "kernel-3-stride-2", "kernel 3 and stride 2", lambda g: _every(g, kernel=3, stride=2)
    yield "kernel-1-stride-2", "kernel 1 and stride 2", lambda g: _every(g, kernel=1, stride=2)
    yield "kernel-5", "5x5x5 kernels", lambda g: all(w.kernel == 5 for w in g.windows)
    yield "deep-kernels", "kernels of depth 5 and more", lambda g: g.windows[0].kernel >= 5
    yield (
        "cubes",
        "volumes of equal sizes",
        lambda g: len({w.input for w in g.windows}) == 1 < (g.windows[0].input),
    )
    yield "one-position", "a single position", lambda g: all(w.output == 1 for w in g.windows)


def _large() -> Iterator[tuple[str, str, Where]]:
    """Large problems are computed in ways of their own, each specialised for dtype and layout."""
    for dtype, layout in product(FLOATING, DATA_FORMATS):
        variant = both(has(dtype), lies(layout))
        for name, words, where in (
            ("many-products", "millions of products", _has_many_products),
            ("many-products-few-channels", "millions of products, few channels", _is_thin),
            ("large-filters", "filters of 50,000 numbers and more", _has_a_large_filter),
        ):
            yield (
                f"{dtype}-{layout.lower()}-{name}",
                f"{words} of {dtype} in {layout}",
                both(variant, where),
            )


def _long() -> Iterator[tuple[str, str, Where]]:
    for dtype in FLOATING:
        yield (
            f"{dtype}-sums-of-10000",
            f"sums of more than 10,000 terms of {dtype}",
            both(has(dtype), _sums_many),
        )


def _not(where: Where) -> Where:
    return lambda geometry: not where(geometry)


def _dilated_along(axis: int) -> Where:
    return lambda geometry: geometry.windows[axis].dilation > 1


def _makes_one_above(block: int) -> Where:
    return lambda geometry: geometry.in_channels % block == 1 < geometry.in_channels


def _every(geometry: ConvGeometry, *, kernel: int, stride: int) -> bool:
    return all((w.kernel, w.stride) == (kernel, stride) for w in geometry.windows)


def _is_dilated(geometry: ConvGeometry) -> bool:
    return geometry.dilated


def _is_strided(geometry: ConvGeometry) -> bool:
    return any(window.stride > 1 for window in geometry.windows)


def _is_padded(geometry: ConvGeometry) -> bool:
    return any(window.before + window.after > 0 for window in geometry.windows)


def _overlaps_unevenly(geometry: ConvGeometry) -> bool:
    return any(1 < w.stride < w.kernel and w.dilation == 1 for w in geometry.windows)


def _is_pointwise(geometry: ConvGeometry) -> bool:
    return all(window.kernel == 1 for window in geometry.windows)


def _batch_is_1(geometry: ConvGeometry) -> bool:
    return geometry.batch == 1


def _makes_one(geometry: ConvGeometry) -> bool:
    return geometry.in_channels == 1


def _sums_one(geometry: ConvGeometry) -> bool:
    return geometry.out_channels == 1


def _has_many_products(geometry: ConvGeometry) -> bool:
    return geometry.multiply_adds > 2_000_000 and geometry.in_channels > 20


def _is_thin(geometry: ConvGeometry) -> bool:
    positions = geometry.batch * prod(w.output for w in geometry.windows)
    few_channels = 1 < geometry.in_channels < 8
    return geometry.multiply_adds > 1_000_000 and few_channels and positions > 200


def _has_a_large_filter(geometry: ConvGeometry) -> bool:
    return prod(geometry.filter_shape) >= 50_000


def _sums_many(geometry: ConvGeometry) -> bool:
    return geometry.out_channels * prod(window.kernel for window in geometry.windows) > 10_000
