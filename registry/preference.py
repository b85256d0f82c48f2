"""In which order backends are preferred where the arrays decide: by expected time, then by name."""

import math
from dataclasses import dataclass

from opspec.registry import discovery
from opspec.registry.backend import Backend
from opspec.registry.capabilities import Demand
from opspec.registry.errors import BackendUnavailable


@dataclass(frozen=True, slots=True)
class Contender:
    """One installed backend before one call.

    Parameters
    ----------
    name
        The name that it is installed under.
    backend
        None if it cannot be loaded.
    fault
        Why it cannot be loaded.
    seconds
        What the call is expected to cost on it.
    """

    name: str
    backend: Backend | None
    fault: str | None
    seconds: float

    def refusal(self, demand: Demand) -> str | None:
        """Say why it does not take the call, or None. May be what first asks whether it can run."""
        if self.backend is None:
            return self.fault
        if demand.arrays != self.backend.arrays:
            return f"it computes on {self.backend.arrays}, not on {demand.arrays}"
        return self.backend.capabilities.refusal(demand) or self.backend.unavailable_reason()

    def passed_over(self, demand: Demand, winner: "Contender") -> str:
        """Say why `winner` takes a call that this one could take too."""
        if self.backend is None:
            return str(self.fault)
        if self.seconds == winner.seconds:
            return "an equally fast backend comes before it by name"
        if self.backend.expected_seconds(demand, started=True) >= winner.seconds:
            return "a faster backend takes the call"
        remedy = "name it"
        if self.backend.warm is not None:
            kind = f"dtypes=[{demand.dtype!r}], data_formats=[{demand.data_format!r}]"
            remedy += f", or call opspec.warmup({self.name!r}, {kind})"
        return (
            f"compiling it (about {self.backend.cost.start:.3g} s, once) does not repay itself "
            f"for {demand.multiply_adds} multiply-adds; {remedy}"
        )


def contenders(demand: Demand) -> list[Contender]:
    """Return every installed backend, the preferred one first.

    None has been asked yet whether it can run: to find that out may take an import of seconds, so
    it is left until all that are preferred have refused.
    """
    found = [
        Contender(name, backend, fault, backend.expected_seconds(demand) if backend else math.inf)
        for name, backend, fault in installed()
    ]
    return sorted(found, key=lambda contender: (contender.seconds, contender.name))


def installed() -> list[tuple[str, Backend | None, str | None]]:
    """Return every installed backend's name with it, or with None and why it cannot be loaded."""
    found: list[tuple[str, Backend | None, str | None]] = []
    for name in discovery.names():
        try:
            found.append((name, discovery.find(name), None))
        except BackendUnavailable as error:
            found.append((name, None, str(error)))
    return found
