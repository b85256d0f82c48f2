"""What the command prints: at 80 columns, and in colour only where it is wanted."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opspec import terminal
from opspec.errors import OpError, UnsupportedByBackend

LONG = "a sentence that goes on " * 5
OPSPEC = str(Path(sys.executable).with_name("opspec"))


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def complained(capsys: pytest.CaptureFixture[str], error: object) -> str:
    terminal.complain(error)
    return capsys.readouterr().err


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def broken(**changes: str) -> OpError:
    parts = {"op": "Op", "argument": "x", "rule": "Op.x.is", "sentence": "x must be"}
    return OpError(**parts | {"given": "that", "allowed": "this"} | changes)


def test_a_short_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    error = broken()
    assert complained(capsys, error) == f"opspec: {error}\n"
    assert complained(capsys, "stopped") == "opspec: stopped\n"


def test_a_long_error_of_an_operation_has_a_line_for_each_part(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = complained(capsys, broken(given=LONG, hint="write this", name="up1")).splitlines()
    assert lines[:2] == ["opspec: Op 'up1': x must be", "  argument: x"]
    assert lines[2].startswith("  given:    a sentence")
    assert lines[3].startswith("            ")
    assert lines[-3:] == ["  allowed:  this", "  rule:     Op.x.is", "  hint:     write this"]
    assert max(map(len, lines)) <= 80


def test_any_other_long_error_is_wrapped_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = complained(capsys, UnsupportedByBackend(f"nobody:\n  one: {LONG}")).splitlines()
    assert lines[0] == "opspec: nobody:"
    assert lines[1].startswith("    one: a sentence")
    assert lines[2].startswith("    ")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("variables", "stream", "coloured"),
    [
        ({}, Terminal(), True),
        ({}, io.StringIO(), False),
        ({"TERM": "dumb"}, Terminal(), False),
        ({"NO_COLOR": "1"}, Terminal(), False),
        ({"NO_COLOR": ""}, Terminal(), True),
        ({"FORCE_COLOR": "1"}, io.StringIO(), True),
        ({"FORCE_COLOR": ""}, io.StringIO(), False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, Terminal(), False),
    ],
)
def test_colour_is_for_terminals_unless_a_variable_says_otherwise(
    variables: dict[str, str],
    stream: io.StringIO,
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal.is_coloured(stream) is coloured


def test_errors_are_coloured_where_colour_is_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert complained(capsys, "stopped") == "\x1b[1;31mopspec:\x1b[0m stopped\n"


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1"}, False)],
)
def test_the_report_of_a_check_goes_into_a_pipe_without_colour_and_without_bars(
    variables: dict[str, str], coloured: bool
) -> None:
    text = subprocess.run(
        [OPSPEC, "check", "numpy", "-k", "no such case"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert "no case was executed" in text
    assert ("\x1b[" in text) is coloured
    assert "\x1b[?25l" not in text  # hides the cursor, as bars do


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_on_a_terminal_the_report_of_a_check_has_colours(
    variables: dict[str, str], coloured: bool, on_terminal: Callable[..., Any]
) -> None:
    shown = on_terminal([OPSPEC, "check", "numpy", "-k", "no such case"], **variables)
    assert shown.code == 1
    assert "no case was executed" in shown.text
    assert ("\x1b[31m" in shown.text or "\x1b[1;31m" in shown.text) is coloured
