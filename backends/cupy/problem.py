"""The problem in the memory layout that the kernels take: `Problem` of cuda/problem.cuh."""

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.phases import forward_phase, phase, phases, step_back, step_of_taps
from opspec.geometry import Window

PHASES_AT_ONCE = 32
# The kernels count positions of a dimension in 32 bits, and add two such numbers.
MOST_POSITIONS = 2**30

PHASE = np.dtype([(name, np.int32) for name in ("positions", "taps", "first_tap", "first")])
AXIS = np.dtype(
    [
        *((n, np.int32) for n in ("read", "stride", "tap_step", "back", "first_phase", "phases")),
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
        ("made_channels", np.int32),
        ("read_channels", np.int32),
        ("wide", np.int32),
        ("axis", AXIS, 3),
        ("gap", np.int32, 3),
    ],
    align=True,
)

Strides = tuple[int, ...]


def problems(
    convolution: Convolution, data: Strides, filter: Strides, result: Strides, *, wide: bool
) -> Iterator[tuple[np.ndarray[Any, Any], int, int]]:
    """Yield a problem, the most rows that any of its phases has, and how many phases it has.

    Parameters
    ----------
    convolution
        What is to be computed: either side, not the filter.
    data, filter, result
        Strides in elements: batch, depth, height, width, channel of both sides; depth, height,
        width, channel of the result, channel that is added up of the filter.
    wide
        Whether the result's channels can be written 16 bytes at a time.
    """
    geometry = convolution.geometry
    forward = convolution.result == "output"
    axis_of = _forward_axis if forward else _backward_axis
    counts = [1 if forward else phases(window) for window in geometry.windows]
    for corner in product(*(range(0, count, PHASES_AT_ONCE) for count in counts)):
        problem = np.zeros((), PROBLEM)
        problem["batch"] = geometry.batch
        problem["from_strides"] = data
        problem["filter_strides"] = filter
        problem["to_strides"] = result
        problem["made_channels"] = convolution.made_channels
        problem["read_channels"] = convolution.read_channels
        problem["wide"] = wide
        problem["gap"] = [w.stride if forward else 1 for w in geometry.windows]
        for axis, window, first, count in zip(
            problem["axis"], geometry.windows, corner, counts, strict=True
        ):
            some = min(PHASES_AT_ONCE, count - first)
            found = axis_of(window, range(first, first + some))
            axis["first_phase"], axis["phases"] = first, some
            axis["phase"][:some] = found.pop("phases")
            for name, number in found.items():
                axis[name] = number
        axes = problem["axis"]
        rows = geometry.batch * prod(int(axis["phase"]["positions"].max()) for axis in axes)
        yield problem, rows, prod(int(axis["phases"]) for axis in axes)


def _backward_axis(window: Window, remainders: range) -> dict[str, Any]:
    return {
        "read": window.output,
        "stride": window.stride,
        "tap_step": step_of_taps(window),
        "back": step_back(window),
        "phases": [phase(window, remainder) for remainder in remainders],
    }


def _forward_axis(window: Window, _: range) -> dict[str, Any]:
    return {
        "read": window.input,
        "stride": 1,
        "tap_step": 1,
        "back": -window.dilation,
        "phases": [forward_phase(window)],
    }
