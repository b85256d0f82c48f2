"""A backend in a process of its own: when it dies or hangs, that is the verdict on one case.

The process that loads the backend forks, and the fork computes (see ``worker``). When a fork dies,
the process reports how, and forks again: loading everything anew after each of a thousand crashes
would take an hour.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import Pipe
from types import TracebackType
from typing import Any, Self

from opspec.conformance.generate.tensorflow_child import name_of_end
from opspec.conformance.report import CaseResult, Verdict
from opspec.conformance.tasks import Task
from opspec.registry import Capabilities

START_TIMEOUT = 180.0
# Fresh memory from glibc then holds garbage, not what the kernel happened to leave there.
ENVIRONMENT = {"MALLOC_PERTURB_": "165"}


class IsolatedBackend:
    """A context manager around the process that runs one backend.

    On entering it has `capabilities` (what the backend declares), `suite` (the version of the
    suite that it pins, or None), `caveat` (what a run cannot show, or None) and `unavailable` (why
    it cannot run here, or None).

    Parameters
    ----------
    backend
        An installed name, or ``module:attribute``.
    timeout
        Seconds that one case may take.
    quick
        Whether properties try few examples.
    """

    def __init__(self, backend: str, *, timeout: float, quick: bool = False) -> None:
        self._backend = backend
        self._timeout = timeout
        self._quick = quick
        self._fork = 0
        self.capabilities = Capabilities(operations=(), dtypes=(), data_formats=())
        self.suite: int | None = None
        self.caveat: str | None = None
        self.unavailable: str | None = None

    def __enter__(self) -> Self:
        self._connection, theirs = Pipe()
        path = os.pathsep.join(place for place in sys.path if place)
        words = (self._backend, str(theirs.fileno()), str(int(self._quick)))
        # A session of its own: Ctrl-C reaches this process only, which then ends the others.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "opspec.conformance.worker", *words],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
        )
        theirs.close()
        try:
            self._introduce()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def judge(self, task: Task) -> CaseResult:
        """Judge one task over there.

        Raises
        ------
        RuntimeError
            If not only the fork but the process behind it ended.
        """
        start = time.perf_counter()
        self._connection.send(task.identity)
        try:
            word, value = self._receive(self._timeout)
        except TimeoutError:
            os.kill(self._fork, signal.SIGKILL)
            # A result may have been on its way.
            while self._receive(START_TIMEOUT)[0] != "ended":
                continue
            verdict, reason = Verdict.TIMED_OUT, f"no result after {self._timeout:g} s"
        else:
            if word == "result":
                result: CaseResult = value
                return result
            verdict, reason = Verdict.CRASHED, f"the kernel ended the process: {name_of_end(value)}"
        self._await_fork()
        return CaseResult(
            case=task.identity,
            lane=task.lane,
            operation=task.operation,
            verdict=verdict,
            reason=reason,
            seconds=time.perf_counter() - start,
            demand=task.demand(),
            fingerprint=reason,
        )

    def _introduce(self) -> None:
        try:
            word, value = self._receive(START_TIMEOUT)
            if word == "error":
                raise value
            self.capabilities, self.suite, self.caveat = value
            self._await_fork()
        except TimeoutError:
            self.unavailable = f"loading it took more than {START_TIMEOUT:g} s"
        except EOFError:
            self.unavailable = f"loading it ended the process: {name_of_end(self._process.wait())}"

    def _await_fork(self) -> None:
        word, value = self._receive(START_TIMEOUT)
        if word == "ended":
            self.unavailable = (
                f"asking whether it can run here ended the process: {name_of_end(value)}"
            )
        else:
            self._fork, self.unavailable = value

    def _receive(self, timeout: float) -> tuple[str, Any]:
        if not self._connection.poll(timeout):
            raise TimeoutError
        try:
            message: tuple[str, Any] = self._connection.recv()
        except ConnectionResetError as error:
            raise EOFError from error
        return message

    def _stop(self) -> None:
        self._connection.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
