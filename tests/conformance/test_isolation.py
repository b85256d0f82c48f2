"""A backend that kills or blocks its process gets a verdict, and so do all other cases."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opspec.conformance.mutants import find
from opspec.conformance.report import Report, Verdict
from opspec.conformance.runner import check
from opspec.registry import BackendUnavailable

PLANTED = Path(__file__).parent / "planted"


@pytest.fixture(autouse=True)
def _planted_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLANTED))


def isolated(name: str, *, timeout: float = 20.0, pattern: str | None = None) -> Report:
    place = f"planted_backends:{name}"
    return check(place, isolate=True, quick=True, timeout=timeout, pattern=pattern)


def reasons(report: Report, verdict: Verdict) -> set[str]:
    return {result.reason for result in report.results if result.verdict == verdict}


def test_a_right_backend_passes_in_isolation_as_it_does_here() -> None:
    here, there = check("planted_backends:right_one", quick=True), isolated("right_one")
    assert there.ok
    both = [[(r.case, r.verdict) for r in report.results] for report in (here, there)]
    assert both[0] == both[1]
    assert there.executed == here.executed > 100


def test_a_segmentation_fault_is_a_verdict_and_the_other_cases_go_on() -> None:
    report = isolated("segfault")
    assert not report.ok
    assert reasons(report, Verdict.CRASHED) == {"the kernel ended the process: SIGSEGV"}
    dilated = [r for r in report.results if r.demand and r.demand.dilated]
    assert {r.verdict for r in dilated} == {Verdict.CRASHED}
    assert report.counts[Verdict.PASS] > 200
    looks = find("segmentation-fault").looks_like
    assert looks in {result.looks_like for result in report.failures}
    (script,) = {r.script for r in report.failures if r.lane == "exact" and r.script}
    done = subprocess.run([sys.executable, "-c", script], cwd=PLANTED, check=False)
    assert done.returncode == -signal.SIGSEGV


def test_a_floating_point_trap_is_a_verdict() -> None:
    report = isolated("trap")
    assert not report.ok
    assert reasons(report, Verdict.CRASHED) == {"the kernel ended the process: SIGFPE"}


def test_a_hang_is_ended() -> None:
    report = isolated("hang", timeout=1.0, pattern="dilated-ncdhw")
    assert not report.ok
    assert reasons(report, Verdict.TIMED_OUT) == {"no result after 1 s"}


def test_leaving_the_process_is_no_success() -> None:
    report = check("planted_backends:leaving", quick=True, pattern="batch-0")
    assert reasons(report, Verdict.FAIL) == {"SystemExit: 0"}


def test_what_dies_while_it_is_asked_whether_it_can_run_is_unavailable() -> None:
    report = isolated("dead_device")
    assert report.objections == (
        "cannot run here: asking whether it can run here ended the process: SIGSEGV",
    )


def test_what_dies_while_it_is_loaded_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dead_on_import.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    report = check("dead_on_import:backend", isolate=True)
    assert report.objections == ("cannot run here: loading it ended the process: exit code 3",)


def test_a_backend_that_is_not_there_is_an_error_there_as_here() -> None:
    with pytest.raises(BackendUnavailable, match="no_such_module"):
        check("no_such_module:backend", isolate=True)


def test_a_backend_object_cannot_be_found_by_another_process() -> None:
    from opspec.backends.numpy import backend

    with pytest.raises(ValueError, match="module:attribute"):
        check(backend, isolate=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empty", "undeclared-unsupported"),
        ("declares_nothing", "no case was executed"),
        ("raising", "undeclared-unsupported"),
        ("zero", "fail"),
        ("segfault", "crashed"),
        ("mutation", "the kernel wrote into"),
        ("uninitialised", "fail"),
    ],
)
def test_the_command_ends_with_1_and_says_why(name: str, words: str) -> None:
    command = [sys.executable, "-m", "opspec.cli", "check", f"planted_backends:{name}"]
    done = subprocess.run(
        [*command, "--isolate", "--quick"], capture_output=True, text=True, cwd=PLANTED, check=False
    )
    assert done.returncode == 1, done.stderr
    assert words in done.stdout
