"""``opspec completion``: the script by which a shell completes the words of ``opspec``."""

import argparse
from collections.abc import Iterator
from typing import Any

from opspec import ops
from opspec.check_command import needed
from opspec.command_line import add_command
from opspec.registry import discovery

SHELLS = ("bash", "zsh", "fish")

# What stands for an argument, by its metavar. Other names are allowed too: module:attribute.
CHOICES = {"OP": ops.names, "BACKEND": discovery.names}


def add_to(commands: Any, parser: argparse.ArgumentParser) -> None:
    """Add the command to the commands of a parser, whose words it completes."""
    command = add_command(
        commands,
        "completion",
        help="print the script that completes opspec's words in a shell",
        description="Print the script by which a shell completes commands, options, operations and "
        "the backends that are installed now. Needs the extra cli.",
        examples=[
            "opspec completion bash >~/.local/share/bash-completion/completions/opspec",
            'opspec completion zsh >"${fpath[1]}/_opspec"',
            "opspec completion fish >~/.config/fish/completions/opspec.fish",
        ],
    )
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    command.set_defaults(run=run, parser=parser)


def run(chosen: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    shtab = needed("shtab", "cli")
    if shtab is None:
        return 2
    files = {"FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY}
    for action in _arguments(chosen.parser):
        if action.metavar in CHOICES and not action.choices:
            action.choices = CHOICES[action.metavar]()
        elif action.metavar in files:
            action.complete = files[action.metavar]
    print(shtab.complete(chosen.parser, shell=chosen.shell))
    return 0


def _arguments(parser: argparse.ArgumentParser) -> Iterator[Any]:
    """Yield every argument of a parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _arguments(command)
