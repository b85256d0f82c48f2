"""The tables on the terminal: no frames, so that seven verdicts fit into 80 columns."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opspec.conformance.reports.legible import legible

GAP = 2


def plain_table() -> Table:
    """Return an empty table."""
    return Table(box=SIMPLE_HEAD, padding=(0, 0, 0, GAP - 1), show_edge=False)


def print_titled(console: Console, title: str, table: Table) -> None:
    """Print a table below its title, which may be wider, and an empty line."""
    console.print(Text(legible(title), style="italic"))
    console.print(table)
    console.print()
