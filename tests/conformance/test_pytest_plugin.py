"""The suite under pytest: one item for each case, no empty green, and no weight where it sleeps."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TypeAlias

import pytest

from opspec.conformance.tasks import selected
from opspec.registry import discovery

ROOT = Path(__file__).parents[2]

# Each test but one runs another pytest.
pytestmark = pytest.mark.slow

PLANTED = """
import numpy as np
from opspec.registry import Backend, Capabilities, discovery
from opspec.registry.table import declare_operation

# An operation may come to know a dtype before the suite has cases of it.
declare_operation("Conv3DBackpropInputV2", ("geometry", "filter", "out_backprop"), ("int8",))

ALL = dict(
    operations=("Conv3DBackpropInputV2",),
    dtypes=("float16", "bfloat16", "float32", "float64"),
    data_formats=("NDHWC", "NCDHW"),
)
right_kernel = discovery.find("numpy").kernel("Conv3DBackpropInputV2")

def planted(kernel, suite=None, **changes):
    backend = Backend("planted", "numpy.ndarray", Capabilities(**ALL | changes), suite=suite)
    @backend.implements("Conv3DBackpropInputV2")
    def conv3d(geometry, filter, out_backprop):
        return kernel(geometry, filter, out_backprop)
    return backend

def mirrored(geometry, filter, out_backprop):
    return right_kernel(geometry, np.ascontiguousarray(filter[::-1, ::-1, ::-1]), out_backprop)

def missing(geometry, filter, out_backprop):
    raise NotImplementedError("not yet")

def single(geometry, filter, out_backprop):
    if geometry.dtype != "float32":
        raise NotImplementedError
    return right_kernel(geometry, filter, out_backprop)

right = planted(right_kernel)
wrong = planted(mirrored)
absent = planted(missing)
declares_one = planted(single, dtypes=("float32",))
does_more = planted(right_kernel, dtypes=("float32",))
declares_more = planted(right_kernel, dtypes=("float32", "int8"))
declares_nothing = planted(missing, operations=(), dtypes=(), data_formats=())
pins = planted(right_kernel, suite=99)
"""


Done: TypeAlias = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("author")
    (folder / "planted.py").write_text(PLANTED, "utf-8")
    return folder


def run_pytest(place: Path, *words: str) -> Done:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=place,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )


def suite(place: Path, backend: str, *words: str) -> Done:
    choice = ["--pyargs", "opspec.conformance", "--opspec-backend", backend]
    return run_pytest(place, *choice, *words)


def amounts(done: Done) -> dict[str, int]:
    """Return what pytest's last line counts."""
    last = done.stdout.splitlines()[-1]
    return {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", last.split(" in ")[0])}


def ended(done: Done, backend: str) -> dict[str, list[str]]:
    """Return how one backend's items ended, from the lines that -v prints."""
    pattern = rf"^\S*test_suite\.py::{backend}::(\S+) ([A-Z]+)"
    found: dict[str, list[str]] = {}
    for item, outcome in re.findall(pattern, done.stdout, re.MULTILINE):
        found.setdefault(outcome, []).append(item)
    return found


FEW = (
    "(input_v2/exact/ndhwc-same or input_v2/exact/ncdhw-same) and not /form/ "
    "or all-that-is-declared"
)
OWN = ("Conv3DBackpropInputV2",)
CASES = 8


@pytest.fixture(scope="module")
def loose(place: Path) -> Done:
    """A few cases on many backends, in one run."""
    backends = ("wrong", "absent", "declares_one", "does_more", "declares_nothing")
    words = [word for name in backends for word in ("--opspec-backend", f"planted:{name}")]
    return suite(place, "cupy", "--opspec-backend", "numpy", *words, "-k", FEW, "-v", "-rs")


def test_every_case_is_an_item_named_by_its_id(place: Path) -> None:
    done = suite(place, "numpy", "--collect-only", "-q")
    assert done.returncode == 0, done.stdout
    names = [line.split("::numpy::")[1] for line in done.stdout.splitlines() if "::" in line]
    expected = [task.identity for task in selected().tasks]
    assert len(expected) > 1000
    assert names == [*expected, "all-that-is-declared"]


def test_a_whole_run_judges_every_case_and_all_that_is_declared(place: Path) -> None:
    done = suite(place, "planted:declares_more", "--opspec-quick")
    cases = len(selected(quick=True, operations=OWN).tasks)
    assert re.search(rf": suite \d+, {cases} of {cases} cases$", done.stdout, re.MULTILINE)
    assert done.returncode == 1
    found = amounts(done)
    assert (found["passed"], found["failed"]) == (cases, 1)
    assert "declared but not executed: Conv3DBackpropInputV2 int8 NDHWC" in done.stdout


def test_a_right_backend_is_green(place: Path) -> None:
    done = suite(place, "planted:right", "-k", FEW, "--opspec-strict")
    assert done.returncode == 0, done.stdout
    assert amounts(done) == {
        "passed": CASES + 1,
        "deselected": len(selected(operations=OWN).tasks) - CASES,
    }
    assert (
        f" {CASES} of {len(selected(operations=OWN).tasks)} cases (partial: it proves nothing"
        in done.stdout
    )


def test_backends_in_one_run_have_items_of_their_own(loose: Done) -> None:
    assert loose.returncode == 1
    right, wrong = ended(loose, "numpy"), ended(loose, "planted:wrong")
    assert set(right) == {"PASSED"}
    assert wrong["FAILED"] == right["PASSED"][:-1]
    assert wrong["PASSED"] == ["all-that-is-declared"]
    assert len(wrong["FAILED"]) == CASES


def test_a_failure_says_what_it_looks_like_and_shows_a_program(loose: Done) -> None:
    part = loose.stdout.partition("planted:wrong: conv3d_backprop_input_v2/exact/ndhwc-same-")[2]
    assert "\nfail: conv3d_backprop_input_v2/exact/ndhwc-same-" in part
    assert "expected exactly" in part
    assert "\nlooks like: " in part
    program = part.partition("to see it with NumPy and the backend alone:")[2]
    assert "backend='planted:wrong'" in program
    assert "Traceback" not in loose.stdout


def test_what_is_declared_but_not_done_fails(loose: Done) -> None:
    absent = ended(loose, "planted:absent")
    assert set(absent) == {"FAILED"}
    assert len(absent["FAILED"]) == CASES + 1
    assert "undeclared-unsupported: conv3d_backprop_input_v2/exact/" in loose.stdout
    assert "declared, but NotImplementedError: not yet" in loose.stdout


def test_what_is_not_declared_and_not_done_is_skipped_with_the_reason(loose: Done) -> None:
    one = ended(loose, "planted:declares_one")
    assert set(one) == {"PASSED", "SKIPPED"}
    assert len(one["SKIPPED"]) >= CASES // 2
    assert "it does not declare dtype float64 (it has float32)" in loose.stdout


def test_what_is_done_but_not_declared_is_a_warning_and_strictly_a_failure(
    place: Path, loose: Done
) -> None:
    assert set(ended(loose, "planted:does_more")) == {"PASSED"}
    assert "OpspecWarning: planted:does_more: conv3d_backprop_input_v2/exact/" in loose.stdout
    assert "it works, but it does not declare dtype float64" in loose.stdout
    strict = suite(place, "planted:does_more", "-k", FEW, "--opspec-strict")
    assert strict.returncode == 1
    assert amounts(strict)["failed"] == amounts(loose)["warnings"] >= CASES // 2
    assert "works-but-undeclared: conv3d_backprop_input_v2/exact/" in strict.stdout


def test_nothing_executed_fails_at_the_end(loose: Done) -> None:
    for backend in ("planted:absent", "planted:declares_nothing"):
        assert "all-that-is-declared" in ended(loose, backend)["FAILED"]
    assert loose.stdout.count("\nno case was executed\n") == 2


def test_a_backend_that_cannot_run_here_fails_with_its_reason(loose: Done) -> None:
    assert ended(loose, "cupy") == {"FAILED": ["all-that-is-declared"]}
    reason = discovery.find("cupy").unavailable_reason()
    assert reason is not None, "this machine has a GPU: name another backend"
    assert f"cannot run here: {reason[:30]}" in loose.stdout


def test_a_choice_that_executes_nothing_is_not_green(place: Path) -> None:
    done = suite(place, "numpy", "-k", "reject")
    assert "failed" not in amounts(done)
    assert done.returncode == 1
    assert "opspec: numpy: no case was executed" in done.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--pyargs", "opspec.conformance"], "opspec's suite needs to know which backend"),
        (
            ["--pyargs", "opspec.conformance", "--opspec-backend", "nobody"],
            "no backend named 'nobody' is installed; installed: ",
        ),
        (
            ["--pyargs", "opspec.conformance", "--opspec-backend", "planted:nothing"],
            "backend 'planted:nothing' cannot be loaded: AttributeError",
        ),
        (
            ["--pyargs", "opspec.conformance", "--opspec-backend", "planted:pins"],
            "there is no version 99 of the suite",
        ),
        (["--opspec-backend", "numpy"], "checks nothing unless the suite is collected"),
        (["--opspec-strict"], "--opspec-strict needs --opspec-backend NAME"),
        (["--opspec-quick"], "--opspec-quick needs --opspec-backend NAME"),
    ],
)
def test_what_would_check_nothing_is_a_wrong_command_line(
    words: list[str], error: str, place: Path
) -> None:
    done = run_pytest(place, *words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert error in done.stderr
    assert "passed" not in done.stdout


def test_a_run_spread_over_processes_is_refused(tmp_path: Path) -> None:
    option = "def pytest_addoption(parser): parser.addoption('--dist', default='no')\n"
    (tmp_path / "conftest.py").write_text(option, "utf-8")
    done = suite(tmp_path, "numpy", "--dist", "load")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "run it without -n" in done.stderr


def test_without_safetensors_it_says_what_to_install(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['safetensors'] = None\n"
    (tmp_path / "conftest.py").write_text(hide, "utf-8")
    done = suite(tmp_path, "numpy")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "safetensors is not installed; pip install 'opspec[conformance]'" in done.stderr


def test_the_callers_settings_and_shuffling_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = check_*.py\n", "utf-8")
    shuffle = (
        "import pytest\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_collection_modifyitems(items): items.reverse()\n"
    )
    (tmp_path / "conftest.py").write_text(shuffle, "utf-8")
    done = suite(tmp_path, "numpy", "-v", "-k", FEW)
    assert done.returncode == 0, done.stdout
    passed = ended(done, "numpy")["PASSED"]
    assert len(passed) == CASES + 1
    assert passed[-1] == "all-that-is-declared"


def test_a_run_that_does_not_ask_for_it_is_untouched(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n", "utf-8")
    done = run_pytest(tmp_path)
    assert done.returncode == 0
    assert amounts(done) == {"passed": 1}
    assert "opspec:" not in done.stdout


def test_it_works_with_this_projects_own_settings() -> None:
    done = suite(ROOT, "numpy", "-k", "/real/ and not /form/")
    assert done.returncode == 0, done.stdout
    assert amounts(done)["passed"] == 3


def test_this_projects_own_tests_are_run_without_it() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert settings["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests"]
    points = settings["project"]["entry-points"]["pytest11"]
    assert points == {"opspec": "opspec.conformance.pytest_plugin"}


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, pytest, opspec.conformance.pytest_plugin\n"
        "print(sorted({'numpy', 'ml_dtypes', 'pydantic', 'safetensors', 'rich', 'opspec.nn',"
        " 'opspec.conformance.runner'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
