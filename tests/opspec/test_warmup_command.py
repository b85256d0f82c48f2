"""`opspec warmup`: what it prints, and with which code it ends."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opspec.cli import main

BACKEND = """
from opspec.registry import Backend, Capabilities

def warm(dtype, data_format):
    yield "pack"
    {then}
    yield "gather"

backend = Backend(
    name="mine",
    arrays="numpy.ndarray",
    capabilities=Capabilities(
        operations=(), dtypes=("float32", "float64"), data_formats=("NDHWC", "NCDHW")
    ),
    warm=warm,
    cached_in=lambda: "/some/where",
)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(BACKEND.format(then="pass"), "utf-8")
    return tmp_path


def opspec_warmup(place: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("opspec"), "warmup", *words],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_each_piece_has_a_line_and_the_sum_the_last(place: Path) -> None:
    done = opspec_warmup(place, "mine:backend")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "  pack for float32 NDHWC (0.0 s)",
        "  gather for float32 NDHWC (0.0 s)",
        "mine: 2 pieces ready in 0.0 s; kept in /some/where",
    ]


def kinds(text: str) -> list[str]:
    return [
        line.split(" for ")[1].rsplit(" ", 2)[0] for line in text.splitlines() if " for " in line
    ]


def test_dtypes_and_data_formats_can_be_given_several_times(place: Path) -> None:
    words = ["--dtype", "float64", "--dtype", "float32", "--data-format", "NCDHW"]
    done = opspec_warmup(place, "mine:backend", *words)
    assert kinds(done.stdout) == [
        "float64 NCDHW",
        "float64 NCDHW",
        "float32 NCDHW",
        "float32 NCDHW",
    ]


def test_all_is_all_that_is_declared(place: Path) -> None:
    done = opspec_warmup(place, "mine:backend", "--all")
    assert len(kinds(done.stdout)) == 8
    assert set(kinds(done.stdout)) == {
        f"{dtype} {data_format}"
        for dtype in ("float32", "float64")
        for data_format in ("NDHWC", "NCDHW")
    }


def test_on_a_terminal_a_spinner_shows_how_long_the_next_one_takes(
    place: Path, on_terminal: Callable[..., Any]
) -> None:
    shown = on_terminal([Path(sys.executable).with_name("opspec"), "warmup", "mine:backend"], place)
    assert shown.code == 0, shown.text
    assert "\x1b[" in shown.text
    assert "pack for float32 NDHWC (0.0 s)" in shown.text
    assert "mine: compiling" in shown.text
    assert shown.text.endswith("mine: 2 pieces ready in 0.0 s; kept in /some/where\n")


def test_without_rich_it_does_the_same_in_plain_lines(place: Path) -> None:
    code = (
        "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n"
        "from opspec.cli import main; sys.exit(main(['warmup', 'mine:backend']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


def test_a_backend_with_nothing_to_compile_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "numpy", "--all"]) == 0
    assert capsys.readouterr().out == "numpy: there is nothing to compile in advance\n"


def test_ctrl_c_between_pieces_ends_with_130_and_what_is_done_is_said(tmp_path: Path) -> None:
    text = BACKEND.format(then="raise KeyboardInterrupt")
    (tmp_path / "mine.py").write_text(text, "utf-8")
    done = opspec_warmup(tmp_path, "mine:backend")
    assert done.returncode == 130
    assert done.stdout == "  pack for float32 NDHWC (0.0 s)\n"
    assert done.stderr == "opspec: stopped\n"


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["nobody"], 2, "no backend named 'nobody' is installed; installed:"),
        (["cupy", "--all"], 1, "'cupy' cannot run here"),
        (["numpy", "--dtype", "float31"], 1, "'float31' among its dtypes; it has float16,"),
        (["numpy", "--data-format", "NHWC"], 1, "'NHWC' among its data_formats; it has NDHWC,"),
        (["numpy", "--all", "--dtype", "float32"], 2, "--all leaves nothing"),
    ],
)
def test_bad_input_is_refused_in_words(
    words: list[str], code: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["warmup", *words]) == code
    captured = capsys.readouterr()
    assert error in " ".join(captured.err.split())
    assert captured.out == ""


def test_a_malformed_thread_limit_is_said_before_anything_is_compiled(
    place: Path,
) -> None:
    done = opspec_warmup(place, "mine:backend", OPSPEC_NUM_THREADS="two")
    assert done.returncode == 2
    assert done.stderr.startswith("opspec: the environment variable OPSPEC_NUM_THREADS must be")
    assert done.stdout == ""


def test_without_a_name_it_is_numba_that_is_meant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def find(name: str) -> Any:
        asked.append(name)
        raise LookupError("enough")

    monkeypatch.setattr("opspec.registry.discovery.find", find)
    assert main(["warmup"]) == 2
    assert asked == ["numba"]
