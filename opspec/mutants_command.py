"""``opspec mutants``: known wrong kernels against the suite, and the kill table."""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from opspec.check_command import needed


def add_to(commands: Any) -> None:
    """Add the command to an argument parser's commands."""
    command = commands.add_parser(
        "mutants",
        help="run known wrong kernels against the suite",
        description="Run known wrong kernels against the suite, smaller cases first, and print "
        "what kills each. Exits 0 only if all are killed and no golden case is idle: one that "
        "kills nothing that no smaller case kills.",
    )
    command.add_argument("-k", dest="pattern", metavar="TEXT", help="only mutants named so")
    command.add_argument("--list", action="store_true", help="only list them")
    command.add_argument("--json", type=Path, metavar="FILE", help="write the table into FILE")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    rich_console = needed("rich.console", "cli")
    kills = needed("opspec.conformance.kills", "conformance")
    if rich_console is None or kills is None:
        return 2
    if chosen.json and not chosen.json.parent.is_dir():
        print(f"opspec: there is no folder {chosen.json.parent} for --json", file=sys.stderr)
        return 2
    mutants = importlib.import_module("opspec.conformance.mutants").all_mutants()
    mutants = [m for m in mutants if chosen.pattern is None or chosen.pattern in m.name]
    if not mutants:
        print(f"opspec: no mutant has {chosen.pattern!r} in its name", file=sys.stderr)
        return 1
    if chosen.list:
        for mutant in mutants:
            print(f"{mutant.family:13} {mutant.name}: {mutant.looks_like}")
        return 0
    terminal = importlib.import_module("opspec.conformance.reports.kill_table")
    console = rich_console.Console(highlight=False)
    tasks = kills.in_order(importlib.import_module("opspec.conformance.tasks").all_tasks())
    found = []
    with terminal.progress(console, "mutants") as advance:
        for done, mutant in enumerate(mutants, 1):
            found.append(kills.kill(mutant, tasks))
            advance(done, len(mutants))
    whole = chosen.pattern is None
    idle = kills.idle_cases(found, tasks) if whole else []
    terminal.show(console, found, idle, whole=whole)
    if chosen.json:
        chosen.json.write_text(json.dumps(terminal.described(found, idle), indent=1) + "\n")
    return 0 if all(kill.first for kill in found) and not idle else 1
