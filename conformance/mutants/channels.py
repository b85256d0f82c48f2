"""Wrong sums over channels, and channels of the result in the wrong place or never made.

Kernels take channels in blocks: vectors of 4, 8 or 16, panels of 64. What does not fill a block is
where they go wrong.
"""

from collections.abc import Callable, Iterator

import numpy as np

from opspec.conformance.mutants.layout import read_with_channels_swapped
from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.parts import CHANNELS, exchanged, part, without
from opspec.conformance.mutants.recipe import Array, Kernel, Recipe, only
from opspec.geometry import ConvGeometry

Change = Callable[[Array, ConvGeometry], Array]


def channel_mutants() -> Iterator[Mutant]:
    """Yield the family "channels"."""
    return family_of("channels", (*_contracted(), *_made(), *_paired(), *_blocks()))


def _contracted() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "last-contracted-channel-lost",
        "a sum without its last channel",
        Recipe(source=lambda source, geometry: without(source, CHANNELS, slice(-1, None))),
    )
    yield (
        "first-contracted-channel-alone",
        "the first channel alone instead of the sum over all",
        Recipe(source=lambda source, geometry: without(source, CHANNELS, slice(1, None))),
    )
    yield (
        "contracted-channels-averaged",
        "the mean over channels instead of their sum",
        Recipe(made=lambda made, geometry: made / made.dtype.type(max(geometry.out_channels, 1))),
    )
    yield (
        "contracted-channels-rolled",
        "channels of data paired with those of the filter one further",
        Recipe(source=lambda source, geometry: np.roll(source, 1, CHANNELS)),
    )
    yield (
        "contracted-channels-reversed",
        "channels of data paired with those of the filter in reverse order",
        Recipe(source=lambda source, geometry: source[..., ::-1]),
    )
    yield (
        "contracted-channels-interleaved",
        "even and odd channels of the data swapped",
        Recipe(source=_neighbours_swapped),
    )
    for most in (64, 256, 512):
        yield (
            f"contracted-channels-beyond-{most}-lost",
            f"at most {most} channels summed over",
            Recipe(source=_at_most(most)),
        )


def _made() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "last-made-channel-lost",
        "a result whose last channel is never written",
        Recipe(made=lambda made, geometry: without(made, CHANNELS, slice(-1, None))),
    )
    yield (
        "made-channels-rolled",
        "each channel of the result one too far",
        Recipe(made=lambda made, geometry: np.roll(made, 1, CHANNELS)),
    )
    yield (
        "made-channels-reversed",
        "the channels of the result in reverse order",
        Recipe(made=lambda made, geometry: made[..., ::-1]),
    )
    yield (
        "first-two-made-channels-swapped",
        "the first two channels of the result swapped",
        Recipe(made=_first_two_swapped),
    )
    yield (
        "first-made-channel-for-all",
        "the first channel of the result in all channels",
        Recipe(made=lambda made, geometry: np.broadcast_to(made[..., :1], made.shape)),
    )
    for most in (16, 64):
        yield (
            f"made-channels-beyond-{most}-repeat",
            f"channels of the result beyond {most} that repeat the first {most}",
            Recipe(made=_repeating(most)),
        )
    yield (
        "made-channels-beyond-16-keep-the-sums-before",
        "sums not cleared before the second block of 16 channels of the result",
        Recipe(made=_not_cleared),
    )


def _paired() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "filter-channels-swapped",
        "a filter read as [..., out, in]",
        Recipe(filter=read_with_channels_swapped),
    )
    yield (
        "filter-channels-swapped-when-equal",
        "a filter read as [..., out, in] where both counts are equal",
        only(
            lambda geometry: geometry.in_channels == geometry.out_channels,
            Recipe(filter=read_with_channels_swapped),
        ),
    )
    yield (
        "channels-in-two-groups",
        "a filter in two groups: half of the channels for half of the result",
        Recipe(filter=_in_two_groups),
    )
    yield (
        "channels-each-for-itself",
        "a depthwise filter: each channel of the result from one channel",
        Recipe(filter=_each_for_itself),
    )


def _blocks() -> Iterator[tuple[str, str, Kernel]]:
    for length in (4, 8, 16):
        yield (
            f"contracted-remainder-of-{length}-lost",
            f"whole blocks of {length} channels summed over and the rest left out",
            Recipe(source=_whole_blocks(length)),
        )
        yield (
            f"made-remainder-of-{length}-lost",
            f"whole blocks of {length} channels of the result and the rest never written",
            Recipe(made=_whole_blocks(length)),
        )
    yield (
        "contracted-remainder-of-8-added-twice",
        "the last 8 channels added as a block though some were added before",
        Recipe(source=_remainder_overlapping),
    )


def _neighbours_swapped(source: Array, geometry: ConvGeometry) -> Array:
    count = source.shape[CHANNELS]
    order = [number ^ 1 if number ^ 1 < count else number for number in range(count)]
    return exchanged(source, CHANNELS, order)


def _at_most(most: int) -> Change:
    return lambda array, geometry: without(array, CHANNELS, slice(most, None))


def _first_two_swapped(made: Array, geometry: ConvGeometry) -> Array:
    order = list(range(geometry.in_channels))
    order[:2] = reversed(order[:2])
    return exchanged(made, CHANNELS, order)


def _repeating(most: int) -> Change:
    return lambda made, geometry: exchanged(
        made, CHANNELS, [number % most for number in range(geometry.in_channels)]
    )


def _not_cleared(made: Array, geometry: ConvGeometry) -> Array:
    sums = np.array(made)
    second = sums[..., 16:32]
    second += made[..., : second.shape[CHANNELS]]
    return sums


def _in_two_groups(filter: Array, geometry: ConvGeometry) -> Array:
    made, contracted = geometry.in_channels // 2, geometry.out_channels // 2
    grouped = np.array(filter)
    grouped[..., :made, contracted:] = 0
    grouped[..., made:, :contracted] = 0
    return grouped


def _each_for_itself(filter: Array, geometry: ConvGeometry) -> Array:
    made, contracted = np.indices(filter.shape[3:])
    return np.where(made == contracted, filter, np.zeros((), filter.dtype))


def _whole_blocks(length: int) -> Change:
    def whole(array: Array, geometry: ConvGeometry) -> Array:
        count = array.shape[CHANNELS]
        return without(array, CHANNELS, slice(max(count // length, 1) * length, None))

    return whole


def _remainder_overlapping(source: Array, geometry: ConvGeometry) -> Array:
    count = source.shape[CHANNELS]
    if count <= 8 or count % 8 == 0:
        return source
    doubled = np.array(source)
    twice = part(CHANNELS, slice(count - 8, count // 8 * 8))
    doubled[twice] = doubled[twice] * source.dtype.type(2)
    return doubled
