"""What the machine can do at most: a process of its own, since BLAS wants its threads at the start.

`python benchmarks/roofs.py --threads 2` prints it as JSON.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from fma_peak import peak
from peer_link import environment
from results import Roofs, Run

LIMIT_S = 120
REPEATS = 7
# Above every cache, so that the copy is memory's.
COPIED_BYTES = 256 * 2**20


def bandwidth(threads: int) -> float:
    """Return the bytes a second that a copy reads and writes.

    Parameters
    ----------
    threads
        How many copy a part each.
    """
    source = np.ones(COPIED_BYTES, np.uint8)
    target = np.zeros_like(source)
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    times = []
    for _ in range(REPEATS):
        workers = [threading.Thread(target=np.copyto, args=part) for part in parts]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        times.append(time.perf_counter() - start)
    return 2 * COPIED_BYTES / min(times)


def measure_roofs(run: Run, python: str) -> None:
    """Measure in a process with the run's number of threads; of two measurements the higher holds.

    Parameters
    ----------
    run
        Where the result is written.
    python
        An interpreter with NumPy, and Numba if there is one.
    """
    command = [python, __file__, "--threads", str(run.threads)]
    try:
        done = subprocess.run(
            command,
            env=environment(run.threads),
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        run.no_roofs = f"{Path(__file__).name} failed: {error}"
        return
    found = Roofs(**json.loads(done.stdout))
    if run.roofs:
        found.bytes = max(found.bytes, run.roofs.bytes)
        if run.roofs.flops > found.flops:
            found.flops, found.flops_by = run.roofs.flops, run.roofs.flops_by
    run.roofs = found


def main(arguments: list[str] | None = None) -> int:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1, help="default 1")
    given = parser.parse_args(arguments)
    flops, by = peak(given.threads)
    print(json.dumps({"flops": flops, "flops_by": by, "bytes": bandwidth(given.threads)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
