"""The folder in which backends keep what they have compiled, for the next process."""

import logging
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

ENVIRONMENT_VARIABLE = "OPSPEC_CACHE_DIR"

log = logging.getLogger("opspec")


def folder() -> Path:
    """Return where compiled kernels are kept: OPSPEC_CACHE_DIR, or the user's cache folder."""
    if chosen := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "opspec"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opspec"


def keep(name: str, write: Callable[[Path], object]) -> Path | None:
    """Have a file written into the folder; it appears whole or not at all.

    Returns
    -------
    Path or None
        Where it is; None if the folder cannot be written, which is logged once.
    """
    try:
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder()) as aside:
            written = Path(aside) / name
            write(written)
            return written.replace(folder() / name)
    except OSError as error:
        _say_once(str(error))
        return None


def kept(name: str, write: Callable[[Path], object]) -> Path:
    """Return the file of that name, written now if it is not there.

    Where the folder cannot be written it lives as long as this process.
    """
    file = folder() / name
    if file.is_file():
        return file
    if made := keep(name, write):
        return made
    file = Path(_own_folder().name) / name
    write(file)
    return file


@cache
def _own_folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="opspec-")


@cache
def _say_once(problem: str) -> None:
    log.warning(
        "compiled kernels are not kept on disk: %s; each process compiles them anew. "
        "Set %s to a folder that can be written",
        problem,
        ENVIRONMENT_VARIABLE,
    )
