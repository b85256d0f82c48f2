"""From a public call's arguments to a kernel and what it is called with.

A call that has been made before, with these attributes, sizes, shapes and dtypes, finds its
validated problem in a cache; only what is new runs the rules.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from opspec.definition import OpDefinition
from opspec.errors import BackendError, OpError
from opspec.geometry import ConvGeometry
from opspec.lending import Owner, lent_if_it_can_be
from opspec.operands import Read, read_all
from opspec.out import Offer, filled, refuse_unusable
from opspec.registry.backend import NUMPY_ARRAY, Backend
from opspec.registry.capabilities import Demand
from opspec.registry.selection import Choices, Explanation, explain
from opspec.rule import Call, Fault, refuse_first_fault
from opspec.rules import integers, shown

_EXACT_INTEGERS = frozenset({int, np.int32, np.int64})


@dataclass(frozen=True, slots=True)
class Plan:
    """A validated problem: its geometry and who computes it."""

    geometry: ConvGeometry
    choices: Choices


class Prepared(NamedTuple):
    """All that a public function needs to run its kernel.

    Parameters
    ----------
    kernel
        Takes `geometry` and then `operands`.
    geometry
        The problem.
    operands
        The kernel's arrays, in the order of its parameters.
    finish
        Turns the kernel's result into an array of the caller's library.
    definition, name
        The operation, and the caller's name for it.
    """

    kernel: Callable[..., Any]
    geometry: ConvGeometry
    operands: tuple[Any, ...]
    finish: Callable[[Any], Any]
    definition: OpDefinition
    name: object

    def out_of_memory(self, error: MemoryError) -> OpError:
        """Return the error that says memory ran out while the kernel worked."""
        shape = self.geometry.shape_of(self.definition.result_side)
        given = f"{shown(shape)} of {self.geometry.dtype} ({error})"
        fault = Fault(given, "what is free now", kind="memory")
        return self.definition.memory_rule.error(fault, self.name)


def prepare(
    definition: OpDefinition,
    attributes: tuple[Any, ...],
    operands: tuple[Any, ...],
    sizes: Any = None,
    name: object = None,
    backend: str | Backend | None = None,
    out: Any = None,
) -> Prepared:
    """Validate a call and find its kernel.

    Parameters
    ----------
    definition
        The operation.
    attributes
        The attributes, in the order of the model's fields.
    operands
        The arrays, in the order of the kernel's parameters.
    sizes
        The shape of the result, where an operand of the operation holds it.
    name
        The caller's name for the operation.
    backend
        The backend that the call names.
    out
        The array that the caller wants the result in.

    Raises
    ------
    OpError
        For the first broken rule.
    BackendError
        If no backend, or not the named one, takes the call.
    """
    reads = read_all(operands, backend)
    plan = _plan_of(definition, attributes, reads, sizes, name)
    demand = plan.choices.demand
    owner = _owner_of(reads)
    place, lender = (out, None) if owner is None or out is None else lent_if_it_can_be(out)
    if out is not None:
        offer = _offer(place, definition, plan, operands, reads, sizes)
        refuse_unusable(definition.name, replace(offer, owner=lender), name)
    chosen = plan.choices.select(backend)
    kernel = chosen.kernel(demand.operation)
    finish: Callable[[Any], Any] = _unchanged
    if demand.arrays == chosen.arrays == NUMPY_ARRAY:
        arrays = tuple([read.array for read in reads])
    else:
        arrays = tuple(_taken(read, chosen) for read in reads)
        finish = chosen.to_numpy if demand.arrays == NUMPY_ARRAY else _unchanged
    if out is not None:
        kernel, finish = filled(place, kernel, finish, chosen, demand)
    if owner is not None:
        finish = partial(_given_back, owner, finish, out)
    return Prepared(kernel, plan.geometry, arrays, finish, definition, name)


def explain_call(
    definition: OpDefinition,
    attributes: tuple[Any, ...],
    operands: tuple[Any, ...],
    sizes: Any,
    name: object = None,
    backend: str | Backend | None = None,
) -> Explanation:
    """Say which backend would run a call, and why each other one would not. See `prepare`.

    An operand may be a `TensorSpec`, which stands for a NumPy array.
    """
    reads = read_all(operands, backend, specs=True)
    plan = _plan_of(definition, attributes, reads, sizes, name)
    explanation = explain(plan.choices.demand, backend)
    if explanation.chosen is None:
        return explanation
    chosen = plan.choices.select(backend)
    try:
        detail = chosen.details_of(plan.choices.demand.operation, plan.geometry)
    except BackendError as error:
        detail = f"but fails: {error}"
    return replace(explanation, detail=detail)


class _InexactError(Exception):
    """An argument has a type that must be looked at each time (True equals 1, and so does 1.0)."""


def _plan_of(
    definition: OpDefinition,
    attributes: tuple[Any, ...],
    reads: tuple[Read, ...],
    sizes: Any,
    name: object,
) -> Plan:
    seen = tuple([read[1:] for read in reads])
    if name is None or type(name) is str:
        try:
            exact = tuple([_exact(value) for value in attributes])
            return _remembered_plan(definition, exact, seen, _exact(sizes))
        except (_InexactError, OpError):
            # Run the rules on what the caller wrote, so that an error shows just that.
            pass
    return _plan(definition, attributes, seen, sizes, name)


def _exact(value: Any) -> Any:
    """Return a hashable stand-in that means the same as `value` and equals nothing else."""
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value
    if (kind is tuple or kind is list) and _EXACT_INTEGERS.issuperset(map(type, value)):
        return tuple(value)
    if kind is np.ndarray and (found := integers(value)) is not None:
        return found
    raise _InexactError


def _plan(
    definition: OpDefinition,
    attributes: tuple[Any, ...],
    seen: tuple[Any, ...],
    sizes: Any,
    name: object = None,
) -> Plan:
    """Run every rule, then lower the call to the kernel's problem."""
    fields = definition.Attributes.model_fields
    reads = [Read(None, *part) for part in seen]
    operands = dict(zip(definition.kernel_operands, reads, strict=True))
    try:
        validated = definition.Attributes(**dict(zip(fields, attributes, strict=True)))
    except OpError as error:
        raise error.named(name) from None
    call = Call(
        attributes=validated,
        operands=_with_sizes(
            definition, sizes, {key: read.spec() for key, read in operands.items()}
        ),
        name=name,
        arrays={key: read.home for key, read in operands.items()},
    )
    refuse_first_fault(definition.operand_rules, call, name)
    geometry = definition.lower(call)
    library = next((read.library for read in reads if read.library is not None), NUMPY_ARRAY)
    demand = Demand(
        operation=definition.kernel,
        dtype=geometry.dtype,
        data_format=geometry.data_format,
        dilated=geometry.dilated,
        empty=geometry.empty,
        arrays=library,
        multiply_adds=geometry.multiply_adds,
    )
    return Plan(geometry, Choices(demand))


_remembered_plan = lru_cache(maxsize=4096)(_plan)


def _offer(
    out: Any,
    definition: OpDefinition,
    plan: Plan,
    operands: tuple[Any, ...],
    reads: tuple[Read, ...],
    sizes: Any,
) -> Offer:
    """Return what the rules of `out` look at. A list's numbers were copied when it was read."""
    held: list[tuple[str, Any]] = []
    for operand, given, read in zip(definition.kernel_operands, operands, reads, strict=True):
        held.append((operand, read.array))
        if given is not read.array:
            held.append((operand, given))
    if isinstance(sizes, np.ndarray) and definition.sizes is not None:
        held.append((definition.sizes, sizes))
    shape = plan.geometry.shape_of(definition.result_side)
    owner = _owner_of(reads)
    library = plan.choices.demand.arrays if owner is None else owner.name
    return Offer(out, library, shape, plan.geometry.dtype, held)


def _with_sizes(definition: OpDefinition, sizes: Any, operands: dict[str, Any]) -> dict[str, Any]:
    return operands if definition.sizes is None else {definition.sizes: sizes, **operands}


def _taken(read: Read, backend: Backend) -> Any:
    """Return an operand as an array of the backend's type."""
    return read.array if read.library == backend.arrays else backend.from_numpy(read.array)


def _owner_of(reads: tuple[Read, ...]) -> Owner | None:
    return next((read.owner for read in reads if read.owner is not None), None)


def _given_back(owner: Owner, finish: Callable[[Any], Any], out: Any, result: Any) -> Any:
    finished = finish(result)
    return owner.given_back(finished) if out is None else out


def _unchanged(array: Any) -> Any:
    return array
