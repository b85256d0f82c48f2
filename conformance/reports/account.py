"""What is said of one failing case, and of a run as a whole, in every kind of report."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from opspec.conformance.report import EXECUTED, CaseResult, Place, Report, Verdict
from opspec.conformance.reports.cell import failing


def numbers(place: Place) -> tuple[str, str]:
    """Return what is given and what is expected, with as many digits as tell them apart."""
    given, expected = f"{place.given:.9g}", f"{place.expected:.9g}"
    if given != expected:
        return given, expected
    return repr(float(place.given)), repr(float(place.expected))


def off_by(place: Place) -> str:
    """Return how wrong an element is."""
    if place.units is None:
        return "the bits must match"
    return f"{place.units:.3g} units of the bound"


def place_in_words(place: Place) -> str:
    """Return the first wrong element in one sentence."""
    given, expected = numbers(place)
    return (
        f"first wrong element {place.index}: {given}, expected {expected}, {off_by(place)}; "
        f"{place.wrong} of {place.elements} elements are wrong"
    )


def details(result: CaseResult) -> Iterator[str]:
    """Yield why a case did not pass, where first, and what that looks like."""
    yield result.reason
    if result.place is not None and result.place.index not in result.reason:
        yield place_in_words(result.place)
    if result.looks_like is not None:
        yield f"looks like: {result.looks_like}"


def command(report: Report, result: CaseResult) -> tuple[str, str]:
    """Return the shell command that runs a case again, in two halves that may be two lines."""
    ended = result.verdict in (Verdict.CRASHED, Verdict.TIMED_OUT)
    apart = " --isolate" if ended else ""
    return f"opspec check {shlex.quote(report.backend)}{apart}", f"-k {shlex.quote(result.case)}"


def suite_in_words(report: Report) -> str:
    """Return which version of the suite was run, and what that left out."""
    if not report.newer:
        return f"suite {report.suite}"
    cases = "case" if report.newer == 1 else "cases"
    return f"suite {report.suite}, pinned; {report.newer} newer {cases} left out"


def objections_to_the_run(report: Report) -> tuple[str, ...]:
    """Return the objections that belong to no case: what there would be if every case were fine."""
    fine: dict[Verdict, Verdict] = dict.fromkeys(EXECUTED, Verdict.PASS)
    fine[Verdict.UNDECLARED_UNSUPPORTED] = Verdict.UNSUPPORTED
    results = tuple(replace(r, verdict=fine.get(r.verdict, r.verdict)) for r in report.results)
    return replace(report, results=results, strict=False).objections


def all_is_well(reports: Sequence[Report]) -> bool:
    """Whether there is any report, and every one is good."""
    return bool(reports) and all(report.ok for report in reports)


def outcome(reports: Sequence[Report]) -> str:
    """Return in two or three words what became of all backends together."""
    failed = sum(len(failing(report)) for report in reports)
    if not any(report.executed for report in reports) and not failed:
        return "nothing ran"
    if failed:
        return f"{failed} failing"
    if not all_is_well(reports):
        return "incomplete"
    passed = sum(report.counts[Verdict.PASS] for report in reports)
    return f"{passed} passed" + (", partial" if any(r.partial for r in reports) else "")


def suites(reports: Sequence[Report]) -> str:
    """Return the versions of the suite that were run."""
    return ", ".join(str(version) for version in sorted({report.suite for report in reports}))
