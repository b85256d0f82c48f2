"""Several backends side by side on the terminal: for each operation a table, a column for each."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opspec.conformance.report import CaseResult, Report
from opspec.conformance.reports.cell import Cell, State, cell, dtype_of, lane_order
from opspec.conformance.reports.legible import legible
from opspec.conformance.reports.plain_table import GAP, plain_table, print_titled

# "1204/1204 FAIL", and what lane and dtype take.
COLUMN, ROW_HEADS = 14 + GAP, 20
# Words, not signs: they need neither colour nor a terminal that knows Unicode.
MARKS = {
    State.RIGHT: ("ok", "green"),
    State.WRONG: ("FAIL", "bold red"),
    State.UNDECLARED: ("not declared", "dim"),
    State.EMPTY: ("-", "dim"),
}


def compare(console: Console, reports: Sequence[Report]) -> None:
    """Print how many cases passed of those executed, by lane and dtype, for every backend.

    More backends than fit beside each other are printed below each other; those of which there is
    no result are left out.
    """
    together = max(1, (console.width - ROW_HEADS) // COLUMN)
    compared = [report for report in reports if report.results]
    for operation in sorted({r.operation for report in compared for r in report.results}):
        rows = {
            (result.lane, dtype_of(result))
            for report in compared
            for result in report.results
            if result.operation == operation
        }
        ordered = sorted(rows, key=lambda row: (lane_order(row[0]), row[1]))
        for first in range(0, len(compared), together):
            table = _table(operation, ordered, compared[first : first + together])
            print_titled(console, f"{operation}: passed/executed", table)


def _table(operation: str, rows: Iterable[tuple[str, str]], reports: Sequence[Report]) -> Table:
    table = plain_table()
    table.add_column("lane")
    table.add_column("dtype")
    for report in reports:
        table.add_column(Text(legible(report.backend)), justify="right", overflow="fold")
    previous = None
    for lane, dtype in rows:
        cells = (_shown(_chosen(report, operation, lane, dtype)) for report in reports)
        table.add_row(Text("" if lane == previous else lane), Text(dtype or "-"), *cells)
        previous = lane
    table.add_section()
    table.add_row("all", "", *(_shown(_chosen(report, operation)) for report in reports))
    return table


def _chosen(
    report: Report, operation: str, lane: str | None = None, dtype: str | None = None
) -> Cell:
    def belongs(result: CaseResult) -> bool:
        return (
            result.operation == operation
            and lane in (None, result.lane)
            and dtype in (None, dtype_of(result))
        )

    return cell(filter(belongs, report.results), strict=report.strict)


def _shown(content: Cell) -> Text:
    mark, style = MARKS[content.state]
    counted = content.state in (State.RIGHT, State.WRONG)
    count = f"{content.passed}/{content.executed} " if counted else ""
    return Text(f"{count}{mark}", style=style)
