"""What a repeated call costs besides its kernel; the goal is 10 microseconds.

Times vary with what else the machine does. The least of many repeats is the least disturbed one;
the median shows how disturbed the others were.
"""

import argparse
import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Any

import machine
import numpy as np

import opspec
from opspec import nn, ops
from opspec.calling import prepare
from opspec.registry import Backend, Capabilities

GOAL = 10e-6

DATA = np.ones((1, 1, 1, 1, 1), np.float32)
FILTER = np.ones((2, 2, 2, 1, 1), np.float32)
SIZES = [1, 2, 2, 2, 1]
FIVE_STRIDES = [1, 2, 2, 2, 1]

constant = Backend(
    "constant",
    "numpy.ndarray",
    Capabilities(
        operations=("Conv3DBackpropInputV2",), dtypes=("float32",), data_formats=("NDHWC",)
    ),
)


@constant.implements("Conv3DBackpropInputV2")
def return_data(geometry: object, filter: object, out_backprop: Any) -> Any:
    """Compute nothing, so that only the way to the kernel is timed."""
    return out_backprop


def transpose(backend: Backend | None = constant) -> Any:
    """Call `conv3d_transpose`."""
    return nn.conv3d_transpose(DATA, FILTER, SIZES, 2, backend=backend)


def transpose_within_use_backend() -> Any:
    """Call `conv3d_transpose` where the backend in use decides."""
    return nn.conv3d_transpose(DATA, FILTER, SIZES, 2)


def backpropagate() -> Any:
    """Call `Conv3DBackpropInputV2`."""
    return opspec.raw_ops.Conv3DBackpropInputV2(
        input_sizes=SIZES,
        filter=FILTER,
        out_backprop=DATA,
        strides=FIVE_STRIDES,
        padding="SAME",
        backend=constant,
    )


def only_prepare() -> Any:
    """Go as far as the kernel; the arrays choose the backend."""
    return prepare(ops.get("conv3d_transpose"), (2, "SAME", "NDHWC", None), (FILTER, DATA), SIZES)


def main(arguments: list[str] | None = None) -> int:
    """Time each way and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=30, help="measurements (default 30)")
    parser.add_argument("--calls", type=int, default=2000, help="calls in each (default 2000)")
    given = parser.parse_args(arguments)
    print(machine.described("numpy", "pydantic", "opspec"))
    print(f"{given.repeats} repeats of {given.calls} calls; microseconds a call\n")
    print(f"{'way':<52}{'min':>7}{'median':>8}")
    show("opspec.calling.prepare, no backend named", only_prepare, given)
    show("nn.conv3d_transpose(backend=constant)", transpose, given)
    show("raw_ops.Conv3DBackpropInputV2(backend=constant)", backpropagate, given)
    with opspec.use_backend(constant):
        show("nn.conv3d_transpose, use_backend(constant)", transpose_within_use_backend, given)
    print(
        f"\nGoal: a min of at most {GOAL * 1e6:.0f}. Timings are noisy; the exit code is always 0."
    )
    return 0


def show(way: str, call: Callable[[], Any], given: argparse.Namespace) -> None:
    """Time a way and print its line."""
    # The first call validates and looks for a backend; only calls after it are repeated ones.
    call()
    times = timeit.repeat(call, number=given.calls, repeat=given.repeats)
    least, median = min(times) / given.calls, statistics.median(times) / given.calls
    verdict = "" if least <= GOAL else "  above the goal"
    print(f"{way:<52}{least * 1e6:>7.2f}{median * 1e6:>8.2f}{verdict}")


if __name__ == "__main__":
    sys.exit(main())
