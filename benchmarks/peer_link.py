"""The driver's end of a peer's process: it starts one, asks it, and ends it."""

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("peer_process.py")
START_LIMIT_S = 180.0
# How long a process that fails may take to end by itself, so that its exit code can be told.
GRACE_S = 1.0
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OPSPEC_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)


class PeerFailed(Exception):
    """A peer's process gave no answer; the message says why. The process is ended."""


class PeerLink:
    """One peer's process.

    Parameters
    ----------
    peer
        One of `peers.LIBRARIES`.
    python
        The interpreter that has its library.
    threads
        How many threads it may use.

    Attributes
    ----------
    hello
        Its first line: ``versions`` and ``import_s``, or ``absent`` with the reason.

    Raises
    ------
    PeerFailed
        If it did not start.
    """

    def __init__(self, peer: str, python: str, threads: int) -> None:
        # It stays open for as long as the process.
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [python, str(PROGRAM), peer, "--threads", str(threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                env=environment(threads),
                text=True,
                # Ctrl-C is the driver's to handle; it ends the peers itself.
                start_new_session=True,
            )
        except OSError as error:
            self._printed.close()
            raise PeerFailed(f"{python} does not start: {error.strerror}") from error
        self.hello = self._answer(START_LIMIT_S)

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        """Send a request and return the answer.

        Parameters
        ----------
        request
            As `peer_process.Session.answer` takes it.
        limit_s
            How long to wait before the process is ended.

        Raises
        ------
        PeerFailed
            If it died or took too long.
        """
        stdin = self._process.stdin
        assert stdin is not None
        if stdin.closed:
            raise PeerFailed("its process has ended")
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._failure("its process has ended") from None
        return self._answer(limit_s)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._printed):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue

    def _answer(self, limit_s: float) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        # No part of an earlier answer is buffered, because each request is answered by one line.
        ready, _, _ = select.select([stdout], [], [], limit_s)
        if not ready:
            raise self._failure(f"took more than {limit_s:g} s")
        try:
            answer: dict[str, Any] = json.loads(stdout.readline())
        except ValueError:
            raise self._failure("its process ended, or said what is no answer") from None
        return answer

    def _failure(self, what: str) -> PeerFailed:
        try:
            what += f" (exit code {self._process.wait(GRACE_S)})"
        except subprocess.TimeoutExpired:
            what += " and was ended"
        self._printed.seek(0)
        printed = self._printed.read().decode(errors="replace").strip().splitlines()
        last = f"; it printed last: {printed[-1][:200]}" if printed else ""
        self.close()
        return PeerFailed(what + last)


def environment(threads: int) -> dict[str, str]:
    """Return this process's environment with every library told to use `threads` threads."""
    return {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, str(threads)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
