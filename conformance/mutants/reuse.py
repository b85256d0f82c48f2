"""Memory that is used again for another call although somebody still needs what is in it."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, remembering
from opspec.conformance.mutants.operands import filling
from opspec.conformance.mutants.recipe import RIGHT, Array, Kernel
from opspec.geometry import ConvGeometry

ENDS = 32


def reuse_mutants() -> Iterator[Mutant]:
    """Yield more of the family "memory"."""
    return remembering("memory", _rows())


def _rows() -> Iterator[tuple[str, str, Callable[[], Kernel]]]:
    for count in (3, 16, 32):
        yield (
            f"ring-of-{count}-results",
            f"the memory of {count} results used in turn, though the caller still holds them",
            _ring(count),
        )
    yield (
        "out-of-the-call-before-cleared",
        "the array that the call before was given for its result cleared",
        _clearing_the_last_out,
    )
    yield (
        "out-of-the-call-before-filled",
        "a result also written into the array that an earlier call was given",
        _filling_the_first_out,
    )
    for name, words, key in (
        ("filter", "a packed filter", lambda filter, data: filter),
        ("data", "data", lambda filter, data: data),
    ):
        yield (
            f"{name}-remembered-by-both-ends",
            f"{words} kept from an earlier call whose first and last numbers were the same",
            _keeping_by_ends(name, key),
        )


def _ring(count: int) -> Callable[[], Kernel]:
    def make() -> Kernel:
        rings: dict[ConvGeometry, tuple[list[Array], list[int]]] = {}

        def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
            result = RIGHT(geometry, filter, out_backprop)
            ring, calls = rings.setdefault(geometry, ([], [0]))
            calls[0] += 1
            if len(ring) < count:
                ring.append(result)
                return result
            place = ring[(calls[0] - 1) % count]
            place[...] = result
            return place

        return kernel

    return make


def _clearing_the_last_out() -> Kernel:
    last: list[Array] = []

    def fill(out: Array, result: Array, geometry: ConvGeometry) -> None:
        if last and last[0] is not out:
            last[0][...] = 0
        last[:] = [out]
        out[...] = result

    return filling(fill)


def _filling_the_first_out() -> Kernel:
    first: dict[ConvGeometry, Array] = {}

    def kernel(
        geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
    ) -> Array:
        result = RIGHT(geometry, filter, out_backprop)
        if out is None:
            for kept in first.values():
                kept[...] = 1
            return result
        first.setdefault(geometry, out)
        out[...] = result
        return out

    return kernel


def _keeping_by_ends(name: str, of: Callable[[Array, Array], Array]) -> Callable[[], Kernel]:
    def make() -> Kernel:
        kept: dict[Any, Array] = {}

        def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
            operand = of(filter, out_backprop)
            flat = np.ravel(operand)
            ends = (flat[:ENDS].tobytes(), flat[-ENDS:].tobytes())
            known = kept.setdefault((geometry, operand.ctypes.data, *ends), operand.copy())
            operands = (known, out_backprop) if name == "filter" else (filter, known)
            return RIGHT(geometry, *operands)

        return kernel

    return make
