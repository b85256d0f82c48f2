"""What stands on the page, in the order in which it stands there; the template only lays it out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opspec.conformance.report import CaseResult, Place, Report, Verdict
from opspec.conformance.reports.account import command, numbers, off_by, suite_in_words
from opspec.conformance.reports.cell import failing, warned

SLOWEST = 10


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that makes its run a bad one.

    Parameters
    ----------
    result
        The case.
    given, expected, off_by
        The first wrong element in words; no text if there is none.
    command
        How to run it again.
    alike
        The other backends whose result of this case is wrong in the same way.
    """

    result: CaseResult
    given: str
    expected: str
    off_by: str
    command: str
    alike: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What is said of one backend.

    Parameters
    ----------
    report
        Its report.
    suite
        Which version of the suite was run.
    failures, kinds
        What failed, and how many failures look like which known fault.
    warnings
        What works but is undeclared.
    unsupported
        Why how many cases were not executed.
    slowest
        The cases that took the longest, longest first.
    """

    report: Report
    suite: str
    failures: tuple[Failure, ...]
    kinds: tuple[tuple[str, int], ...]
    warnings: tuple[CaseResult, ...]
    unsupported: tuple[tuple[str, int], ...]
    slowest: tuple[CaseResult, ...]


def sections(reports: Sequence[Report]) -> Iterator[Section]:
    """Yield what is said of each backend."""
    sharers = _sharers(reports)
    for number, report in enumerate(reports):
        failed = failing(report)
        kinds = Counter(result.looks_like for result in failed if result.looks_like)
        reasons = (r.reason for r in report.results if r.verdict == Verdict.UNSUPPORTED)
        slowest = sorted(report.results, key=lambda result: -result.seconds)[:SLOWEST]
        yield Section(
            report=report,
            suite=suite_in_words(report),
            failures=tuple(_failure(reports, number, result, sharers) for result in failed),
            kinds=tuple(kinds.most_common()),
            warnings=tuple(warned(report)),
            unsupported=tuple(Counter(reasons).most_common()),
            slowest=tuple(slowest),
        )


def _failure(
    reports: Sequence[Report],
    number: int,
    result: CaseResult,
    sharers: dict[tuple[str, str], list[int]],
) -> Failure:
    given, expected, distance = _place(result.place)
    same = sharers.get((result.case, result.fingerprint or ""), [])
    return Failure(
        result=result,
        given=given,
        expected=expected,
        off_by=distance,
        command=" ".join(command(reports[number], result)),
        alike=tuple(reports[other].backend for other in same if other != number),
    )


def _place(place: Place | None) -> tuple[str, str, str]:
    return ("", "", "") if place is None else (*numbers(place), off_by(place))


def _sharers(reports: Sequence[Report]) -> dict[tuple[str, str], list[int]]:
    """Return which reports have the same fault: by case and fingerprint, their positions."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, report in enumerate(reports):
        for result in failing(report):
            if result.fingerprint:
                found.setdefault((result.case, result.fingerprint), []).append(number)
    return found
