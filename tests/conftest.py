"""Folders of scripts that tests import; a terminal for commands, and what they complained of."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent

# Scripts of one folder import each other. Their folders go last: they hide nothing.
SCRIPTS = (".ci", "benchmarks", "examples/brain_extraction", "docs/generate")
sys.path += [str(ROOT / folder) for folder in SCRIPTS]


class Shown(NamedTuple):
    """What a command showed on a terminal, and how it ended."""

    text: str
    code: int


@pytest.fixture
def on_terminal() -> Callable[..., Shown]:
    """Return what runs a command on a terminal of its own."""

    def run(words: Sequence[str], cwd: Path | None = None, **variables: str) -> Shown:
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", **variables}
        process = subprocess.Popen(words, cwd=cwd, env=environment, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        # When the other side is closed, Linux says so by an error and macOS by nothing.
        while part := _read(ours):
            shown += part
        os.close(ours)
        return Shown(shown.decode().replace("\r\n", "\n"), process.wait())

    return run


def _read(file: int) -> bytes:
    try:
        return os.read(file, 65536)
    except OSError:
        return b""


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return what reads the error stream, its lines joined, whatever the terminal's width."""
    return lambda: " ".join(capsys.readouterr().err.split())
