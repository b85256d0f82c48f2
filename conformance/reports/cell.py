"""One cell of a table: what became of the cases that belong into it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from opspec.conformance.report import FAILURES, CaseResult, Report, Verdict

LANES = ("exact", "bounded", "real", "accept", "reject", "property", "form")


class State(StrEnum):
    """What a cell says at a glance."""

    RIGHT = "right"
    WRONG = "wrong"
    UNDECLARED = "undeclared"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Cell:
    """How many cases of a kind ended how.

    Parameters
    ----------
    passed, failed
        Of what is declared. In a strict run, working without declaring it is a failure.
    unsupported
        Not declared, and does not work.
    surplus
        Not declared, but works; 0 in a strict run.
    """

    passed: int
    failed: int
    unsupported: int
    surplus: int

    @property
    def executed(self) -> int:
        """How many had to be right."""
        return self.passed + self.failed

    @property
    def state(self) -> State:
        """One failure makes a cell wrong; one pass is needed to make it right."""
        if self.failed:
            return State.WRONG
        if self.passed:
            return State.RIGHT
        return State.UNDECLARED if self.unsupported or self.surplus else State.EMPTY


def is_failing(result: CaseResult, *, strict: bool) -> bool:
    """Whether a case makes its run a bad one."""
    surplus = result.verdict == Verdict.WORKS_BUT_UNDECLARED
    return result.verdict in FAILURES or (strict and surplus)


def failing(report: Report) -> tuple[CaseResult, ...]:
    """Return the cases that make a run a bad one; what works but is undeclared comes last."""
    wrong = report.failures
    return wrong + (tuple(surplus(report)) if report.strict else ())


def warned(report: Report) -> list[CaseResult]:
    """Return what works but is undeclared, where that is no failure."""
    return [] if report.strict else surplus(report)


def surplus(report: Report) -> list[CaseResult]:
    """Return what works but is undeclared."""
    return [r for r in report.results if r.verdict == Verdict.WORKS_BUT_UNDECLARED]


def cell(results: Iterable[CaseResult], *, strict: bool) -> Cell:
    """Count the cases of a cell."""
    chosen = list(results)
    verdicts = [result.verdict for result in chosen]
    return Cell(
        passed=verdicts.count(Verdict.PASS),
        failed=sum(is_failing(result, strict=strict) for result in chosen),
        unsupported=verdicts.count(Verdict.UNSUPPORTED),
        surplus=0 if strict else verdicts.count(Verdict.WORKS_BUT_UNDECLARED),
    )


def dtype_of(result: CaseResult) -> str:
    """Return the dtype that a case needs, or no text if it needs none."""
    return result.demand.dtype if result.demand else ""


def lane_order(lane: str) -> tuple[int, str]:
    """Return a sorting key: the known lanes in the order of the documentation, then any other."""
    return (LANES.index(lane) if lane in LANES else len(LANES), lane)
