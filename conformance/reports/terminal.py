"""A report on the terminal: progress, a table of lanes, every case that did not pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from opspec.conformance.report import FAILURES, Report, Verdict

SHOWN_FAILURES = 20


class Advance(Protocol):
    """Called after each case."""

    def __call__(self, done: int, total: int, /) -> object:
        """Show how many cases are done."""


@contextmanager
def progress(console: Console, backend: str) -> Iterator[Advance]:
    """Show a bar while the cases run; on no terminal, nothing."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(f"checking {backend}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show(console: Console, report: Report) -> None:
    """Print the summary of a report and what did not pass."""
    if report.results:
        console.print(_table(report))
    _show_reasons(console, report)
    if report.ok:
        scope = "of the chosen cases (a partial run proves nothing more)" if report.partial else ""
        console.print(
            f"{report.backend}: passed all that it declares {scope}".rstrip(), style="bold green"
        )
    for objection in report.objections:
        console.print(f"{report.backend}: {objection}", style="bold red", markup=False)


def _table(report: Report) -> Table:
    table = Table(title=f"conformance of {report.backend}", title_justify="left")
    table.add_column("operation")
    table.add_column("lane")
    verdicts = [verdict for verdict in Verdict if report.counts[verdict] or verdict == Verdict.PASS]
    for verdict in verdicts:
        table.add_column(verdict.value, justify="right")
    rows = sorted({(result.operation, result.lane) for result in report.results})
    for operation, lane in rows:
        inside = [r.verdict for r in report.results if (r.operation, r.lane) == (operation, lane)]
        table.add_row(operation, lane, *(str(inside.count(verdict)) for verdict in verdicts))
    table.add_section()
    table.add_row("all", "", *(str(report.counts[verdict]) for verdict in verdicts))
    return table


def _show_reasons(console: Console, report: Report) -> None:
    failed = [result for result in report.results if result.verdict in FAILURES]
    for result in failed[:SHOWN_FAILURES]:
        console.print(f"{result.verdict}: {result.case}", style="red", markup=False)
        console.print(f"  {result.reason}", markup=False)
        console.print(
            f"  again: opspec check {report.backend} -k {result.case}", style="dim", markup=False
        )
    if len(failed) > SHOWN_FAILURES:
        console.print(f"… and {len(failed) - SHOWN_FAILURES} more; --json FILE has them all")
    undeclared = [r for r in report.results if r.verdict == Verdict.WORKS_BUT_UNDECLARED]
    for result in undeclared[:SHOWN_FAILURES]:
        console.print(f"warning: {result.case}: {result.reason}", style="yellow", markup=False)
