"""Which backend takes a call, and why.

In this order: `backend=` in the call; the innermost ``with use_backend(...)``; the environment
variable OPSPEC_BACKEND; the caller's arrays. A backend that was named never gives way to another.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from opspec.registry import discovery
from opspec.registry.backend import NUMPY_ARRAY, Backend, Demand
from opspec.registry.errors import BackendError, BackendUnavailable, UnsupportedByBackend

ENVIRONMENT_VARIABLE = "OPSPEC_BACKEND"

log = logging.getLogger("opspec")

_in_use: ContextVar[str | Backend | None] = ContextVar("opspec_backend", default=None)
_chosen: dict[tuple[Demand, Any], Backend] = {}
discovery.on_forget(_chosen.clear)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One backend and what speaks against it (None: nothing)."""

    name: str
    refusal: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which backend runs a call, and why each other one does not.

    Parameters
    ----------
    demand
        What the call needs.
    asked
        Which backend was named and by what, in words.
    chosen
        The backend that runs, or None.
    candidates
        All that were looked at, in their order of preference.
    """

    demand: Demand
    asked: str
    chosen: str | None
    candidates: tuple[Candidate, ...]

    def __str__(self) -> str:
        need = self.demand
        traits = [need.dtype, need.data_format, need.arrays]
        traits += ["dilated"] * need.dilated + ["empty"] * need.empty
        lines = [f"{need.operation} ({', '.join(traits)}); {self.asked}"]
        for candidate in self.candidates:
            if candidate.name == self.chosen:
                verdict = "runs"
            else:
                verdict = f"not used: {candidate.refusal or 'a faster backend takes the call'}"
            lines.append(f"  {candidate.name}: {verdict}")
        if self.chosen is None:
            lines.append("  no backend runs this call")
        return "\n".join(lines)


@contextmanager
def use_backend(backend: str | Backend) -> Iterator[Backend]:
    """Run every call inside the ``with`` block on `backend`.

    Right with threads and async: the choice is kept in a context variable. Blocks nest; the
    innermost wins, and ``backend=`` in a call wins over all.

    Parameters
    ----------
    backend
        A name, a ``module:attribute``, or a `Backend`.

    Yields
    ------
    Backend
        The backend that is now in use.

    Raises
    ------
    BackendUnavailable
        If it is unknown or cannot run here.
    """
    found = _named(backend)
    _refuse_unavailable(found)
    token = _in_use.set(backend)
    try:
        yield found
    finally:
        _in_use.reset(token)


def select(demand: Demand, backend: str | Backend | None = None) -> Backend:
    """Return the backend that runs a call.

    Raises
    ------
    BackendUnavailable
        If the named backend is unknown or cannot run here.
    UnsupportedByBackend
        If the named backend, or every backend, does not take the call.
    """
    asked = backend
    if asked is None:
        asked = _in_use.get() or os.environ.get(ENVIRONMENT_VARIABLE) or None
    named = asked is None or isinstance(asked, str)
    found = _chosen.get((demand, asked)) if named else None
    if found is None:
        found = _first_choice(demand) if asked is None else _as_asked(demand, asked)
        if named:
            _chosen[demand, asked] = found
    if log.isEnabledFor(logging.DEBUG):
        log.debug("%s", explain(demand, backend))
    return found


def explain(demand: Demand, backend: str | Backend | None = None) -> Explanation:
    """Say which backend would run a call, and why each other one would not."""
    asked, by = _asked(backend)
    if asked is None:
        candidates = tuple(candidate for _, candidate in _by_preference(demand))
        chosen = next((c.name for c in candidates if c.refusal is None), None)
        return Explanation(demand, "chosen by the arrays", chosen, candidates)
    name = asked.name if isinstance(asked, Backend) else asked
    try:
        refusal = _refusal_when_named(_named(asked), demand)
    except BackendError as error:
        refusal = str(error)
    others = [Candidate(n, f"{name} was named") for n in discovery.names() if n != name]
    return Explanation(
        demand,
        f"named by {by}",
        name if refusal is None else None,
        (Candidate(name, refusal), *others),
    )


def _asked(backend: str | Backend | None) -> tuple[str | Backend | None, str]:
    if backend is not None:
        return backend, "backend="
    if in_use := _in_use.get():
        return in_use, "use_backend"
    return os.environ.get(ENVIRONMENT_VARIABLE) or None, ENVIRONMENT_VARIABLE


def _named(backend: str | Backend) -> Backend:
    if isinstance(backend, Backend):
        return backend
    if isinstance(backend, str):
        return discovery.find(backend)
    raise BackendUnavailable(
        "a backend is given by name, as module:attribute, or as a Backend; "
        f"given a {type(backend).__name__}"
    )


def _as_asked(demand: Demand, asked: str | Backend) -> Backend:
    found = _named(asked)
    _refuse_unavailable(found)
    if refusal := _refusal_when_named(found, demand):
        raise UnsupportedByBackend(f"backend {found.name!r} does not take this call: {refusal}")
    return found


def _refuse_unavailable(backend: Backend) -> None:
    if reason := backend.unavailable_reason():
        raise BackendUnavailable(f"backend {backend.name!r} cannot run here: {reason}")


def _refusal_when_named(backend: Backend, demand: Demand) -> str | None:
    """Named, it may also be given NumPy arrays, which are converted and turned back."""
    if reason := backend.unavailable_reason():
        return reason
    if demand.arrays not in (backend.arrays, NUMPY_ARRAY):
        return f"it computes on {backend.arrays}, not on {demand.arrays}; convert the operands"
    return backend.capabilities.refusal(demand)


def _first_choice(demand: Demand) -> Backend:
    order = _by_preference(demand)
    for backend, candidate in order:
        if backend is not None and candidate.refusal is None:
            return backend
    refusals = [f"{candidate.name}: {candidate.refusal}" for _, candidate in order]
    listed = "\n  ".join(refusals) or "none is installed"
    raise UnsupportedByBackend(f"no backend takes this call of {demand.operation}:\n  {listed}")


def _by_preference(demand: Demand) -> list[tuple[Backend | None, Candidate]]:
    """Every installed backend, the fastest first; one that fails to load stops no other."""
    found = [
        (backend, Candidate(name, _refusal_by_arrays(backend, demand) if backend else reason))
        for backend, name, reason in _loaded()
    ]
    return sorted(found, key=lambda pair: (-pair[0].speed if pair[0] else 1, pair[1].name))


def _loaded() -> list[tuple[Backend | None, str, str | None]]:
    """Every installed backend with its name, or None and why it cannot be loaded."""
    found: list[tuple[Backend | None, str, str | None]] = []
    for name in discovery.names():
        try:
            found.append((discovery.find(name), name, None))
        except BackendUnavailable as error:
            found.append((None, name, str(error)))
    return found


def _refusal_by_arrays(backend: Backend, demand: Demand) -> str | None:
    if demand.arrays != backend.arrays:
        return f"it computes on {backend.arrays}, not on {demand.arrays}"
    return backend.capabilities.refusal(demand) or backend.unavailable_reason()


def arrays_of_type(kind: type, backend: str | Backend | None = None) -> str | None:
    """Return the qualified name under which a backend takes arrays of `kind`, or None."""
    asked, _ = _asked(backend)
    found = [] if asked is None else [_named(asked)]
    found += [installed for installed, _, _ in _loaded() if installed is not None]
    taken = {taker.arrays for taker in found}
    names = (f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__)
    return next((name for name in names if name in taken), None)
