"""What the command prints: errors that can be read at 80 columns, and colour where it is wanted.

Colour goes to terminals only; NO_COLOR takes it away and FORCE_COLOR gives it to files and pipes.
An empty variable is none. NO_COLOR wins.
"""

import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Any, TextIO

from opspec.errors import OpError

_RED, _PLAIN = "\x1b[1;31m", "\x1b[0m"


def complain(error: object) -> None:
    """Print what is wrong to the error stream: in one line, or in lines that fit the terminal."""
    mark = f"{_RED}opspec:{_PLAIN}" if is_coloured(sys.stderr) else "opspec:"
    text = "\n".join(_lines(error))
    print(text.replace("opspec:", mark, 1), file=sys.stderr)


def show(text: object) -> None:
    """Print lines, those that are too long for the terminal in several, with their indent."""
    for line in str(text).splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        print("\n".join(_wrapped(line.strip(), indent, f"{indent}  ", _width())))


def is_coloured(stream: TextIO) -> bool:
    """Whether what is printed to a stream may have colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def console(**settings: Any) -> Any:
    """Return a console of rich's for the output, coloured as `is_coloured` says.

    Only a real terminal gets what moves, such as bars: FORCE_COLOR asks for colours, not for those.

    Raises
    ------
    ModuleNotFoundError
        If rich is not installed.
    """
    rich_console = importlib.import_module("rich.console")
    terminal, coloured = sys.stdout.isatty(), is_coloured(sys.stdout)
    return rich_console.Console(
        highlight=False,
        force_terminal=terminal,
        color_system=("auto" if terminal else "standard") if coloured else None,
        no_color=not coloured,
        **settings,
    )


def _lines(error: object) -> Iterator[str]:
    whole, width = str(error), _width()
    if "\n" not in whole and len("opspec: ") + len(whole) <= width:
        yield f"opspec: {whole}"
    elif isinstance(error, OpError):
        yield from _parts_of(error, width)
    else:
        first = "opspec: "
        for line in whole.splitlines():
            indent = " " * (2 + len(line) - len(line.lstrip()))
            yield from _wrapped(line.strip(), first or indent, indent, width)
            first = ""


def _parts_of(error: OpError, width: int) -> Iterator[str]:
    """Yield what an operation's error says, each part in lines of its own."""
    op = f"{error.op} {error.name!r}" if error.name else error.op
    yield from _wrapped(f"{op}: {error.sentence}", "opspec: ", "  ", width)
    for part in ("argument", "given", "allowed", "rule"):
        yield from _wrapped(getattr(error, part), f"  {part + ':':10}", " " * 12, width)
    if error.hint:
        yield from _wrapped(error.hint, "  hint:     ", " " * 12, width)


def _width() -> int:
    return max(shutil.get_terminal_size().columns, 40)


def _wrapped(text: str, first: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
