"""What the machine can do, and what a process holds, are measured for what they are."""

import json
import subprocess
import sys
from pathlib import Path

import fma_peak
import memory
import numpy as np
import pytest
import roofs
from peer_link import THREAD_VARIABLES, environment
from results import Problem, Roofs, Run
from workloads import WORKLOADS


def test_the_loop_of_multiply_adds_is_really_run() -> None:
    pytest.importorskip("numba")
    run = fma_peak._compiled(16, 24)
    # Each sum becomes sum * factor + factor, so with 0.5 all 24 go to 1.
    assert run(0, 0.5) == sum(range(24))
    assert run(1, 0.5) == sum(each / 2 + 0.5 for each in range(24))
    assert run(100, 0.5) == pytest.approx(24.0)


def test_without_numba_the_matrix_product_is_the_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fma_peak, "PRODUCT_SIZE", 64)
    monkeypatch.setitem(sys.modules, "numba", None)
    flops, by = fma_peak.peak(1)
    assert flops > 0
    assert by == fma_peak.BY_PRODUCT


def test_of_two_measurements_the_higher_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        found = {"flops": 5.0, "flops_by": "the second", "bytes": 9.0}
        return subprocess.CompletedProcess([], 0, json.dumps(found))

    monkeypatch.setattr(subprocess, "run", measured)
    run = Run(1, Roofs(7.0, "the first", 3.0))
    roofs.measure_roofs(run, sys.executable)
    assert run.roofs == Roofs(7.0, "the first", 9.0)


def test_roofs_that_cannot_be_measured_are_said() -> None:
    run = Run(1)
    roofs.measure_roofs(run, "/nonexistent/python")
    assert run.roofs is None
    assert "No such file" in str(run.no_roofs)


def test_the_least_time_is_set_by_the_slower_of_two() -> None:
    problem = Problem.of(WORKLOADS[0])
    assert Roofs(1.0, "", 1e30).seconds(problem) == (2 * problem.useful_multiply_adds, "compute")
    assert Roofs(1e30, "", 1.0).seconds(problem) == (problem.moved_bytes, "memory")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux says it, others not")
def test_the_peak_is_what_a_call_takes_and_gives_back() -> None:
    held = np.ones(10_000_000)

    def call() -> float:
        return float((held + 1).sum())

    call()
    peak = memory.peak_bytes(call)
    assert peak is not None
    assert 0.9 * held.nbytes < peak < 1.5 * held.nbytes


def test_every_library_is_told_the_number_of_threads() -> None:
    found = environment(3)
    assert "OPSPEC_NUM_THREADS" in THREAD_VARIABLES
    assert {found[name] for name in THREAD_VARIABLES} == {"3"}
