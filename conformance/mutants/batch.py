"""Batch entries that get mixed up, run into each other or are left out."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from opspec.conformance.mutants.index import replaced
from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.parts import without
from opspec.conformance.mutants.recipe import Array, Kernel, Recipe, Windows, only
from opspec.geometry import ConvGeometry


def batch_mutants() -> Iterator[Mutant]:
    """Yield the family "batch"."""
    return family_of("batch", (*_exchanged(), *_lost(), *_mixed()))


def _exchanged() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "batch-first-result-repeated",
        "the first batch entry's result in all entries",
        Recipe(made=lambda made, geometry: np.broadcast_to(made[:1], made.shape)),
    )
    yield (
        "batch-data-of-the-entry-before",
        "each second batch entry computed from the data of the one before it",
        Recipe(source=_even_data),
    )
    yield (
        "batch-reversed",
        "batch entries in reverse order",
        Recipe(made=lambda made, geometry: made[::-1]),
    )
    yield (
        "batch-rolled",
        "each batch entry one too far",
        Recipe(made=lambda made, geometry: np.roll(made, 1, 0)),
    )
    yield (
        "batch-rolled-when-strided",
        "each batch entry one too far where a stride is above 1",
        only(_is_strided, Recipe(made=lambda made, geometry: np.roll(made, 1, 0))),
    )


def _lost() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "batch-last-lost",
        "a last batch entry that is never written",
        Recipe(made=lambda made, geometry: without(made, 0, slice(max(len(made) - 1, 1), None))),
    )
    yield (
        "batch-odd-one-lost",
        "batch entries taken in pairs and the odd one left out",
        Recipe(made=lambda made, geometry: _at_most(made, max(len(made) // 2 * 2, 1))),
    )
    for most in (1, 2, 4, 8, 16):
        yield (
            f"batch-beyond-{most}-lost",
            f"at most {most} batch entries",
            Recipe(made=_first(most)),
        )


def _mixed() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "batch-sums-not-cleared",
        "sums not cleared between batch entries",
        Recipe(made=lambda made, geometry: np.cumsum(made, 0, dtype=made.dtype)),
    )
    yield (
        "batch-averaged",
        "the mean of all batch entries in each",
        Recipe(made=_averaged),
    )
    yield (
        "batch-folded-into-depth",
        "batch entries stacked along the depth, running over into their neighbours",
        Recipe(room=_three_deep, windows=_shifted, made=_run_over),
    )


def _is_strided(geometry: ConvGeometry) -> bool:
    return any(window.stride > 1 for window in geometry.windows)


def _even_data(source: Array, geometry: ConvGeometry) -> Array:
    return np.repeat(source[::2], 2, 0)[: len(source)]


def _at_most(made: Array, most: int) -> Array:
    return without(made, 0, slice(most, None))


def _first(most: int) -> Callable[[Array, ConvGeometry], Array]:
    return lambda made, geometry: _at_most(made, most)


def _averaged(made: Array, geometry: ConvGeometry) -> Array:
    if len(made) == 0:
        return made
    return np.broadcast_to(made.mean(0, keepdims=True, dtype=made.dtype), made.shape)


def _three_deep(geometry: ConvGeometry) -> tuple[int, ...]:
    depth, height, width = (window.input for window in geometry.windows)
    return (geometry.batch, 3 * depth, height, width, geometry.in_channels)


def _shifted(geometry: ConvGeometry) -> Windows:
    depth = geometry.windows[0]
    moved = replace(depth, input=3 * depth.input, before=depth.before - depth.input)
    return replaced(geometry.windows, 0, moved)


def _run_over(made: Array, geometry: ConvGeometry) -> Array:
    depth = geometry.windows[0].input
    above, own, below = made[:, :depth], np.array(made[:, depth : 2 * depth]), made[:, 2 * depth :]
    own[1:] += below[:-1]
    own[:-1] += above[1:]
    return own
