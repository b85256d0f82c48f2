"""The other side of an isolated run: ``python -m opspec.conformance.worker BACKEND FD QUICK``.

This process loads the backend and forks; each fork answers tasks until it dies or nobody asks any
more. Messages to the parent are pairs: ("ready", what the backend declares) once, ("fork", its
process id and why the backend cannot run) for each fork, ("result", ...) for each task, and
("ended", how) when a fork has died.
"""

import os
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from opspec.conformance.tasks import tasks_by_identity
from opspec.registry import Backend, BackendError, discovery


def main() -> None:
    """Load the backend, then fork as often as needed."""
    name, descriptor, quick = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1"
    connection = Connection(descriptor)
    try:
        backend = discovery.find(name)
    except BackendError as error:
        connection.send(("error", error))
        return
    tasks_by_identity(quick=quick)
    connection.send(("ready", (backend.capabilities, backend.suite, backend.caveat)))
    while True:
        fork = os.fork()
        if fork == 0:
            _answer(connection, backend, name, quick)
            return
        code = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
        try:
            connection.send(("ended", code))
        except OSError:
            # The parent has gone, and needs no more forks.
            return


def _answer(
    connection: "Connection[object, object]", backend: Backend, name: str, quick: bool
) -> None:
    # Asked in the fork: finding a device may start what does not survive a fork.
    connection.send(("fork", (os.getpid(), backend.unavailable_reason())))
    with suppress(EOFError):
        while True:
            task = tasks_by_identity(quick=quick)[str(connection.recv())]
            connection.send(("result", task.judge(backend, name)))


if __name__ == "__main__":
    main()
