"""What explains a difference from TensorFlow in Conv3D and Conv3DBackpropFilterV2 alone."""

import re
from typing import Any, NamedTuple

import numpy as np

from opspec.conformance.agreement_judge import Comparison
from opspec.conformance.agreement_sides import shape_of


def padding_is_negative(c: Comparison) -> bool:
    """Tell whether SAME lacks so little that TensorFlow's convolution pads by less than nothing."""
    if c.call.op != "Conv3D" or c.ours.value is None or c.theirs.value is None or c.xla is not None:
        return False
    spare = [
        axis.large - (axis.small - 1) * axis.stride - axis.span for axis in _axes(c, c.ours.value)
    ]
    return c.call.arguments["padding"] == "SAME" and max(spare) > 1


def dilations_change_axes(c: Comparison) -> bool:
    """Tell whether TensorFlow's inference of a graph takes one axis's dilation for another's."""
    if c.call.op != "Conv3D" or c.ours.value is None or c.xla is None:
        return False
    said = re.search(r"caused by subtracting (\d+) from (\d+)", c.xla.error)
    own = {(axis.span, axis.large) for axis in _axes(c, c.ours.value)}
    return said is not None and (int(said[1]), int(said[2])) not in own


def nothing_is_looked_at(c: Comparison) -> bool:
    """Tell whether TensorFlow does not compare channels where the result is empty."""
    labels = ("Conv3D.filter.is_not_grouped", "Conv3D.input.channels_equal_filter")
    return c.ours.rule in labels and c.theirs.value is not None and c.theirs.value.size == 0


def no_channels_are_made(c: Comparison) -> bool:
    """Tell whether TensorFlow refuses a filter without out_channels."""
    refused = "filter must not have zero elements" in c.theirs.error
    return c.ours.value is not None and refused and shape_of(c, "filter")[4] == 0


def gradient_of_nothing(c: Comparison) -> bool:
    """Tell whether TensorFlow leaves what was in memory where no position has a gradient."""
    if c.call.op != "Conv3DBackpropFilterV2" or c.ours.value is None:
        return False
    if 0 not in shape_of(c, "output"):
        return False
    return bool(c.their_deviation) or (c.theirs.status == "error" and "Window" in c.theirs.error)


class _Axis(NamedTuple):
    """One spatial dimension of a convolution, as far as padding goes."""

    small: int
    large: int
    stride: int
    span: int


def _axes(c: Comparison, result: np.ndarray[Any, Any]) -> list[_Axis]:
    """Return the spatial dimensions of a valid Conv3D with its result."""
    given = c.call.arguments
    first = 2 if given.get("data_format") == "NCDHW" else 1
    kernel, large = shape_of(c, "filter"), shape_of(c, "input")
    steps, dilations = given["strides"], given.get("dilations", (1, 1, 1, 1, 1))
    return [
        _Axis(
            result.shape[axis],
            large[axis],
            int(steps[axis]),
            (kernel[axis - first] - 1) * int(dilations[axis]) + 1,
        )
        for axis in range(first, first + 3)
    ]
