"""How many threads may work on one call: `opspec.thread_limit`, OPSPEC_NUM_THREADS, the cores.

Backends that start threads ask `limit`. NumPy's matrix products run in the threads of its BLAS
library, which neither asks nor can be told per call; its own variables, such as
OPENBLAS_NUM_THREADS, govern it.
"""

import operator
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path, PurePosixPath

ENVIRONMENT_VARIABLE = "OPSPEC_NUM_THREADS"

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")

_COUNT = re.compile(r"\s*0*([1-9][0-9]{0,8})\s*")

_limit: ContextVar[int | None] = ContextVar("opspec_thread_limit", default=None)


def thread_limit(n: int) -> AbstractContextManager[int]:
    """Let at most `n` threads work on each call inside the ``with`` block.

    Blocks nest; the innermost wins. Right with threads and async: the limit is kept in a context
    variable, so threads that the block starts do not inherit it. NumPy's matrix products are not
    governed by it; its BLAS library has variables of its own, such as OPENBLAS_NUM_THREADS.

    Parameters
    ----------
    n
        1 or more. More than there are cores is allowed, and up to the backend.

    Returns
    -------
    context manager
        Gives `n`.

    Raises
    ------
    TypeError
        If `n` is no integer.
    ValueError
        If it is below 1.

    Examples
    --------
    >>> import opspec
    >>> from opspec import threads
    >>> with opspec.thread_limit(1):
    ...     threads.limit()
    1
    """
    if isinstance(n, bool):
        raise TypeError(f"thread_limit takes an integer of 1 or more; given {n!r} (bool)")
    try:
        count = operator.index(n)
    except TypeError:
        kind = type(n).__name__
        raise TypeError(
            f"thread_limit takes an integer of 1 or more; given {n!r:.60} ({kind})"
        ) from None
    if count < 1:
        raise ValueError(f"thread_limit takes an integer of 1 or more; given {count}")
    return _limited(count)


def limit() -> int:
    """Return how many threads may work on a call that is made now.

    The innermost `thread_limit`; else OPSPEC_NUM_THREADS, which is read at each call so that a
    program may still set it after importing opspec; else the cores that this process may use.

    Raises
    ------
    ValueError
        If OPSPEC_NUM_THREADS is no integer from 1 to 999999999. Empty is the same as not set.
    """
    chosen = _limit.get()
    if chosen is not None:
        return chosen
    written = os.environ.get(ENVIRONMENT_VARIABLE)
    return _read(written) if written else usable_cores()


@cache
def usable_cores() -> int:
    """Return how many cores this process may use: its affinity, or the container's quota if lower.

    Found out once. A quota of 1.5 cores is 2: two threads get more done in it than one.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        # macOS and Windows keep no such list.
        cores = os.cpu_count() or 1
    return max(min([cores, *map(_rounded_up, _quotas())]), 1)


def container_quota() -> float | None:
    """Return how many cores' worth of time the container grants; None where it sets no limit."""
    return min((microseconds / period for microseconds, period in _quotas()), default=None)


@contextmanager
def _limited(count: int) -> Iterator[int]:
    token = _limit.set(count)
    try:
        yield count
    finally:
        _limit.reset(token)


def _read(written: str) -> int:
    found = _COUNT.fullmatch(written)
    if found is None:
        raise ValueError(
            f"the environment variable {ENVIRONMENT_VARIABLE} must be an integer from 1 to "
            f"999999999, or not set; given {written!r:.60}"
        )
    return int(found[1])


def _rounded_up(quota: tuple[int, int]) -> int:
    microseconds, period = quota
    return -(-microseconds // period)


def _quotas() -> Iterator[tuple[int, int]]:
    """Yield each quota that binds this process: microseconds of work in a period of so many."""
    for folder in _cgroup_folders():
        try:
            if (file := folder / "cpu.max").exists():
                quota, period = file.read_text().split()
            else:
                quota = (folder / "cpu.cfs_quota_us").read_text()
                period = (folder / "cpu.cfs_period_us").read_text()
            found = int(quota), int(period)
        # The root group has no quota; a group without one says "max".
        except (OSError, ValueError):
            continue
        # Version 1 says -1 for none.
        if min(found) > 0:
            yield found


def _cgroup_folders() -> Iterator[Path]:
    """Yield the folders of this process's groups and of all that they lie in.

    A group's path is that of the host. Where a container sees its own group as the root, the path
    leads nowhere and the root counts, which is always among them.
    """
    try:
        lines = _MEMBERSHIP.read_text().splitlines()
    # Only Linux has control groups.
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = _CGROUPS / controllers
        group = PurePosixPath(path.lstrip("/"))
        for place in (group, *group.parents):
            yield root / place
