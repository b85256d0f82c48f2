"""The kill table on a terminal, or as plain data."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from opspec.conformance.kills import Kill
from opspec.conformance.mutants import FAMILIES
from opspec.conformance.reports.terminal import progress
from opspec.conformance.tasks import Task

__all__ = ["described", "progress", "show"]


def show(console: Console, kills: Sequence[Kill], idle: Sequence[Task], *, whole: bool) -> None:
    """Print a line for each mutant, a table of families, and what survived or is idle."""
    for kill in kills:
        if kill.first is not None:
            words = f"{kill.mutant.name}: {kill.first.verdict} {kill.first.case}"
            console.print(words, markup=False, soft_wrap=True)
    console.print(_families(kills))
    dead = sum(kill.first is not None for kill in kills)
    for kill in kills:
        if kill.first is None:
            words = f"survived: {kill.mutant.name} ({kill.mutant.looks_like})"
            console.print(words, style="bold red", markup=False, soft_wrap=True)
    for task in idle:
        words = f"kills nothing that no smaller case kills: {task.identity}"
        console.print(words, style="bold red", markup=False, soft_wrap=True)
    if whole:
        console.print(f"{len(idle)} idle cases")
    share = 100 * dead // len(kills)
    style = "bold green" if dead == len(kills) else "bold red"
    console.print(f"mutants: {dead} of {len(kills)} killed ({share} %)", style=style)


def _families(kills: Sequence[Kill]) -> Table:
    """Count per family who was killed by which lane."""
    table = Table(title="mutants killed", title_justify="left")
    lanes = sorted({kill.first.lane for kill in kills if kill.first is not None})
    for heading in ("family", "mutants", "killed", *(f"by {lane}" for lane in lanes)):
        table.add_column(heading, justify="left" if heading == "family" else "right")
    for family in FAMILIES:
        inside = [kill for kill in kills if kill.mutant.family == family]
        by = Counter(kill.first.lane for kill in inside if kill.first is not None)
        if inside:
            counts = (len(inside), sum(by.values()), *(by[lane] for lane in lanes))
            table.add_row(family, *map(str, counts))
    return table


def described(kills: Sequence[Kill], idle: Sequence[Task]) -> dict[str, Any]:
    """Return the table as plain data."""
    return {
        "mutants": [
            {
                "name": kill.mutant.name,
                "family": kill.mutant.family,
                "looks_like": kill.mutant.looks_like,
                "killed_by": kill.first.case if kill.first else None,
                "verdict": kill.first.verdict.value if kill.first else None,
                "reason": kill.first.reason if kill.first else None,
            }
            for kill in kills
        ],
        "idle": [task.identity for task in idle],
    }
