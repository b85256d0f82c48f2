"""A report on the terminal: progress, a table of lanes, every case that did not pass."""

import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from opspec.conformance.report import CaseResult, Report, Verdict
from opspec.conformance.reports.account import command, details, suite_in_words
from opspec.conformance.reports.cell import failing, lane_order, warned
from opspec.conformance.reports.comparison import compare
from opspec.conformance.reports.legible import legible
from opspec.conformance.reports.plain_table import plain_table, print_titled

__all__ = ["Advance", "compare", "progress", "show"]

SHOWN_FAILURES = 20


class Advance(Protocol):
    """Called after each case."""

    def __call__(self, done: int, total: int, /) -> object:
        """Show how many cases are done."""


@contextmanager
def progress(console: Console, backend: str) -> Iterator[Advance]:
    """Show a bar while the cases run; on no terminal, nothing."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(f"checking {legible(backend)}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show(console: Console, report: Report) -> None:
    """Print the summary of a report and what did not pass."""
    for operation in sorted({result.operation for result in report.results}):
        title = f"conformance of {report.backend}: {operation}"
        print_titled(console, title, _table(report, operation))
    if report.results:
        _say(console, f"{suite_in_words(report)}. {_amount(report)}")
    if report.caveat is not None:
        _say(console, report.caveat, style="yellow")
    _show_failures(console, report)
    _show_warnings(console, report)
    if report.ok:
        scope = "of the chosen cases (a partial run proves nothing more)" if report.partial else ""
        passed = f"{report.backend}: passed all that it declares {scope}".rstrip()
        _say(console, passed, style="bold green")
    for objection in report.objections:
        _say(console, f"{report.backend}: {objection}", style="bold red")


def _amount(report: Report) -> str:
    return f"{report.executed} of {len(report.results)} cases executed, {report.seconds:.1f} s"


def _table(report: Report, operation: str) -> Table:
    """Return one operation's verdicts by lane; all seven verdicts together fit into 80 columns."""
    table = plain_table()
    table.add_column("lane")
    verdicts = [verdict for verdict in Verdict if report.counts[verdict] or verdict == Verdict.PASS]
    for verdict in verdicts:
        table.add_column(verdict.value.replace("-", "-\n"), justify="right")
    inside = [result for result in report.results if result.operation == operation]
    for lane in sorted({result.lane for result in inside}, key=lane_order):
        found = Counter(result.verdict for result in inside if result.lane == lane)
        table.add_row(Text(lane), *(str(found[verdict]) for verdict in verdicts))
    table.add_section()
    every = Counter(result.verdict for result in inside)
    table.add_row("all", *(str(every[verdict]) for verdict in verdicts))
    return table


def _show_failures(console: Console, report: Report) -> None:
    """Print the first failures; of those that look alike only one comes with its script."""
    failed = failing(report)
    seen: set[tuple[str | None, str]] = set()
    for result in failed[:SHOWN_FAILURES]:
        _show_failure(console, report, result)
        kind = (result.looks_like, result.lane)
        if result.script is not None and kind not in seen:
            seen.add(kind)
            _show_script(console, result.script)
    if len(failed) > SHOWN_FAILURES:
        rest = len(failed) - SHOWN_FAILURES
        _say(console, f"and {rest} more; --html FILE and --json FILE have them all")


def _show_failure(console: Console, report: Report, result: CaseResult) -> None:
    _say(console, f"{result.verdict}: {result.case}", style="red")
    for detail in details(result):
        _say(console, detail, indent="  ")
    start, rest = command(report, result)
    whole = f"  again: {start} {rest}"
    if len(whole) > console.width:
        whole = f"  again: {start} \\\n    {rest}"
    _as_it_is(console, whole, style="dim")


def _show_script(console: Console, script: str) -> None:
    _say(console, "to see it with NumPy and the backend alone:", indent="  ")
    console.print()
    _as_it_is(console, textwrap.indent(script.strip("\n"), "    "))
    console.print()


def _show_warnings(console: Console, report: Report) -> None:
    found = warned(report)
    for result in found[:SHOWN_FAILURES]:
        _say(console, f"warning: {result.case}: {result.reason}", style="yellow")
    if len(found) > SHOWN_FAILURES:
        _say(console, f"and {len(found) - SHOWN_FAILURES} more warnings", style="yellow")


def _say(console: Console, text: str, style: str = "", indent: str = "") -> None:
    """Print words, broken where the terminal ends and all lines indented alike."""
    room = max(console.width - len(indent), 1)
    for line in legible(text).splitlines():
        for part in textwrap.wrap(line, room, break_on_hyphens=False) or [""]:
            console.print(Text(indent + part, style=style))


def _as_it_is(console: Console, text: str, style: str = "") -> None:
    """Print what is to be copied: a line stays one line, however long."""
    console.print(Text(legible(text), style=style), soft_wrap=True)
