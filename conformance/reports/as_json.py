"""Reports as JSON, for other programs."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import opspec
from opspec.conformance.report import Report
from opspec.conformance.reports.account import all_is_well
from opspec.conformance.reports.writing import write_whole


def described(report: Report) -> dict[str, Any]:
    """Return a report as plain data; numbers that JSON does not have, such as NaN, as text."""
    return {
        "backend": report.backend,
        "ok": report.ok,
        "objections": list(report.objections),
        "suite": report.suite,
        "newer": report.newer,
        "caveat": report.caveat,
        "unavailable": report.unavailable,
        "uncovered": list(report.uncovered),
        "partial": report.partial,
        "strict": report.strict,
        "seconds": report.seconds,
        "executed": report.executed,
        "counts": {verdict.value: count for verdict, count in sorted(report.counts.items())},
        "results": [_plain(asdict(result)) for result in report.results],
    }


def write(reports: Sequence[Report], file: Path) -> None:
    """Write reports into a file."""
    content = {
        "opspec": opspec.__version__,
        "ok": all_is_well(reports),
        "reports": [described(report) for report in reports],
    }
    write_whole(file, json.dumps(content, indent=1, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
