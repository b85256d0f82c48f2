"""Wrong places for some shapes only: a special case, or a number too large for its type."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.parts import DEPTH, without
from opspec.conformance.mutants.recipe import Array, Kernel, Recipe, Windows, only, places
from opspec.geometry import ConvGeometry, Window

Places = tuple[list[int], list[int]]


def shape_mutants() -> Iterator[Mutant]:
    """Yield more of the family "index"."""
    return family_of("index", (*_some_shapes(), *_narrow()))


def _some_shapes() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "even-kernels-one-early",
        "kernels of even size one place too early",
        Recipe(windows=_changed(lambda w: w.kernel % 2 == 0, before=lambda w: w.before + 1)),
    )
    yield (
        "kernel-1-ignores-the-stride",
        "the stride ignored where the kernel is 1",
        Recipe(windows=_changed(lambda w: w.kernel == 1, stride=lambda w: 1)),
    )
    yield (
        "kernel-above-size-from-0",
        "no padding where the kernel exceeds the size",
        Recipe(windows=_changed(lambda w: w.kernel > w.input, before=lambda w: 0)),
    )
    yield (
        "one-window-not-padded",
        "no padding where there is a single position",
        Recipe(windows=_changed(lambda w: w.output == 1, before=lambda w: 0)),
    )
    yield (
        "last-plane-of-a-batch-lost-when-strided",
        "the last plane left out where the depth is strided and there are several batch entries",
        only(_is_strided_batch, Recipe(made=lambda m, g: without(m, DEPTH, slice(-1, None)))),
    )


def _narrow() -> Iterator[tuple[str, str, Kernel]]:
    for bits in (8, 16):
        yield (
            f"places-in-{bits}-bits",
            f"places along a dimension kept in {bits} bits",
            Recipe(places=_wrapped_at(2**bits), add=np.add.at),
        )
    yield (
        "places-in-16-bits-with-sign",
        "places along a dimension kept in 16 bits with a sign",
        Recipe(places=_at_most(2**15)),
    )
    yield (
        "offsets-in-16-bits",
        "offsets into the result kept in 16 bits",
        Recipe(made=_offsets_wrapped),
    )


def _changed(
    where: Callable[[Window], bool], **changes: Callable[[Window], int]
) -> Callable[[ConvGeometry], Windows]:
    def changed(window: Window) -> Window:
        if not where(window):
            return window
        return replace(window, **{name: change(window) for name, change in changes.items()})

    return lambda geometry: tuple(map(changed, geometry.windows))


def _is_strided_batch(geometry: ConvGeometry) -> bool:
    return geometry.batch > 1 and geometry.windows[0].stride > 1


def _wrapped_at(size: int) -> Callable[[Window, int], Places]:
    def wrapped(window: Window, tap: int) -> Places:
        positions, landed = places(window, tap)
        return positions, [place % size for place in landed]

    return wrapped


def _at_most(size: int) -> Callable[[Window, int], Places]:
    def first(window: Window, tap: int) -> Places:
        found = [pair for pair in zip(*places(window, tap), strict=True) if pair[1] < size]
        return [position for position, _ in found], [place for _, place in found]

    return first


def _offsets_wrapped(made: Array, geometry: ConvGeometry) -> Array:
    flat = made.reshape(-1)
    written = np.zeros_like(flat)
    np.add.at(written, np.arange(flat.size) % 2**16, flat)
    return written.reshape(made.shape)
