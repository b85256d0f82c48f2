"""How many threads may work on a call: the block, the environment, the cores."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opspec
from opspec import threads


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPSPEC_NUM_THREADS", raising=False)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let tests say in which control groups this process is, on 64 cores."""
    monkeypatch.setattr(threads, "_CGROUPS", tmp_path)
    monkeypatch.setattr(threads, "_MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    threads.usable_cores.cache_clear()
    yield tmp_path
    threads.usable_cores.cache_clear()


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def test_the_innermost_block_wins_over_the_environment_over_the_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cores = threads.usable_cores()
    assert threads.limit() == cores >= 1
    monkeypatch.setenv("OPSPEC_NUM_THREADS", "5")
    assert threads.limit() == 5
    with opspec.thread_limit(3) as outer:
        assert threads.limit() == outer == 3
        with opspec.thread_limit(7):
            assert threads.limit() == 7
        assert threads.limit() == 3
        with pytest.raises(KeyError), opspec.thread_limit(2):
            raise KeyError
        assert threads.limit() == 3
    assert threads.limit() == 5


def test_the_environment_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    for written, count in (("1", 1), (" 12 ", 12), ("007", 7), ("999999999", 999_999_999)):
        monkeypatch.setenv("OPSPEC_NUM_THREADS", written)
        assert threads.limit() == count
    monkeypatch.setenv("OPSPEC_NUM_THREADS", "")
    assert threads.limit() == threads.usable_cores()


@pytest.mark.parametrize("written", ["0", "-1", "two", "1.5", "1,2", " ", "1_0", "٣", "9" * 5000])
def test_a_malformed_environment_is_an_error_that_names_the_variable(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPSPEC_NUM_THREADS", written)
    with pytest.raises(ValueError, match="OPSPEC_NUM_THREADS must be an integer from 1") as caught:
        threads.limit()
    assert written[:50] in str(caught.value)
    assert len(str(caught.value)) < 200
    with opspec.thread_limit(2):
        assert threads.limit() == 2


@pytest.mark.parametrize("n", [0, -3])
def test_a_limit_below_one_is_refused_before_the_block(n: int) -> None:
    with pytest.raises(ValueError, match=f"an integer of 1 or more; given {n}"):
        opspec.thread_limit(n)


@pytest.mark.parametrize("n", [True, False, 2.0, "2", None, [2], np.float64(2)])
def test_what_is_no_integer_is_refused_before_the_block(n: Any) -> None:
    with pytest.raises(TypeError, match="thread_limit takes an integer of 1 or more; given"):
        opspec.thread_limit(n)


def test_any_integer_will_do() -> None:
    with opspec.thread_limit(np.int64(4)):  # type: ignore[arg-type]  # it is one by __index__
        assert threads.limit() == 4
        assert type(threads.limit()) is int


def test_other_threads_and_tasks_have_limits_of_their_own() -> None:
    seen: list[int] = []

    async def task(n: int) -> int:
        with opspec.thread_limit(n):
            await asyncio.sleep(0)
            return threads.limit()

    async def both() -> list[int]:
        return list(await asyncio.gather(task(5), task(6)))

    assert asyncio.run(both()) == [5, 6]
    with opspec.thread_limit(7):
        thread = threading.Thread(target=lambda: seen.append(threads.limit()))
        thread.start()
        thread.join()
    assert seen == [threads.usable_cores()]


def test_cores_are_those_of_the_affinity() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system has no affinity")
    program = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from opspec import threads; print(threads.limit())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


def test_without_groups_or_affinity_all_cores_count(
    groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert threads.usable_cores() == 64
    threads.usable_cores.cache_clear()
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.usable_cores() == 1


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 64),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("50000 25000", 2),
        ("9900000 100000", 64),
        ("unreadable", 64),
        ("", 64),
    ],
)
def test_the_quota_of_a_container_counts(groups: Path, quota: str, cores: int) -> None:
    write(groups / "membership", "0::/\n")
    write(groups / "cpu.max", f"{quota}\n")
    assert threads.usable_cores() == cores


def test_the_least_quota_on_the_way_up_counts(groups: Path) -> None:
    write(groups / "membership", "0::/system.slice/work.service\n")
    write(groups / "system.slice" / "cpu.max", "300000 100000\n")
    write(groups / "system.slice" / "work.service" / "cpu.max", "max 100000\n")
    write(groups / "system.slice" / "other.service" / "cpu.max", "100000 100000\n")
    assert threads.usable_cores() == 3


@pytest.mark.parametrize(("quota", "cores"), [("250000", 3), ("-1", 64)])
@pytest.mark.parametrize("folder", ["", "docker/abc"])
def test_the_first_version_of_groups_is_read_too(
    groups: Path, quota: str, cores: int, folder: str
) -> None:
    write(groups / "membership", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n")
    place = groups / "cpu,cpuacct" / folder
    write(place / "cpu.cfs_quota_us", f"{quota}\n")
    write(place / "cpu.cfs_period_us", "100000\n")
    write(groups / "memory" / "cpu.max", "100000 100000\n")
    assert threads.usable_cores() == cores


def test_the_cores_are_counted_once(groups: Path) -> None:
    write(groups / "membership", "0::/\n")
    write(groups / "cpu.max", "200000 100000\n")
    assert threads.limit() == 2
    write(groups / "cpu.max", "300000 100000\n")
    assert threads.limit() == 2
