"""The mutants of Conv3D and of the gradient by the filter."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from opspec.conformance.mutants.conditions import Where
from opspec.conformance.mutants.mutant import Mutant
from opspec.conformance.mutants.sibling_conditions import sibling_conditions
from opspec.conformance.mutants.sibling_faults import faults
from opspec.conformance.mutants.sibling_kernels import (
    FILTER,
    FORWARD,
    RIGHT,
    Array,
    Fault,
    all_taps,
    kernel_of,
)
from opspec.geometry import ConvGeometry

SHORT = {FORWARD: "conv3d", FILTER: "filter-gradient"}


def sibling_mutants() -> Iterator[Mutant]:
    """Yield the mutants of both operations."""
    for operation in (FORWARD, FILTER):
        for name, family, looks_like, fault in faults(operation):
            yield _mutant(operation, name, family, looks_like, kernel_of(operation, fault))
        yield from _stateful(operation)
        for family, variants in sibling_conditions():
            for name, words, where in variants:
                looks_like = f"a last tap left out only for {words}"
                kernel = _only(operation, where)
                yield _mutant(operation, f"wrong-only-for-{name}", family, looks_like, kernel)


def _mutant(
    operation: str, name: str, family: str, looks_like: str, kernel: Callable[..., Array]
) -> Mutant:
    return Mutant(
        name=f"{SHORT[operation]}-{name}",
        family=family,
        looks_like=f"{operation} with {looks_like}",
        make=lambda: kernel,
        operation=operation,
    )


def _stateful(operation: str) -> Iterator[Mutant]:
    yield Mutant(
        name=f"{SHORT[operation]}-remembers-operands-that-begin-alike",
        family="memory",
        looks_like=f"{operation} with an operand of an earlier call that has its shape and begins "
        "like it",
        make=lambda: _remembering(operation),
        operation=operation,
    )
    empties: tuple[tuple[str, Where], ...] = (
        ("batch", lambda geometry: geometry.batch == 0),
        ("dimension", lambda geometry: any(w.input == 0 for w in geometry.windows)),
        ("set-of-windows", _has_no_window),
        ("set-of-out-channels", lambda geometry: geometry.out_channels == 0),
    )
    for name, where in empties:
        yield Mutant(
            name=f"{SHORT[operation]}-fails-for-an-empty-{name}",
            family="empties",
            looks_like=f"{operation} with an error for an empty {name.replace('-', ' ')}",
            make=partial(_failing, operation, where),
            operation=operation,
        )


def _has_no_window(geometry: ConvGeometry) -> bool:
    return any(w.output == 0 < w.input for w in geometry.windows)


def _remembering(operation: str) -> Callable[..., Array]:
    kept: dict[Any, Array] = {}
    right = kernel_of(operation, RIGHT)

    def recalled(array: Array) -> Array:
        key = array.shape, array.dtype, array.ravel()[:1].tobytes()
        return kept.setdefault(key, array.copy())

    if operation == FORWARD:
        return lambda geometry, input, filter: right(geometry, input, recalled(filter))
    return lambda geometry, input, out_backprop: right(geometry, input, recalled(out_backprop))


def _failing(operation: str, where: Where) -> Callable[..., Array]:
    right = kernel_of(operation, RIGHT)

    def checked(geometry: ConvGeometry, one: Array, other: Array) -> Array:
        if where(geometry):
            raise ValueError("nothing to compute")
        return right(geometry, one, other)

    if operation == FORWARD:
        return lambda geometry, input, filter: checked(geometry, input, filter)
    return lambda geometry, input, out_backprop: checked(geometry, input, out_backprop)


def _only(operation: str, where: Where) -> Callable[..., Array]:
    wrong = Fault(taps=lambda geometry: all_taps(geometry)[:-1])
    right, left_out = kernel_of(operation, RIGHT), kernel_of(operation, wrong)
    if operation == FORWARD:
        return lambda geometry, input, filter: (left_out if where(geometry) else right)(
            geometry, input, filter
        )
    return lambda geometry, input, out_backprop: (left_out if where(geometry) else right)(
        geometry, input, out_backprop
    )
