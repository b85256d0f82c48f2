"""What became of a backend: a verdict for every case, and whether all of it together is good."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from opspec.registry import Demand


class Verdict(StrEnum):
    """What became of a case."""

    PASS = "pass"
    FAIL = "fail"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    UNSUPPORTED = "unsupported"
    UNDECLARED_UNSUPPORTED = "undeclared-unsupported"
    WORKS_BUT_UNDECLARED = "works-but-undeclared"


FAILURES = (
    Verdict.FAIL,
    Verdict.CRASHED,
    Verdict.TIMED_OUT,
    Verdict.UNDECLARED_UNSUPPORTED,
)
EXECUTED = (Verdict.PASS, Verdict.FAIL, Verdict.CRASHED, Verdict.TIMED_OUT)


@dataclass(frozen=True, slots=True)
class Place:
    """The first wrong element of a result, and how wrong it is.

    Parameters
    ----------
    n, d, h, w, c
        Its batch entry, depth, height, width and channel, whatever the data format. Of a filter, n
        is None and c the channel of the large side.
    given, expected
        What is there, and what should be.
    units
        How far off it is, in units of the bound; None where the bits must match.
    wrong, elements
        How many elements are wrong, of how many.
    j
        Of a filter, the channel of the small side.
    """

    n: int | None
    d: int
    h: int
    w: int
    c: int
    given: float
    expected: float
    units: float | None
    wrong: int
    elements: int
    j: int | None = None

    @property
    def index(self) -> str:
        """Where it is, as text."""
        along = ((axis, getattr(self, axis)) for axis in "ndhwcj")
        return f"({', '.join(f'{axis}={at}' for axis, at in along if at is not None)})"


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
    features
        What else is particular about it, such as ``"strided"`` or ``"SAME"``.
    place
        The first wrong element, if the result had one.
    looks_like
        The fault that a known wrong kernel has in common with this one, in words.
    script
        A program that shows the fault with NumPy and the backend alone.
    fingerprint
        What two backends with the same fault have in common on this case: a digest of the wrong
        result, or the error.
    """

    case: str
    lane: str
    operation: str
    verdict: Verdict
    reason: str
    seconds: float
    demand: Demand | None
    features: tuple[str, ...] = ()
    place: Place | None = None
    looks_like: str | None = None
    script: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a backend.

    Parameters
    ----------
    backend
        Its name.
    results
        Every case's verdict.
    suite
        The version of the suite that was run.
    newer
        How many cases were left out because they came after that version.
    unavailable
        Why it could not run at all, or None.
    uncovered
        What it declares and no executed case needed.
    partial
        Whether cases were left out on purpose.
    strict
        Whether working without declaring it counts as a failure.
    seconds
        How long all of it took.
    caveat
        What this run cannot show, whatever its verdicts; None for nothing in particular.
    """

    backend: str
    results: tuple[CaseResult, ...]
    suite: int
    newer: int = 0
    unavailable: str | None = None
    uncovered: tuple[str, ...] = ()
    partial: bool = False
    strict: bool = False
    seconds: float = 0.0
    caveat: str | None = None

    @property
    def counts(self) -> Counter[Verdict]:
        """How many cases ended in each verdict."""
        return Counter(result.verdict for result in self.results)

    @property
    def failures(self) -> tuple[CaseResult, ...]:
        """The cases that make this run a bad one."""
        return tuple(result for result in self.results if result.verdict in FAILURES)

    @property
    def executed(self) -> int:
        """How many cases the backend computed."""
        return sum(r.verdict in EXECUTED and r.demand is not None for r in self.results)

    @property
    def objections(self) -> tuple[str, ...]:
        """Why this run is not good; empty if it is."""
        if self.unavailable is not None:
            return (self.unavailable,)
        found = [
            f"{self.counts[verdict]} cases: {verdict}"
            for verdict in FAILURES
            if self.counts[verdict]
        ]
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
