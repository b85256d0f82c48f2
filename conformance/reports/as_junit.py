"""Reports as JUnit XML, for CI servers.

Every objection fails a test case: its own, if it belongs to no case of the suite. A report that
holds nothing is therefore never green.
"""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import opspec
from opspec.conformance.report import CaseResult, Report, Verdict
from opspec.conformance.reports.account import command, details, objections_to_the_run
from opspec.conformance.reports.cell import is_failing
from opspec.conformance.reports.legible import legible
from opspec.conformance.reports.writing import write_whole

ERRORS = (Verdict.CRASHED, Verdict.TIMED_OUT)
KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def write(reports: Sequence[Report], file: Path) -> None:
    """Write reports into a file."""
    root = ElementTree.Element("testsuites", name="opspec conformance")
    for report in reports:
        _add_suite(root, report)
    if not reports:
        suite = ElementTree.SubElement(root, "testsuite", name="opspec")
        _add_objection(suite, "no backend was checked")
        _count(suite)
    _count(root)
    root.set("time", _time(sum(report.seconds for report in reports)))
    ElementTree.indent(root)
    write_whole(
        file, f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, "unicode")}\n'
    )


def _add_suite(root: ElementTree.Element, report: Report) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=legible(report.backend))
    properties = ElementTree.SubElement(suite, "properties")
    known: dict[str, object] = {"opspec": opspec.__version__, "suite": report.suite}
    known |= {"newer": report.newer} | ({"caveat": report.caveat} if report.caveat else {})
    for name, value in known.items():
        ElementTree.SubElement(properties, "property", name=name, value=legible(str(value)))
    for result in report.results:
        _add_case(suite, report, result)
    for objection in objections_to_the_run(report):
        _add_objection(suite, objection)
    _count(suite)
    suite.set("time", _time(report.seconds))


def _add_case(suite: ElementTree.Element, report: Report, result: CaseResult) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=legible(f"{result.operation}.{result.lane}"),
        name=legible(result.case),
        time=_time(result.seconds),
    )
    if is_failing(result, strict=report.strict):
        kind = "error" if result.verdict in ERRORS else "failure"
        message = f"{result.verdict}: {result.reason}"
        found = ElementTree.SubElement(
            case, kind, type=result.verdict.value, message=legible(message)
        )
        found.text = legible(_account(report, result))
    elif result.verdict == Verdict.UNSUPPORTED:
        ElementTree.SubElement(case, "skipped", message=legible(result.reason))
    elif result.verdict == Verdict.WORKS_BUT_UNDECLARED:
        ElementTree.SubElement(case, "system-out").text = legible(f"warning: {result.reason}")


def _account(report: Report, result: CaseResult) -> str:
    lines = [*details(result), f"again: {' '.join(command(report, result))}"]
    if result.script is not None:
        lines += ["to see it with NumPy and the backend alone:", "", result.script]
    return "\n".join(lines)


def _add_objection(suite: ElementTree.Element, objection: str) -> None:
    text = legible(objection)
    case = ElementTree.SubElement(suite, "testcase", classname="opspec.run", name=text, time="0")
    ElementTree.SubElement(case, "failure", type="objection", message=text).text = text


def _count(element: ElementTree.Element) -> None:
    element.set("tests", str(len(element.findall(".//testcase"))))
    for attribute, kind in KINDS.items():
        element.set(attribute, str(len(element.findall(f".//testcase/{kind}"))))


def _time(seconds: float) -> str:
    return f"{seconds:.6f}"
