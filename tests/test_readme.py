"""Every code block of the README runs and prints what it says; the documentation's Python too."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from opspec import pages
from opspec.registry import Cost, discovery
from opspec.registry.backend import DEFAULT_COST
from opspec.registry.cost import EXPECTED_CALLS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BACKEND_PAGE = (ROOT / "docs" / "add-a-backend.md").read_text("utf-8")


def blocks(text: str, language: str) -> list[str]:
    return [code for found, code in BLOCK.findall(text) if found == language]


def test_the_readme_has_no_block_that_no_test_runs() -> None:
    assert {language for language, _ in BLOCK.findall(README)} == {"console", "python", "text"}


def test_the_python_blocks_print_what_the_readme_says() -> None:
    shared: dict[str, object] = {}
    python, text = blocks(README, "python"), blocks(README, "text")
    assert len(python) == len(text) == 2
    for code, output in zip(python, text, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), shared)
        assert printed.getvalue() == output


@pytest.mark.parametrize(
    "command",
    [line[2:] for code in blocks(README, "console") for line in code.splitlines()],
)
def test_the_commands_run(command: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    if words[0] == "make":
        # To run them for real is CI's job; here make only has to know how.
        words, place = ["make", "--dry-run", words[1]], ROOT
    else:
        words[0] = str(Path(sys.executable).with_name("opspec"))
        place = tmp_path
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_support_table_is_what_the_backends_declare() -> None:
    table = README.partition("<!-- made by: opspec list --markdown -->")[2]
    assert table.partition("<!-- end -->")[0].strip() == pages.support_table()


def test_the_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", README):
        assert (ROOT / target).exists(), target


def test_the_python_of_the_page_on_calling_prints_what_it_says() -> None:
    page = (ROOT / "docs" / "calling.md").read_text("utf-8")
    shared: dict[str, object] = {}
    python, text = blocks(page, "python"), blocks(page, "text")
    assert len(python) == len(text) == 3
    for code, output in zip(python, text, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "calling.md", "exec"), shared)
        assert printed.getvalue() == output


def test_the_costs_in_the_documentation_are_those_that_are_declared() -> None:
    rows = re.findall(r"^\| ([\w ]+) \| (\S+) \| (\S+) \| (\S+) \|$", BACKEND_PAGE, re.MULTILINE)
    written = {name: Cost(*map(float, numbers)) for name, *numbers in rows[1:]}
    assert written == {
        "numpy": discovery.find("numpy").cost,
        "numba": discovery.find("numba").cost,
        "one that does not say": DEFAULT_COST,
    }
    assert f"start / {EXPECTED_CALLS} + " in BACKEND_PAGE


def test_the_run_from_python_of_the_documentation_passes() -> None:
    (code,) = blocks((ROOT / "docs" / "conformance.md").read_text("utf-8"), "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "conformance.md", "exec"), {})
    assert printed.getvalue() == "True 3\n"
