"""What the NumPy backend takes in time and temporary memory; exits 1 if the memory is too much.

Temporary memory is the peak above the operands and the result, as tracemalloc sees it: all that
NumPy allocates, without the buffers inside its BLAS library. The limit is 64 MB or the bytes of
the operands, whichever is more. Memory is repeatable; times vary with what else the machine does.
"""

import argparse
import gc
import sys
import timeit
import tracemalloc
from collections.abc import Callable
from typing import Any, TypeAlias

import machine
import numpy as np
from workloads import WORKLOADS, Workload

import opspec

Array: TypeAlias = np.ndarray[Any, Any]

MEGABYTE = 10**6
LEAST_LIMIT = 64 * MEGABYTE
DTYPES = ("float32", "float16")


def main(arguments: list[str] | None = None) -> int:
    """Measure each workload, print it, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--dtypes", nargs="+", default=DTYPES, help="default: float32 float16")
    parser.add_argument("--repeats", type=int, default=3, help="timed calls (default 3)")
    given = parser.parse_args(arguments)
    print(machine.described("numpy", "opspec"))
    print(f"Times: best of {given.repeats} calls, noisy. Memory in MB of 10^6 bytes.\n")
    print(f"{'workload':<14}{'dtype':<9}{'ms':>9}{'GFLOP/s':>9}{'peak':>8}{'limit':>8}")
    chosen = [workload for workload in WORKLOADS if workload.name in given.only]
    within = [show(workload, dtype, given.repeats) for workload in chosen for dtype in given.dtypes]
    print(f"\n{within.count(False)} of {len(within)} peaks are above the limit.")
    return 0 if all(within) else 1


def show(workload: Workload, dtype: str, repeats: int) -> bool:
    """Measure one workload, print its line, and say whether it stays within the limit."""
    input, filters = operands(workload, dtype)

    def call() -> Array:
        result: Array = opspec.nn.conv3d_transpose(
            input,
            filters,
            workload.output_shape,
            workload.strides,
            workload.padding,
            dilations=workload.dilations,
            backend="numpy",
        )
        return result

    seconds = min(timeit.repeat(call, number=1, repeat=repeats))
    peak = temporary_memory(call)
    limit = max(LEAST_LIMIT, input.nbytes + filters.nbytes)
    rate = 2 * workload.multiply_adds / seconds / 1e9
    verdict = "" if peak <= limit else "  ABOVE"
    print(
        f"{workload.name:<14}{dtype:<9}{seconds * 1e3:>9.2f}{rate:>9.1f}"
        f"{peak / MEGABYTE:>8.1f}{limit / MEGABYTE:>8.1f}{verdict}",
        flush=True,
    )
    return peak <= limit


def operands(workload: Workload, dtype: str) -> tuple[Array, Array]:
    """Make the input and the filters of a workload."""
    generator = np.random.default_rng(0)
    input, filters = (
        generator.standard_normal(shape, np.float32).astype(dtype)
        for shape in (workload.input_shape, workload.filters_shape)
    )
    return input, filters


def temporary_memory(call: Callable[[], Array]) -> int:
    """Return the most bytes that `call` held at once, without its result.

    To be called after a first call, which imports the kernel and fills the caches of plans.
    """
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        result = call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before - result.nbytes


if __name__ == "__main__":
    sys.exit(main())
