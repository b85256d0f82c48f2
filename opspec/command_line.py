"""How a command is declared: what its help says, with examples."""

import argparse
import textwrap
from collections.abc import Sequence
from typing import Any

WIDTH = 79


def add_command(
    commands: Any, name: str, *, help: str, description: str, examples: Sequence[str]
) -> argparse.ArgumentParser:
    """Add a command to an argument parser's commands; its help ends with examples.

    Parameters
    ----------
    commands
        What `add_subparsers` returned.
    name
        The command.
    help
        What it does, in a few words.
    description
        What it does, in sentences.
    examples
        Command lines.
    """
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=textwrap.fill(description, WIDTH),
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return command
