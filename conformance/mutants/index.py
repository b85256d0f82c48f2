"""Wrong places: off by one, turned round, cut short, or kept where they should be dropped."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import Array, Kernel, Recipe, Tap, Windows, every_tap, places
from opspec.geometry import ConvGeometry, Window

DIMENSIONS = ("depth", "height", "width")
Places = tuple[list[int], list[int]]
Row = tuple[str, str, Kernel]


def index_mutants() -> Iterator[Mutant]:
    """Yield the family "index"."""
    rows = (_moved_or_turned(), _cut_short(), _filters(), _outside(), _mixed_up(), _at_most())
    return family_of("index", chain.from_iterable(rows))


def _moved_or_turned() -> Iterator[Row]:
    for axis, dimension in enumerate(DIMENSIONS):
        for shift, where in ((-1, "late"), (1, "early")):
            yield (
                f"{dimension}-one-{where}",
                f"every place along {dimension} one too {where}",
                Recipe(windows=_moved(axis, shift)),
            )
        yield (
            f"filter-flipped-along-{dimension}",
            f"the filter turned round along {dimension}",
            Recipe(filter=_flipped(axis)),
        )
        yield (
            f"source-flipped-along-{dimension}",
            f"the input turned round along {dimension}",
            Recipe(source=_flipped(axis + 1)),
        )
        yield (
            f"result-flipped-along-{dimension}",
            f"the result turned round along {dimension}",
            Recipe(made=_flipped(axis + 1)),
        )


def _cut_short() -> Iterator[Row]:
    for axis, dimension in enumerate(DIMENSIONS):
        yield (
            f"last-tap-of-{dimension}-lost",
            f"the filter's last tap along {dimension} left out",
            Recipe(taps=_without_last(axis)),
        )
        yield (
            f"last-window-of-{dimension}-lost",
            f"the last position along {dimension} left out",
            Recipe(windows=_shortened(axis)),
        )
        yield (
            f"last-place-of-{dimension}-lost",
            f"the last place of the result along {dimension} never written",
            Recipe(made=_without_last_place(axis + 1)),
        )


def _filters() -> Iterator[Row]:
    yield (
        "filter-flipped",
        "a filter turned round in all three dimensions (convolution for correlation)",
        Recipe(filter=lambda filter, geometry: filter[::-1, ::-1, ::-1]),
    )
    yield (
        "first-tap-lost",
        "the filter's first tap left out",
        Recipe(taps=lambda geometry: every_tap(geometry)[1:] or every_tap(geometry)),
    )
    yield (
        "filter-read-with-dimensions-reversed",
        "a filter read as [width, height, depth, ...]",
        Recipe(filter=_read_reversed),
    )


def _outside() -> Iterator[Row]:
    yield (
        "outside-clamped",
        "what lands outside added at the border instead of dropped",
        Recipe(places=_clamped, add=np.add.at),
    )
    yield (
        "outside-wrapped",
        "what lands outside added at the other end instead of dropped",
        Recipe(places=_wrapped, add=np.add.at),
    )
    yield (
        "outside-reflected",
        "what lands outside reflected inside instead of dropped",
        Recipe(places=_reflected, add=np.add.at),
    )
    yield (
        "before-the-start-wrapped",
        "negative places read as places from the end (a missing check for < 0)",
        Recipe(places=_wrapped_below, add=np.add.at),
    )
    yield (
        "windows-at-the-border-lost",
        "positions dropped as a whole if any of their taps lands outside",
        Recipe(places=_whole_windows),
    )


def _mixed_up() -> Iterator[Row]:
    yield (
        "result-depth-and-height-swapped-in-memory",
        "a result written with depth and height swapped",
        Recipe(made=lambda made, geometry: made.swapaxes(1, 2).reshape(made.shape)),
    )
    yield (
        "result-height-and-width-swapped-in-memory",
        "a result written with height and width swapped",
        Recipe(made=lambda made, geometry: made.swapaxes(2, 3).reshape(made.shape)),
    )
    for axis, other in ((0, 1), (1, 2), (2, 0)):
        yield (
            f"{DIMENSIONS[axis]}-checked-against-{DIMENSIONS[other]}",
            f"places along {DIMENSIONS[axis]} checked against the size of {DIMENSIONS[other]}",
            Recipe(windows=_checked_against(axis, other)),
        )


def _at_most() -> Iterator[Row]:
    yield (
        "positions-beyond-64-lost",
        "at most 64 positions along a dimension",
        Recipe(places=lambda window, tap: _first(places(window, tap), 64)),
    )
    yield (
        "taps-beyond-16-lost",
        "at most 16 taps along a dimension",
        Recipe(taps=lambda geometry: [tap for tap in every_tap(geometry) if max(tap) < 16]),
    )
    yield (
        "taps-beyond-7-lost",
        "at most 7 taps along a dimension",
        Recipe(taps=lambda geometry: [tap for tap in every_tap(geometry) if max(tap) < 7]),
    )


def replaced(windows: Windows, axis: int, window: Window) -> Windows:
    """Put a window in another's place."""
    return (*windows[:axis], window, *windows[axis + 1 :])


def _moved(axis: int, shift: int) -> Any:
    def moved(geometry: ConvGeometry) -> Windows:
        window = geometry.windows[axis]
        return replaced(geometry.windows, axis, replace(window, before=window.before + shift))

    return moved


def _flipped(axis: int) -> Any:
    return lambda array, geometry: np.flip(array, axis)


def _without_last(axis: int) -> Any:
    def taps(geometry: ConvGeometry) -> list[Tap]:
        kernel = geometry.windows[axis].kernel
        return [tap for tap in every_tap(geometry) if kernel == 1 or tap[axis] < kernel - 1]

    return taps


def _shortened(axis: int) -> Any:
    def shortened(geometry: ConvGeometry) -> Windows:
        window = geometry.windows[axis]
        shorter = replace(window, output=max(window.output - 1, 0))
        return replaced(geometry.windows, axis, shorter)

    return shortened


def _without_last_place(axis: int) -> Any:
    def without(made: Array, geometry: ConvGeometry) -> Array:
        left = made.copy()
        left[(slice(None),) * axis + (slice(-1, None),)] = 0
        return left

    return without


def _landed(window: Window, tap: int) -> list[int]:
    return [window.landing(position, tap) for position in range(window.output)]


def _clamped(window: Window, tap: int) -> Places:
    landed = _landed(window, tap)
    return list(range(window.output)), [min(max(i, 0), window.input - 1) for i in landed]


def _wrapped(window: Window, tap: int) -> Places:
    landed = _landed(window, tap)
    return list(range(window.output)), [i % max(window.input, 1) for i in landed]


def _reflected(window: Window, tap: int) -> Places:
    last = window.input - 1
    found = [
        (position, last - abs(last - abs(i))) for position, i in enumerate(_landed(window, tap))
    ]
    found = [(position, i) for position, i in found if 0 <= i <= last]
    return [position for position, _ in found], [i for _, i in found]


def _wrapped_below(window: Window, tap: int) -> Places:
    landed = enumerate(_landed(window, tap))
    found = [(position, i) for position, i in landed if -window.input <= i < window.input]
    return [position for position, _ in found], [i for _, i in found]


def _whole_windows(window: Window, tap: int) -> Places:
    span = (window.kernel - 1) * window.dilation
    inside = [
        position
        for position in range(window.output)
        if window.landing(position, 0) >= 0 and window.landing(position, 0) + span < window.input
    ]
    return inside, [window.landing(position, tap) for position in inside]


def _checked_against(axis: int, other: int) -> Any:
    def checked(geometry: ConvGeometry) -> Windows:
        window = geometry.windows[axis]
        size = min(window.input, geometry.windows[other].input)
        return replaced(geometry.windows, axis, replace(window, input=size))

    return checked


def _read_reversed(filter: Array, geometry: ConvGeometry) -> Array:
    depth, height, width, made, contracted = filter.shape
    return filter.reshape(width, height, depth, made, contracted).transpose(2, 1, 0, 3, 4)


def _first(found: Places, count: int) -> Places:
    return found[0][:count], found[1][:count]
