"""Reports as one page that needs nothing else: no script, no network."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment as Templates
from jinja2 import PackageLoader, StrictUndefined

from opspec.conformance.report import Report, Verdict
from opspec.conformance.reports.account import all_is_well, outcome, suites
from opspec.conformance.reports.environment import Environment
from opspec.conformance.reports.legible import legible
from opspec.conformance.reports.matrix import features_by_dtype, lanes_by_dtype
from opspec.conformance.reports.page import sections
from opspec.conformance.reports.writing import write_whole

TEMPLATE = "report.html.jinja"


def write(reports: Sequence[Report], file: Path, *, date: datetime | None = None) -> None:
    """Write reports into a file.

    Parameters
    ----------
    reports
        One of each backend.
    file
        Where to.
    date
        When the run took place; by default now.
    """
    write_whole(file, rendered(reports, Environment.of_this_process(date or datetime.now(UTC))))


def rendered(reports: Sequence[Report], environment: Environment) -> str:
    """Return the page."""
    templates = Templates(
        loader=PackageLoader("opspec.conformance.reports", "."),
        autoescape=True,
        finalize=_legible_text,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    compared = [report for report in reports if report.results]
    return templates.get_template(TEMPLATE).render(
        beside=len(compared) > 1,
        environment=environment,
        features=features_by_dtype(compared),
        matrices=list(lanes_by_dtype(compared)),
        outcome=outcome(reports),
        sections=list(sections(reports)),
        several=len(reports) > 1,
        suites=suites(reports),
        verdicts=list(Verdict),
        well=all_is_well(reports),
    )


def _legible_text(value: Any) -> Any:
    # What is escaped already is a subclass of text, and must stay one.
    return legible(value) if type(value) is str else value
