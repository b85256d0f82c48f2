"""``opspec warmup``: `opspec.warmup` with a display of what it does."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opspec import threads
from opspec.command_line import add_command
from opspec.registry import Backend, Piece, discovery, warmup
from opspec.terminal import complain
from opspec.terminal import console as terminal_console


def add_to(commands: Any) -> None:
    """Add the command to an argument parser's commands."""
    command = add_command(
        commands,
        "warmup",
        help="compile a backend's kernels in advance",
        description="Compile what a backend would compile at its first calls. What it keeps on "
        "disk starts faster in every later process.",
        examples=[
            "opspec warmup numba --dtype float32 --dtype float16",
            "opspec warmup numba --all",
        ],
    )
    command.add_argument(
        "backend",
        nargs="?",
        default="numba",
        metavar="BACKEND",
        help="an installed name, or module:attribute (default numba)",
    )
    command.add_argument(
        "--dtype",
        action="append",
        dest="dtypes",
        metavar="DTYPE",
        help="compile for it; may be given several times (default float32)",
    )
    command.add_argument(
        "--data-format",
        action="append",
        dest="data_formats",
        metavar="FORMAT",
        help="compile for it; may be given several times (default NDHWC)",
    )
    command.add_argument(
        "--all", action="store_true", help="compile for all that the backend declares"
    )
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if chosen.all and (chosen.dtypes or chosen.data_formats):
        complain("--all leaves nothing for --dtype or --data-format to say")
        return 2
    try:
        threads.limit()
    except ValueError as error:
        complain(error)
        return 2
    # As for `opspec check`, a module is looked for in the folder where one is.
    sys.path.insert(0, os.getcwd())
    backend = discovery.find(chosen.backend)
    can = backend.capabilities
    dtypes = can.dtypes if chosen.all else tuple(chosen.dtypes or ("float32",))
    data_formats = can.data_formats if chosen.all else tuple(chosen.data_formats or ("NDHWC",))
    with _display(backend) as progress:
        done = warmup(backend, dtypes=dtypes, data_formats=data_formats, progress=progress)
    print(done)
    return 0


def _display(backend: Backend) -> AbstractContextManager[Callable[[Piece], object]]:
    """Show what is done; with rich and on a terminal, also how long the next piece is taking."""
    try:
        console = terminal_console(markup=False)
    except ModuleNotFoundError:
        return _in_plain_lines()
    return _with_spinner(console, backend) if console.is_terminal else _in_plain_lines()


@contextmanager
def _in_plain_lines() -> Iterator[Callable[[Piece], object]]:
    yield lambda piece: print(_described(piece), flush=True)


@contextmanager
def _with_spinner(console: Any, backend: Backend) -> Iterator[Callable[[Piece], object]]:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"{backend.name}: compiling", total=None)

        def show(piece: Piece) -> None:
            console.print(_described(piece))
            bar.reset(task)

        yield show


def _described(piece: Piece) -> str:
    return f"  {piece.name} for {piece.dtype} {piece.data_format} ({piece.seconds:.1f} s)"
