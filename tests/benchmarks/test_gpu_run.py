"""The prepared run on a GPU: its sections, played on a CPU, and what becomes of those that fail."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from gpu.session import Budget, NotHere, Session
from gpu.table import table

pytest.importorskip(
    "cupy", reason="CuPy is not installed; it comes with opspec[emulator] and needs no GPU here"
)

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "gpu_run.py"
ALWAYS = {
    "facts",
    "compile",
    "golden cases",
    "determinism",
    "streams",
    "scarce memory",
    "beyond 32 bits",
    "compute-sanitizer",
}


def test_what_a_section_raises_is_kept_and_the_next_one_runs(tmp_path: Path) -> None:
    session = Session(Budget(60), tmp_path / "run.json")

    def broken(budget: Budget) -> None:
        raise ZeroDivisionError("on purpose")

    def elsewhere(budget: Budget) -> None:
        raise NotHere("no such thing here")

    session.run("broken", 5, broken)
    session.run("elsewhere", 5, elsewhere)
    session.run("whole", 5, lambda budget: budget.left <= 5)
    kept = json.loads((tmp_path / "run.json").read_text())
    assert [kept[name]["state"] for name in kept] == ["failed", "skipped", "done"]
    assert "ZeroDivisionError: on purpose" in kept["broken"]["error"]
    assert kept["elsewhere"]["why"] == "no such thing here"
    assert kept["whole"]["result"] is True
    assert session.failed == ["broken"]


def test_without_time_a_section_is_not_begun(tmp_path: Path) -> None:
    session = Session(Budget(0), tmp_path / "run.json")
    session.run("late", 5, lambda budget: pytest.fail("it was begun"))
    assert session.sections["late"]["state"] == "skipped"


def test_the_table_tells_faster_from_slower_and_shows_a_wrong_result() -> None:
    row = {
        "workload": "layer",
        "kind": "float16",
        "chosen": "tier tensor: why",
        "device": {"cupy": 2e-5, "tensor": 2e-5, "simt": 4e-5, "torch contiguous": 3e-5},
        "host": {"cupy": 1e-5, "torch contiguous": 2e-5},
        "floor": 1e-5,
        "bound by": "memory",
        "wrong": {},
    }
    (line,) = table([row]).splitlines()[2:]
    assert line == (
        "| layer | float16 | tensor | 20.0 | 30.0 | 1.50 | 2.0 | memory | 10 | 20 | tensor |"
    )
    assert "WRONG" in table([{**row, "wrong": {"tensor": 1.0}}])


@pytest.mark.slow
def test_every_section_runs_dry(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--dry", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sections = json.loads((tmp_path / "gpu_run.json").read_text())
    ran = {name for name, entry in sections.items() if entry["state"] == "done"}
    assert ran >= ALWAYS
    verdicts = [found["verdicts"] for found in sections["golden cases"]["result"].values()]
    assert len(verdicts) == 4
    assert all(found.get("pass", 0) > 5 for found in verdicts), verdicts


@pytest.mark.slow
def test_without_a_gpu_it_says_so() -> None:
    import cupy

    if cupy.cuda.is_available():
        pytest.skip("there is a GPU")
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "gpu_run: no NVIDIA driver is loaded" in done.stderr
    assert "--dry needs no GPU" in done.stderr
