"""``opspec mutants``: known wrong kernels against the suite, and the kill table."""

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

from opspec.check_command import needed, unwritable
from opspec.command_line import add_command
from opspec.terminal import complain
from opspec.terminal import console as terminal_console


def add_to(commands: Any) -> None:
    """Add the command to an argument parser's commands."""
    command = add_command(
        commands,
        "mutants",
        help="run known wrong kernels against the suite",
        description="Run known wrong kernels against the suite, smaller cases first, and print "
        "what kills each. Exits 0 only if all are killed and no golden case is idle: one that "
        "kills nothing that no smaller case kills.",
        examples=["opspec mutants --list", "opspec mutants -k padding --json kills.json"],
    )
    command.add_argument("-k", dest="pattern", metavar="TEXT", help="only mutants named so")
    command.add_argument("--list", action="store_true", help="only list them")
    command.add_argument("--json", type=Path, metavar="FILE", help="write the table into FILE")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    rich = needed("rich.console", "cli")
    kills = needed("opspec.conformance.kills", "conformance")
    if rich is None or kills is None:
        return 2
    if refusal := unwritable({"json": chosen.json}):
        complain(refusal)
        return 2
    mutants = importlib.import_module("opspec.conformance.mutants").all_mutants()
    mutants = [m for m in mutants if chosen.pattern is None or chosen.pattern in m.name]
    if not mutants:
        complain(f"no mutant has {chosen.pattern!r} in its name")
        return 1
    if chosen.list:
        for mutant in mutants:
            print(f"{mutant.family:13} {mutant.name}: {mutant.looks_like}")
        return 0
    terminal = importlib.import_module("opspec.conformance.reports.kill_table")
    console = terminal_console()
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
