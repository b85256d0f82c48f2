"""How long ``import opspec`` takes beside what it stands on; the goal is 1.3 times.

Each import runs in a fresh interpreter, the two by turns, so that what disturbs one disturbs the
other. The ratio is that of the medians. It is still noisy, so no exit code depends on it.
"""

import argparse
import statistics
import subprocess
import sys

import machine

GOAL = 1.3
BASE = "import numpy, pydantic"
WHOLE = "import opspec"


def main(arguments: list[str] | None = None) -> int:
    """Time the imports and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15, help="of each import (default 15)")
    given = parser.parse_args(arguments)
    print(machine.described("numpy", "pydantic", "opspec"))
    # The first ones compile to bytecode and bring the files into memory.
    seconds_of(BASE)
    seconds_of(WHOLE)
    pairs = [(seconds_of(BASE), seconds_of(WHOLE)) for _ in range(given.repeats)]
    medians = []
    print(f"\n{'milliseconds':<26}{'min':>7}{'median':>8}")
    for code, times in zip((BASE, WHOLE), zip(*pairs, strict=True), strict=True):
        medians.append(statistics.median(times))
        print(f"{code:<26}{min(times) * 1e3:>7.1f}{medians[-1] * 1e3:>8.1f}")
    print(f"\nRatio of the medians: {medians[1] / medians[0]:.2f}; goal: at most {GOAL}.")
    return 0


def seconds_of(code: str) -> float:
    """Run an import in a fresh interpreter and return how long it took, start-up not counted."""
    timed = (
        "import time; start = time.perf_counter()\n"
        f"{code}\n"
        "print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-c", timed]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
