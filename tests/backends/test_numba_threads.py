"""Threads: the same bits from any number, many callers at once, forks, failures and Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opspec

pytest.importorskip("numba", reason="numba is not installed; it comes with opspec[numba]")

from opspec.backends.numba import in_tasks, pool, ways


@pytest.fixture(autouse=True)
def threads_for_every_problem(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Share even what is too small to repay it, the packing included."""
    monkeypatch.setattr(ways, "WORTH_THREADS", 0)
    monkeypatch.setattr(ways, "WORTH_SCATTERING", 0)
    monkeypatch.setattr(in_tasks, "WORTH_PACKING", 0)
    ways.way_for.cache_clear()
    yield
    ways.way_for.cache_clear()


def layer(
    made: int,
    data_format: Any = "NDHWC",
    dtype: Any = np.float32,
    positions: tuple[int, ...] = (2, 9, 11, 13),
) -> Callable[[], Any]:
    rng = np.random.default_rng(made)
    data = rng.standard_normal((*positions, 24)).astype(dtype)
    filters = rng.standard_normal((3, 3, 3, made, 24)).astype(dtype)
    shape = [positions[0], *(2 * size for size in positions[1:]), made]
    if data_format == "NCDHW":
        data, shape = np.ascontiguousarray(np.moveaxis(data, -1, 1)), [shape[0], made, *shape[1:4]]
    return lambda: opspec.nn.conv3d_transpose(
        data, filters, shape, 2, data_format=data_format, backend="numba"
    )


@pytest.mark.parametrize(
    ("made", "positions"),
    [(1, (2, 9, 11, 13)), (20, (2, 9, 11, 13)), (64, (2, 9, 11, 13)), (70, (1, 3, 2, 5))],
)
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_any_number_of_threads_gives_the_same_bits(
    made: int, positions: tuple[int, ...], data_format: str
) -> None:
    call = layer(made, data_format, positions=positions)
    results = []
    for count in (1, 2, 3, 7):
        with opspec.thread_limit(count):
            results.append(call().tobytes())
    assert len(set(results)) == 1


def test_many_callers_at_once_get_their_own_results() -> None:
    calls = [layer(made) for made in (1, 3, 16, 20, 33, 64)]
    calls.append(layer(70, positions=(1, 3, 2, 5)))
    expected = [call().tobytes() for call in calls]
    failures: list[str] = []

    def repeat(place: int) -> None:
        for turn in range(12):
            which = (place + turn) % len(calls)
            if calls[which]().tobytes() != expected[which]:
                failures.append(f"caller {place}, turn {turn}")

    callers = [threading.Thread(target=repeat, args=(place,)) for place in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_computes_too() -> None:
    done = run(
        """
        import os, sys
        import numpy as np
        import opspec

        data = np.ones((1, 16, 16, 16, 32), np.float32)
        filters = np.ones((2, 2, 2, 16, 32), np.float32)
        call = lambda: opspec.nn.conv3d_transpose(
            data, filters, [1, 32, 32, 32, 16], 2, backend="numba"
        )
        with opspec.thread_limit(3):
            expected = call().tobytes()
            child = os.fork()
            same = call().tobytes() == expected
            if child == 0:
                os._exit(0 if same else 1)
        assert same
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.returncode == 0, done.stderr


def test_a_failure_in_any_thread_reaches_the_caller_and_harms_no_later_call() -> None:
    def fail(counter: int, memory: int) -> bool:
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("in a helper")
        time.sleep(0.2)
        return False

    with pytest.raises(MemoryError, match="in a helper"):
        pool.run(fail, 64, 2)
    call = layer(20)
    with opspec.thread_limit(2):
        assert call().tobytes() == call().tobytes()


def test_a_caller_does_not_wait_for_busy_helpers() -> None:
    started, release = threading.Event(), threading.Event()

    def hold(counter: int, memory: int) -> bool:
        started.set()
        release.wait(60)
        return False

    busy = threading.Thread(target=pool.run, args=(hold, 64, 4))
    busy.start()
    assert started.wait(60)
    taken: list[int] = []

    def take(counter: int, memory: int) -> bool:
        taken.append(counter)
        return False

    pool.run(take, 64, 4)
    assert taken
    release.set()
    busy.join()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's here")
def test_ctrl_c_ends_a_long_call() -> None:
    # Programs that a shell starts in the background ignore Ctrl-C; this one must not.
    program = """
        import signal
        import numpy as np
        import opspec

        signal.signal(signal.SIGINT, signal.default_int_handler)
        opspec.warmup()
        data = np.ones((1, 96, 96, 96, 64), np.float32)
        filters = np.ones((5, 5, 5, 64, 64), np.float32)
        print("ready", flush=True)
        try:
            opspec.nn.conv3d_transpose(data, filters, data.shape, 1, backend="numba")
        except KeyboardInterrupt:
            print("stopped", flush=True)
            small = opspec.nn.conv3d_transpose(
                data[:, :20, :20, :20], filters, [1, 20, 20, 20, 64], 1, backend="numba"
            )
            print(small.max())
        """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read().split()
    assert printed == ["stopped", "8000.0"]
    assert process.returncode == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_memory_in_use_outlives_a_call_from_a_signal_handler(threads: int) -> None:
    alive: list[bool] = []

    def interrupted(counter: int, memory: int) -> bool:
        if threading.current_thread() is threading.main_thread():
            held = pool._own.memory.array
            before, size = weakref.ref(held), held.size
            del held
            pool.run(lambda counter, memory: False, 2 * size, 1)
            alive.append(before() is not None)
        return False

    pool.run(interrupted, 1000, threads)
    assert alive == [True]


def test_ctrl_c_that_arrives_when_waiting_begins_still_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finish, interruptions, done = pool._Job.finish, [KeyboardInterrupt()], threading.Event()
    begun = threading.Event()

    def interrupted(job: Any) -> None:
        if interruptions:
            raise interruptions.pop()
        finish(job)

    def share(counter: int, memory: int) -> bool:
        if threading.current_thread() is threading.main_thread():
            begun.wait(60)
            return False
        begun.set()
        time.sleep(0.3)
        done.set()
        return False

    monkeypatch.setattr(pool._Job, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.run(share, 64, 2)
    assert done.is_set()
