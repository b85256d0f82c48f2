"""One peer in a process of its own: JSON requests come in on lines, answers go out on lines.

Started by `peer_link`, in whichever environment has the peer's library. The first line out says
whether the library is there; after it, each request has one answer.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TextIO

import memory
import numpy as np
from peers import LIBRARIES, Array, Call, Operands, Peer, Refused, opened
from peers.channels import from_channels_first
from workload import Workload

SAMPLE = 4096


class Session:
    """What the process remembers between requests.

    Parameters
    ----------
    peer
        The library.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._calls: dict[str, Call] = {}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a request says.

        Parameters
        ----------
        request
            ``do`` is ``"prepare"`` (with ``key``, ``workload`` and ``out``), ``"time"`` (with
            ``key``, ``calls`` and ``untimed``), ``"memory"`` (with ``key``) or ``"forget"``.
        """
        match request["do"]:
            case "prepare":
                workload = Workload.from_json(request["workload"])
                return self._prepare(request["key"], workload, request["out"])
            case "time":
                return timed(self._calls[request["key"]], request["calls"], request["untimed"])
            case "memory":
                return {"peak_bytes": memory.peak_bytes(self._calls[request["key"]])}
            case "forget":
                self._calls.clear()
                gc.collect()
                return {}
        raise LookupError(f"no request is called {request['do']!r}")

    def _prepare(self, key: str, workload: Workload, out: bool) -> dict[str, Any]:
        operands = made(workload, out)
        start = time.perf_counter()
        call = self._peer.prepared(operands)
        built = time.perf_counter()
        result = call()
        done = time.perf_counter()
        self._calls[key] = call
        if self._peer.channels_first:
            result = from_channels_first(result, workload.data_format)
        return {"built_s": built - start, "first_s": done - built, **evidence(result)}


def made(workload: Workload, out: bool) -> Operands:
    """Make the operands, the same in every process.

    Parameters
    ----------
    workload
        The problem.
    out
        Whether to make an array for the result too.
    """
    if workload.dtype == "bfloat16":
        # It registers the dtype's name with NumPy.
        import ml_dtypes  # noqa: F401

    generator = np.random.default_rng(0)
    input, filters = (
        generator.standard_normal(shape, np.float32).astype(workload.dtype, copy=False)
        for shape in (workload.input_shape, workload.filters_shape)
    )
    place = np.empty(workload.output_shape, workload.dtype) if out else None
    return Operands(workload, input, filters, place)


def evidence(result: Array) -> dict[str, Any]:
    """Return what shows whether two peers computed the same.

    Parameters
    ----------
    result
        In the workload's data format.
    """
    places = np.random.default_rng(1).integers(0, result.size, SAMPLE)
    sample = result[np.unravel_index(places, result.shape)].astype(np.float64)
    # Slab by slab: the absolute values of a whole result may not fit beside it.
    absolute = sum(
        float(np.abs(slab.astype(np.float32)).sum(dtype=np.float64))
        for whole in result
        for slab in whole
    )
    return {"shape": result.shape, "sample": sample.tolist(), "sum_of_absolutes": absolute}


def timed(call: Call, calls: int, untimed: int) -> dict[str, Any]:
    """Time calls; processor time is that of all the process's threads.

    Parameters
    ----------
    call
        What to time; its result is let go within the time, as a caller's loop would.
    calls, untimed
        How many, and how many before them.
    """
    for _ in range(untimed):
        call()
    wall: list[float] = []
    processor = time.process_time()
    for _ in range(calls):
        start = time.perf_counter()
        call()
        wall.append(time.perf_counter() - start)
    return {"wall_s": wall, "cpu_s": (time.process_time() - processor) / calls}


def reason_of(error: BaseException) -> str:
    """Say in one line why a peer failed."""
    if isinstance(error, Refused):
        return str(error)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:3])}"[:300]


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def main(arguments: list[str] | None = None) -> int:
    """Answer requests until there are no more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=LIBRARIES)
    parser.add_argument("--threads", type=int, required=True)
    given = parser.parse_args(arguments)
    answers = _answers()
    start = time.perf_counter()
    try:
        peer = opened(given.peer, given.threads)
    except Exception as error:  # whatever a library's import may raise, the driver has to say it
        _say(answers, {"absent": reason_of(error)})
        return 0
    seconds = time.perf_counter() - start
    _say(answers, {"import_s": seconds, "versions": versions(peer.packages)})
    session = Session(peer)
    for line in sys.stdin:
        try:
            answer = session.answer(json.loads(line))
        except Exception as error:  # as above
            answer = {"refused" if isinstance(error, Refused) else "failed": reason_of(error)}
        _say(answers, answer)
    return 0


def _answers() -> TextIO:
    # Libraries print; what they print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    sys.exit(main())
