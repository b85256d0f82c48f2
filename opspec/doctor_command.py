"""``opspec doctor``: what this machine and environment let opspec do, and what is missing."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from opspec.command_line import add_command
from opspec.doctor import Findings, as_json, can_run, findings
from opspec.terminal import show


def add_to(commands: Any) -> None:
    """Add the command to an argument parser's commands."""
    command = add_command(
        commands,
        "doctor",
        help="say what this machine lets opspec do, and what is missing",
        description="Say which versions, processor, BLAS, cache, environment variables and "
        "backends there are, which backends can run and why others cannot. Put it into bug "
        "reports. Exits 1 if no backend can run.",
        examples=["opspec doctor", "opspec doctor --json"],
    )
    command.add_argument("--json", action="store_true", help="for other programs")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    # As for `opspec check`, a module is looked for in the folder where one is.
    sys.path.insert(0, os.getcwd())
    found = findings()
    if chosen.json:
        print(as_json(found))
    else:
        show("\n".join(_lines(found)))
    return 0 if can_run(found) else 1


def _lines(found: Mapping[str, Findings]) -> Iterator[str]:
    for title, section in found.items():
        yield title
        for name, value in section.items():
            if isinstance(value, dict):
                yield f"  {name}: {'can run' if value['can run'] else 'cannot run'}"
                rest = {part: said for part, said in value.items() if part != "can run"}
                yield from (f"    {part}: {_in_words(said)}" for part, said in rest.items())
            else:
                yield f"  {name}: {_in_words(value)}"


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "not known" if value is None else str(value)
