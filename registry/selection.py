"""Which backend takes a call, and why.

In this order: `backend=` in the call; the innermost ``with use_backend(...)``; the environment
variable OPSPEC_BACKEND; the caller's arrays. A backend that was named never gives way to another.

Where the arrays decide, the same call goes to the same backend as long as the process lives,
whatever else has run or been compiled: the choice depends on declared costs only. Only
`opspec.warmup` changes it, when the caller says so.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from opspec.registry import discovery
from opspec.registry.backend import NUMPY_ARRAY, Backend
from opspec.registry.capabilities import Demand
from opspec.registry.errors import BackendError, BackendUnavailable, UnsupportedByBackend
from opspec.registry.preference import contenders, installed

ENVIRONMENT_VARIABLE = "OPSPEC_BACKEND"

log = logging.getLogger("opspec")

_in_use: ContextVar[str | Backend | None] = ContextVar("opspec_backend", default=None)
# Choices made before this object was replaced are made anew.
_epoch = object()


def forget_choices() -> None:
    """Let every call choose its backend anew."""
    global _epoch
    _epoch = object()


discovery.on_forget(forget_choices)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One backend before one call.

    Parameters
    ----------
    name
        What it is called.
    refusal
        What speaks against it; None if it could take the call.
    passed_over
        Why another one takes the call that it could take too.
    seconds
        What the call is expected to cost on it, by what it declares; None if it does not take it.
    """

    name: str
    refusal: str | None
    passed_over: str | None = None
    seconds: float | None = None


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
    detail
        What the chosen one says about how it computes the call; None if it says nothing.
    """

    demand: Demand
    asked: str
    chosen: str | None
    candidates: tuple[Candidate, ...]
    detail: str | None = None

    def __str__(self) -> str:
        need = self.demand
        traits = [need.dtype, need.data_format, need.arrays]
        traits += [f"{need.multiply_adds} multiply-adds"]
        traits += ["dilated"] * need.dilated + ["empty"] * need.empty
        lines = [f"{need.operation} ({', '.join(traits)}); {self.asked}"]
        for candidate in self.candidates:
            if candidate.name == self.chosen:
                verdict = f"runs, {self.detail}" if self.detail else "runs"
            else:
                verdict = f"not used: {candidate.refusal or candidate.passed_over}"
            if candidate.seconds is not None:
                verdict += f" (expected cost {1e3 * candidate.seconds:.3g} ms)"
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


class Choices:
    """Which backend runs the calls of one demand, worked out once for each way of asking.

    Parameters
    ----------
    demand
        What the calls need.
    """

    __slots__ = ("_memory", "demand")

    def __init__(self, demand: Demand) -> None:
        self.demand = demand
        self._memory: tuple[object, dict[str | None, Backend]] = (_epoch, {})

    def select(self, backend: str | Backend | None = None) -> Backend:
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
        epoch, chosen = self._memory
        if epoch is not _epoch:
            # What a thread still puts into the old memory goes with it.
            chosen = {}
            self._memory = (_epoch, chosen)
        named = asked is None or isinstance(asked, str)
        found = chosen.get(asked) if named else None  # type: ignore[arg-type]  # it is a name
        if found is None:
            found = _first_choice(self.demand) if asked is None else _as_asked(self.demand, asked)
            if named:
                chosen[asked] = found  # type: ignore[index]  # as above
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s", explain(self.demand, backend))
        return found


def explain(demand: Demand, backend: str | Backend | None = None) -> Explanation:
    """Say which backend would run a call, and why each other one would not."""
    asked, by = _asked(backend)
    if asked is None:
        chosen, candidates = _by_the_arrays(demand)
        return Explanation(demand, "chosen by the arrays", chosen, candidates)
    name = asked.name if isinstance(asked, Backend) else asked
    seconds = None
    try:
        found = _named(asked)
        refusal = _refusal_when_named(found, demand)
        if refusal is None:
            seconds = found.expected_seconds(demand)
    except BackendError as error:
        refusal = str(error)
    others = [Candidate(n, f"{name} was named") for n in discovery.names() if n != name]
    return Explanation(
        demand,
        f"named by {by}",
        name if refusal is None else None,
        (Candidate(name, refusal, seconds=seconds), *others),
    )


def _by_the_arrays(demand: Demand) -> tuple[str | None, tuple[Candidate, ...]]:
    judged = [(contender, contender.refusal(demand)) for contender in contenders(demand)]
    winner = next((contender for contender, refusal in judged if refusal is None), None)
    candidates = tuple(
        Candidate(contender.name, refusal)
        if refusal is not None
        else Candidate(
            contender.name,
            None,
            None
            if winner is None or contender is winner
            else contender.passed_over(demand, winner),
            contender.seconds,
        )
        for contender, refusal in judged
    )
    return None if winner is None else winner.name, candidates


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
    refusals = []
    for contender in contenders(demand):
        refusal = contender.refusal(demand)
        if refusal is None and contender.backend is not None:
            return contender.backend
        refusals.append(f"{contender.name}: {refusal}")
    listed = "\n  ".join(refusals) or "none is installed"
    raise UnsupportedByBackend(f"no backend takes this call of {demand.operation}:\n  {listed}")


def arrays_of_type(kind: type, backend: str | Backend | None = None) -> str | None:
    """Return the qualified name under which a backend takes arrays of `kind`, or None."""
    asked, _ = _asked(backend)
    found = [] if asked is None else [_named(asked)]
    found += [backend for _, backend, _ in installed() if backend is not None]
    taken = {taker.arrays for taker in found}
    names = (f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__)
    return next((name for name in names if name in taken), None)
