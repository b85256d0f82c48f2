"""The page on adding a backend, followed to the letter in an environment of its own."""

import os
import re
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from opspec.conformance.runner import check
from opspec.registry import Backend

PAGE = (Path(__file__).parents[1] / "docs" / "add-a-backend.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A whole backend that is to be put into a file says so in its first line.
FILE = re.compile(r"# (\w+\.py)\n")

SCRIPTS = {
    "opspec": "from opspec.cli import main; import sys; sys.exit(main())",
    "pip": "import runpy; runpy.run_module('pip', run_name='__main__')",
    "pytest": "import pytest, sys; sys.exit(pytest.main())",
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A virtual environment in which all that is installed here can be imported."""
    venv = tmp_path / "venv"
    create = [sys.executable, "-m", "venv", "--without-pip", str(venv)]
    subprocess.run(create, check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    here = sysconfig.get_path("purelib")
    (packages / "beside.pth").write_text(f"import site; site.addsitedir({here!r})\n", "utf-8")
    for name, code in SCRIPTS.items():
        script = venv / "bin" / name
        script.write_text(f"#!{venv}/bin/python\n{code}\n", "utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "OPSPEC_"))}
    kept |= {"PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    # What is here already, setuptools too, need not be fetched anew. (To pip, this 0 is a yes.)
    return kept | {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}


def in_words(text: str) -> str:
    """Return a text with all white space alike, wherever its lines are broken."""
    return " ".join(text.split())


def missing(promise: str, output: str) -> str | None:
    """Return the part of a promise that an output does not hold; the parts come in their order."""
    rest = in_words(output)
    for part in filter(None, map(in_words, re.split("…|\n", promise))):
        _, found, rest = rest.partition(part)
        if not found:
            return part
    return None


def commands(block: str) -> list[tuple[str, str]]:
    """Return a block's commands, each with what it promises to print."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert parts[0] == ""
    return [(command, promise) for command, _, promise in (p.partition("\n") for p in parts[1:])]


def run(words: list[str], place: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        words, cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_following_the_page_does_what_it_says(tmp_path: Path, environment: dict[str, str]) -> None:
    place = tmp_path / "work"
    place.mkdir()
    printed = ""
    ran: dict[str, int] = {}
    for language, text in BLOCK.findall(PAGE):
        ran[language] = ran.get(language, 0) + 1
        if language == "console":
            for command, promise in commands(text):
                output = run(["bash", "-c", command], place, environment)
                assert missing(promise, output) is None, f"{command}\n{promise}\n{output}"
        elif language == "python" and (file := FILE.match(text)):
            (place / file[1]).write_text(text, "utf-8")
        elif language == "python":
            printed = run(["python", "-c", text], place, environment)
        elif language == "text" and printed:
            assert printed == text
            printed = ""
    assert ran["console"] >= 10
    assert ran["python"] == 2
    assert printed == ""


def test_the_backend_in_one_file_passes_all_that_it_declares() -> None:
    (code,) = (t for language, t in BLOCK.findall(PAGE) if language == "python" and FILE.match(t))
    names: dict[str, object] = {"__name__": "plain"}
    exec(compile(code, "plain.py", "exec"), names)
    backend = names["backend"]
    assert isinstance(backend, Backend)
    report = check(backend, quick=True)
    assert report.ok, report.objections
    assert report.executed > 20


def test_the_page_has_only_blocks_that_are_followed() -> None:
    # The formula of the costs and the entry point are text to read.
    assert {language for language, _ in BLOCK.findall(PAGE)} == {
        "console",
        "python",
        "text",
        "toml",
    }


@pytest.mark.parametrize(
    ("promise", "output", "part"),
    [
        ("one two\nthree", "x one\n two three y", None),
        ("one … three", "one two three", None),
        ("three\none", "one three", "one"),
        ("one", "on e", "one"),
        ("1 passed", "0 failed", "1 passed"),
    ],
)
def test_a_promise_that_is_not_kept_is_found(promise: str, output: str, part: str | None) -> None:
    assert missing(promise, output) == part
