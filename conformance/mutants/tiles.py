"""Wrong places in kernels that cut the work up: tiles, phases of a stride, blocks of taps.

A phase is what one residue modulo the stride reaches; kernels compute each phase as a dense
convolution with every stride-th tap.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.parts import DEPTH, WIDTH, exchanged, part, without
from opspec.conformance.mutants.recipe import (
    Array,
    Kernel,
    Recipe,
    Tap,
    Windows,
    every_tap,
    places,
)
from opspec.geometry import ConvGeometry, Window

Change = Callable[[Array, ConvGeometry], Array]
Places = tuple[list[int], list[int]]
SPATIAL = (1, 2, 3)


def tile_mutants() -> Iterator[Mutant]:
    """Yield more of the family "index"."""
    return family_of("index", (*_tiles(), *_phases(), *_taps()))


def _tiles() -> Iterator[tuple[str, str, Kernel]]:
    for length in (4, 8, 16, 32, 64):
        yield (
            f"last-tile-of-{length}-lost",
            f"whole tiles of {length} places along the width and the rest never written",
            Recipe(made=whole_tiles(WIDTH, length)),
        )
    yield (
        "first-tile-of-8-repeated",
        "every tile of 8 places along the width like the first one",
        Recipe(made=_repeated(WIDTH, 8)),
    )
    yield (
        "first-plane-repeated",
        "every plane of the result like the first one",
        Recipe(made=_repeated(DEPTH, 1)),
    )
    yield (
        "tail-of-4-added-twice",
        "a last vector of 4 places that overlaps the one before and is added again",
        Recipe(made=_tail_twice),
    )
    yield (
        "border-of-tiles-of-8-lost",
        "what a tile of 8 places brings into the next one left out",
        Recipe(places=_within_a_tile),
    )


def _phases() -> Iterator[tuple[str, str, Kernel]]:
    yield "last-phase-lost", "the last phase of a stride left out", Recipe(made=_last_phase_lost)
    yield (
        "first-phase-alone",
        "the first phase of a stride computed and no other",
        Recipe(made=_first_phase_alone),
    )
    yield "phases-reversed", "phases of a stride in reverse order", Recipe(made=_phases_reversed)
    yield (
        "taps-of-a-phase-reversed",
        "the taps of each phase of a stride in reverse order",
        Recipe(filter=_taps_of_a_phase_reversed),
    )
    yield (
        "taps-beyond-whole-strides-lost",
        "a kernel that is no multiple of the stride cut to one",
        Recipe(taps=_whole_strides),
    )
    yield (
        "phases-counted-without-the-padding",
        "phases of a stride counted from the first place and not from the padding",
        Recipe(windows=_padding_of_whole_strides),
    )
    yield (
        "remainder-of-the-stride-not-checked",
        "every tap reaching every place, whether the stride divides or not",
        Recipe(places=_without_the_check),
    )
    yield (
        "places-beyond-whole-strides-lost",
        "a size that is no multiple of the stride cut to one",
        Recipe(made=_whole_blocks_of_the_stride),
    )


def _taps() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "odd-tap-lost",
        "taps taken in pairs and the odd one left out",
        Recipe(taps=lambda geometry: every_tap(geometry)[: len(every_tap(geometry)) // 2 * 2]),
    )
    yield (
        "first-tap-twice",
        "the filter's first tap added twice",
        Recipe(taps=lambda geometry: [*every_tap(geometry)[:1], *every_tap(geometry)]),
    )
    yield (
        "overlaps-overwritten",
        "what a later tap brings put in the place of what was there instead of added",
        Recipe(add=_overwrite),
    )
    yield "overlaps-averaged", "overlaps averaged instead of added", _averaged


def whole_tiles(axis: int, length: int) -> Change:
    """Return what writes whole tiles along an axis and leaves out the rest."""

    def whole(made: Array, geometry: ConvGeometry) -> Array:
        kept = max(made.shape[axis] // length, 1) * length
        return without(made, axis, slice(kept, None))

    return whole


def _repeated(axis: int, length: int) -> Change:
    return lambda made, geometry: exchanged(
        made, axis, [place % length for place in range(made.shape[axis])]
    )


def _tail_twice(made: Array, geometry: ConvGeometry) -> Array:
    width, sums = made.shape[WIDTH], np.array(made)
    if width > 4:
        sums[part(WIDTH, slice(width - 4, width // 4 * 4))] *= 2
    return sums


def _within_a_tile(window: Window, tap: int) -> Places:
    found = [
        (position, place)
        for position, place in zip(*places(window, tap), strict=True)
        if place // 8 == max(window.landing(position, 0), 0) // 8
    ]
    return [position for position, _ in found], [place for _, place in found]


def _residues(window: Window) -> Array:
    """Return the phase of each place of the result."""
    return (np.arange(window.input) + window.before) % window.stride


def _last_phase_lost(made: Array, geometry: ConvGeometry) -> Array:
    for axis, window in zip(SPATIAL, geometry.windows, strict=True):
        if window.stride > 1:
            made = without(made, axis, _residues(window) == window.stride - 1)
    return made


def _first_phase_alone(made: Array, geometry: ConvGeometry) -> Array:
    for axis, window in zip(SPATIAL, geometry.windows, strict=True):
        made = without(made, axis, _residues(window) != 0)
    return made


def _phases_reversed(made: Array, geometry: ConvGeometry) -> Array:
    for axis, window in zip(SPATIAL, geometry.windows, strict=True):
        numbers, phases = np.arange(window.input), _residues(window)
        others = numbers - phases + window.stride - 1 - phases
        inside = (others >= 0) & (others < window.input)
        made = exchanged(made, axis, np.where(inside, others, numbers))
    return made


def _taps_of_a_phase_reversed(filter: Array, geometry: ConvGeometry) -> Array:
    for axis, window in enumerate(geometry.windows):
        order = np.arange(window.kernel)
        for phase in range(min(window.stride, window.kernel)):
            order[phase :: window.stride] = order[phase :: window.stride][::-1]
        filter = exchanged(filter, axis, order)
    return filter


def _whole_strides(geometry: ConvGeometry) -> list[Tap]:
    kept = [max(w.kernel // w.stride, 1) * w.stride for w in geometry.windows]
    return [
        tap
        for tap in every_tap(geometry)
        if all(number < most for number, most in zip(tap, kept, strict=True))
    ]


def _padding_of_whole_strides(geometry: ConvGeometry) -> Windows:
    return tuple(replace(w, before=w.before // w.stride * w.stride) for w in geometry.windows)


def _without_the_check(window: Window, tap: int) -> Places:
    found = [
        ((place + window.before - tap * window.dilation) // window.stride, place)
        for place in range(window.input)
    ]
    found = [(position, place) for position, place in found if 0 <= position < window.output]
    return [position for position, _ in found], [place for _, place in found]


def _whole_blocks_of_the_stride(made: Array, geometry: ConvGeometry) -> Array:
    for axis, window in zip(SPATIAL, geometry.windows, strict=True):
        whole = max(window.input // window.stride, 1) * window.stride
        made = without(made, axis, slice(whole, None))
    return made


def _overwrite(result: Array, place: Any, brought: Array) -> None:
    result[place] = brought


def _averaged(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    """Divide by the number of taps that reach each place, counted with ones."""
    counts = np.ones((1, 1, 1), np.float64)
    for axis, window in enumerate(geometry.windows):
        reached = np.zeros(window.input)
        for tap in range(window.kernel):
            reached[places(window, tap)[1]] += 1
        counts = counts * np.maximum(reached, 1).reshape([-1 if a == axis else 1 for a in range(3)])
    mean = Recipe(made=lambda made, _: (made / counts[None, ..., None]).astype(made.dtype))
    return mean(geometry, filter, out_backprop)
