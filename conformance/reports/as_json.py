"""Reports as JSON, for other programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from opspec.conformance.report import Report


def described(report: Report) -> dict[str, Any]:
    """Return a report as plain data."""
    return {
        "backend": report.backend,
        "ok": report.ok,
        "objections": list(report.objections),
        "executed": report.executed,
        "partial": report.partial,
        "counts": {verdict.value: count for verdict, count in sorted(report.counts.items())},
        "results": [
            {**asdict(result), "verdict": result.verdict.value} for result in report.results
        ],
    }


def write(reports: Sequence[Report], file: Path) -> None:
    """Write reports into a file."""
    text = json.dumps({"reports": [described(report) for report in reports]}, indent=1)
    file.write_text(text + "\n", "utf-8")
