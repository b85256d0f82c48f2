"""What the windows of a convolution read, in the layout that the kernels take: cuda/windows.cuh."""

from math import prod
from typing import Any

import numpy as np

from opspec.geometry import ConvGeometry

AXIS = np.dtype(
    [
        *((name, np.int32) for name in ("input", "output", "kernel", "stride")),
        *((name, np.int64) for name in ("dilation", "before")),
    ],
    align=True,
)
WINDOWS = np.dtype(
    [
        *((n, np.int64) for n in ("first_place", "places", "per_split", "rows", "first_tile")),
        ("from_strides", np.int64, 5),
        ("other_strides", np.int64, 5),
        *((n, np.int32) for n in ("in_channels", "out_channels", "first_split", "whole")),
        ("axis", AXIS, 3),
    ],
    align=True,
)
# What cuda/total.cu takes.
PARTS = np.dtype([(name, np.int64) for name in ("elements", "first_tile", "count")], align=True)

Strides = tuple[int, ...]


def windows(geometry: ConvGeometry, input: Strides, other: Strides) -> np.ndarray[Any, Any]:
    """Return the windows of a convolution, all their places in one split.

    Parameters
    ----------
    geometry
        The convolution.
    input, other
        Strides in elements of `input` and `out_backprop`: batch, depth, height, width, channel.
    """
    made = np.zeros((), WINDOWS)
    made["places"] = made["per_split"] = places_of(geometry)
    made["rows"] = rows_of(geometry)
    made["from_strides"] = input
    made["other_strides"] = other
    made["in_channels"] = geometry.in_channels
    made["out_channels"] = geometry.out_channels
    for axis, window in zip(made["axis"], geometry.windows, strict=True):
        for name in AXIS.names or ():
            axis[name] = getattr(window, name)
    return made


def places_of(geometry: ConvGeometry) -> int:
    """Return how many places there are: batch x positions of the small side."""
    return geometry.batch * prod(window.output for window in geometry.windows)


def rows_of(geometry: ConvGeometry) -> int:
    """Return how many rows the filter has as a matrix: taps x in_channels."""
    return prod(window.kernel for window in geometry.windows) * geometry.in_channels
