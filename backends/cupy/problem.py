"""The problem in the memory layout that the kernels take: `Problem` of cuda/problem.cuh."""

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from opspec.backends.cupy.phases import phase, phases, step_back, step_of_taps
from opspec.geometry import ConvGeometry

PHASES_AT_ONCE = 32

PHASE = np.dtype([(name, np.int32) for name in ("positions", "taps", "first_tap", "first")])
AXIS = np.dtype(
    [
        *((n, np.int32) for n in ("output", "stride", "tap_step", "back", "first_phase", "phases")),
        ("phase", PHASE, PHASES_AT_ONCE),
    ]
)
PROBLEM = np.dtype(
    [
        ("batch", np.int64),
        ("first_tile", np.int64),
        ("from_strides", np.int64, 5),
        ("filter_strides", np.int64, 5),
        ("to_strides", np.int64, 5),
        ("in_channels", np.int32),
        ("out_channels", np.int32),
        ("wide", np.int32),
        ("axis", AXIS, 3),
    ],
    align=True,
)

Strides = tuple[int, ...]


def problems(
    geometry: ConvGeometry, data: Strides, filter: Strides, result: Strides, *, wide: bool
) -> Iterator[tuple[np.ndarray[Any, Any], int, int]]:
    """Yield a problem, the most rows that any of its phases has, and how many phases it has.

    Parameters
    ----------
    geometry
        What is to be computed.
    data, filter, result
        Strides in elements: batch, depth, height, width, channel of both sides; depth, height,
        width, in_channels, out_channels of the filter.
    wide
        Whether the result's channels can be written 16 bytes at a time.
    """
    firsts = [range(0, phases(window), PHASES_AT_ONCE) for window in geometry.windows]
    for corner in product(*firsts):
        problem = np.zeros((), PROBLEM)
        problem["batch"] = geometry.batch
        problem["from_strides"] = data
        problem["filter_strides"] = filter
        problem["to_strides"] = result
        problem["in_channels"] = geometry.in_channels
        problem["out_channels"] = geometry.out_channels
        problem["wide"] = wide
        for axis, window, first in zip(problem["axis"], geometry.windows, corner, strict=True):
            count = min(PHASES_AT_ONCE, phases(window) - first)
            axis["output"] = window.output
            axis["stride"] = window.stride
            axis["tap_step"] = step_of_taps(window)
            axis["back"] = step_back(window)
            axis["first_phase"] = first
            axis["phases"] = count
            for number in range(count):
                axis["phase"][number] = phase(window, first + number)
        axes = problem["axis"]
        rows = geometry.batch * prod(int(axis["phase"]["positions"].max()) for axis in axes)
        yield problem, rows, prod(int(axis["phases"]) for axis in axes)
