"""How long ``import opspec`` takes beside what it stands on; the goal is 1.3 times.

Each import runs in a fresh interpreter, one of each by turns, so that what disturbs one disturbs
the others. Ratios are those of the medians. They are still noisy, so no exit code depends on them.
The goal is about the first line; pydantic loads most of itself only where a model is defined, which
the second line counts too, and the third adds ml_dtypes, the last of opspec's dependencies.
"""

import argparse
import statistics
import subprocess
import sys

import machine

GOAL = 1.3
WHOLE = "opspec"
IMPORTS = {
    "numpy, pydantic": "import numpy, pydantic",
    "numpy, a pydantic model": (
        "import numpy, pydantic\nclass Model(pydantic.BaseModel):\n    field: int"
    ),
    "the same and ml_dtypes": (
        "import numpy, ml_dtypes, pydantic\nclass Model(pydantic.BaseModel):\n    field: int"
    ),
    WHOLE: "import opspec",
}


def main(arguments: list[str] | None = None) -> int:
    """Time the imports and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15, help="of each import (default 15)")
    given = parser.parse_args(arguments)
    print(machine.described("numpy", "pydantic", "ml_dtypes", "opspec"))
    # The first ones compile to bytecode and bring the files into memory; they are not counted.
    for code in IMPORTS.values():
        seconds_of(code)
    rounds = [[seconds_of(code) for code in IMPORTS.values()] for _ in range(given.repeats)]
    times = dict(zip(IMPORTS, zip(*rounds, strict=True), strict=True))
    whole = statistics.median(times[WHOLE])
    print(f"\n{'import (milliseconds)':<26}{'min':>8}{'median':>8}  opspec takes")
    for what, taken in times.items():
        median = statistics.median(taken)
        ratio = f"  {whole / median:.2f} times that" if what != WHOLE else ""
        print(f"{what:<26}{min(taken) * 1e3:>8.1f}{median * 1e3:>8.1f}{ratio}")
    print(f"\nGoal: at most {GOAL} times the first line.")
    return 0


def seconds_of(code: str) -> float:
    """Run an import in a fresh interpreter and return how long it took, start-up not counted."""
    timed = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    command = [sys.executable, "-c", timed]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
