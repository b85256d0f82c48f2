"""Threads that share a kernel's tasks.

Numba's own parallel layers are not used: one aborts the process on concurrent callers, another
kills forked children. A kernel here releases the GIL and takes tasks from a counter in memory until
there is none; any number of threads may be in it. The caller is always one of them, so that a call
makes progress whatever the others do.
"""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

Share = Callable[[int], bool]
ALIGNED = 64


class _Job:
    """One kernel call that several threads work on."""

    def __init__(self, share: Share, counter: Any, room: int) -> None:
        self._share = share
        self._counter = counter
        self._room = room
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._working = 0
        self._closed = False
        self.finished = False
        self._failure: BaseException | None = None

    def help(self) -> None:
        """Work in another thread than the caller's; come too late without harm."""
        with self._lock:
            if self._closed:
                return
            self._working += 1
        try:
            self.work()
        # Whatever it is, the caller's thread raises it.
        except BaseException as error:
            self._failure = error
        finally:
            with self._lock:
                self._working -= 1
                self._idle.notify_all()

    def work(self) -> None:
        """Work until there is no task."""
        memory = _memory(self._room)
        while self._share(memory.address):
            pass

    def finish(self) -> None:
        """Let nobody else begin, and wait for those who have: they write into the caller's arrays.

        To be called again, if it is interrupted, until the job is `finished`.
        """
        with self._lock:
            self._closed = True
            while self._working:
                self._idle.wait()
            self.finished = True
        if self._failure is not None:
            raise self._failure

    def cancel(self) -> None:
        """Leave no task to take."""
        self._counter[0] = 2**62


class _Pool:
    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._threads = 0
        self._lock = threading.Lock()

    def ask(self, job: _Job, helpers: int) -> None:
        with self._lock:
            while self._threads < helpers:
                self._threads += 1
                name = f"opspec-{self._threads}"
                threading.Thread(target=self._help, name=name, daemon=True).start()
        for _ in range(helpers):
            self._jobs.put(job)

    def _help(self) -> None:
        while True:
            self._jobs.get().help()


_pool = _Pool()
_own = threading.local()


def _forget_threads() -> None:
    """A forked child has only the thread that forked."""
    global _pool
    _pool = _Pool()


os.register_at_fork(after_in_child=_forget_threads)


def run(share: Callable[[int, int], bool], room: int, threads: int) -> None:
    """Call `share(counter, memory)` in several threads until it returns False.

    Parameters
    ----------
    share
        Takes the address of an int64 that counts tasks, and the address of this thread's own
        memory; returns whether it is to be called again.
    room
        Bytes of each thread's memory.
    threads
        How many, the caller included.
    """
    counter = np.zeros(1, np.int64)
    address = counter.ctypes.data
    if threads == 1:
        memory = _memory(room)
        while share(address, memory.address):
            pass
        return
    job = _Job(lambda memory: share(address, memory), counter, room)
    failure: BaseException | None = None
    try:
        _pool.ask(job, threads - 1)
        job.work()
    except BaseException as error:
        failure = error
        job.cancel()
    # A Ctrl-C while waiting is passed on, but only after that.
    while not job.finished:
        try:
            job.finish()
        except BaseException as error:
            failure = error
            job.cancel()
    if failure is not None:
        try:
            raise failure
        finally:
            # Its traceback holds this frame, and with it the caller's arrays.
            del failure


class _Memory(NamedTuple):
    """An array, which lives as long as somebody holds this, and its first cache line's address."""

    array: np.ndarray[Any, Any]
    address: int


def _memory(size: int) -> _Memory:
    """Return this thread's memory, kept for its next call.

    To be held while its address is in use: a signal handler that calls opspec in the middle of a
    call may need more, and replaces it.
    """
    kept: _Memory | None = getattr(_own, "memory", None)
    if kept is None or kept.array.size < size + ALIGNED:
        array = np.empty(size + ALIGNED, np.uint8)
        kept = _own.memory = _Memory(array, -array.ctypes.data % ALIGNED + array.ctypes.data)
    return kept
