"""What became of a backend: a verdict for every case, and whether all of it together is good."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from opspec.registry import Demand


class Verdict(StrEnum):
    """What became of a case."""

    PASS = "pass"
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    UNDECLARED_UNSUPPORTED = "undeclared-unsupported"
    WORKS_BUT_UNDECLARED = "works-but-undeclared"


FAILURES = (Verdict.FAIL, Verdict.UNDECLARED_UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case's verdict.

    Parameters
    ----------
    case, lane, operation
        Which case it was.
    verdict, reason
        What became of it, and why if it did not pass.
    seconds
        How long it took.
    demand
        What it needed of the backend; None for cases that end before any backend.
    """

    case: str
    lane: str
    operation: str
    verdict: Verdict
    reason: str
    seconds: float
    demand: Demand | None


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a backend.

    Parameters
    ----------
    backend
        Its name.
    results
        Every case's verdict.
    unavailable
        Why it could not run at all, or None.
    uncovered
        What it declares and no executed case needed.
    partial
        Whether cases were left out on purpose.
    strict
        Whether working without declaring it counts as a failure.
    """

    backend: str
    results: tuple[CaseResult, ...]
    unavailable: str | None = None
    uncovered: tuple[str, ...] = ()
    partial: bool = False
    strict: bool = False

    @property
    def counts(self) -> Counter[Verdict]:
        """How many cases ended in each verdict."""
        return Counter(result.verdict for result in self.results)

    @property
    def executed(self) -> int:
        """How many cases the backend computed."""
        ran = (Verdict.PASS, Verdict.FAIL)
        return sum(r.verdict in ran and r.demand is not None for r in self.results)

    @property
    def objections(self) -> tuple[str, ...]:
        """Why this run is not good; empty if it is."""
        if self.unavailable is not None:
            return (self.unavailable,)
        found = [f"{self.counts[verdict]} cases: {verdict}" for verdict in FAILURES]
        found = [text for text in found if not text.startswith("0 ")]
        if self.executed == 0:
            found.append("no case was executed")
        if self.uncovered and not self.partial:
            found.append(f"declared but not executed: {', '.join(self.uncovered)}")
        if self.strict and self.counts[Verdict.WORKS_BUT_UNDECLARED]:
            found.append(
                f"{self.counts[Verdict.WORKS_BUT_UNDECLARED]} cases work but are undeclared"
            )
        return tuple(found)

    @property
    def ok(self) -> bool:
        """Whether all that is declared was executed and passed."""
        return not self.objections
