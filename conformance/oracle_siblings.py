"""The two siblings of `oracle`: the convolution itself and the gradient by its filter.

As there, each is executed literally twice and differently: exact integers, or float64. Conv3D in
integers is `oracle.forward_sum`.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from opspec.conformance.oracle import (
    Array,
    as_given,
    channels_last,
    direct_sum,
    exact_sum,
    forward_sum,
    padding_before,
    refuse_beyond_int64,
    whole,
    window_count,
)


def exact_filter_sum(
    *,
    input: Array,
    filter_sizes: list[int],
    out_backprop: Array,
    strides: list[int],
    padding: str,
    data_format: str,
    dilations: list[int],
) -> Array:
    """Scatter in int64: visit every position and tap, add what they have between them.

    Raises
    ------
    ValueError
        If an operand is not of whole numbers, or a sum could leave int64.
    """
    given, gradient = whole(input), whole(out_backprop)
    refuse_beyond_int64(given, gradient, gradient.size)
    given, sizes, steps, spacing = channels_last(
        given, list(given.shape), strides, dilations, data_format
    )
    gradient = channels_last(gradient, filter_sizes, strides, dilations, data_format)[0]
    result = np.zeros(filter_sizes, np.int64)
    starts = [
        padding_before(sizes[a], filter_sizes[a - 1], steps[a], spacing[a], padding)
        for a in (1, 2, 3)
    ]
    for position in product(*map(range, gradient.shape[1:4])):
        for tap in product(*map(range, filter_sizes[:3])):
            d, h, w = (
                position[a] * steps[a + 1] + tap[a] * spacing[a + 1] - starts[a] for a in range(3)
            )
            if 0 <= d < sizes[1] and 0 <= h < sizes[2] and 0 <= w < sizes[3]:
                there = gradient[:, position[0], position[1], position[2]]
                result[tap] += given[:, d, h, w].T @ there
    return result


def direct_filter_sum(
    *,
    input: Array,
    filter_sizes: list[int],
    out_backprop: Array,
    strides: list[int],
    padding: str,
    data_format: str,
    dilations: list[int],
) -> tuple[Array, Array]:
    """Gather in float64: visit every tap, sum over all positions at which it is inside.

    Returns
    -------
    tuple
        The sums, and the sums of absolute values, which measure what rounding may do.
    """
    given, sizes, steps, spacing = channels_last(
        input.astype(np.float64), list(input.shape), strides, dilations, data_format
    )
    gradient = channels_last(
        out_backprop.astype(np.float64), filter_sizes, strides, dilations, data_format
    )[0]
    result, magnitude = np.zeros(filter_sizes), np.zeros(filter_sizes)
    entries = np.arange(sizes[0])
    kernel = filter_sizes[:3]
    with np.errstate(all="ignore"):
        for tap in product(*map(range, kernel)):
            read, there = [], []
            for axis in range(3):
                size, step, spaced = sizes[axis + 1], steps[axis + 1], spacing[axis + 1]
                start = padding_before(size, kernel[axis], step, spaced, padding)
                places = np.arange(gradient.shape[axis + 1]) * step + tap[axis] * spaced - start
                inside = (places >= 0) & (places < size)
                read.append(places[inside])
                there.append(np.flatnonzero(inside))
            if not all(map(len, read)):
                continue
            left = given[np.ix_(entries, *read)].reshape(-1, given.shape[4])
            right = gradient[np.ix_(entries, *there)].reshape(len(left), gradient.shape[4])
            result[tap] = np.einsum("pc,pj->cj", left, right)
            magnitude[tap] = np.einsum("pc,pj->cj", np.abs(left), np.abs(right))
    return result, magnitude


def direct_forward_sum(
    *,
    input: Array,
    filter: Array,
    strides: list[int],
    padding: str,
    data_format: str,
    dilations: list[int],
) -> tuple[Array, Array]:
    """Gather in float64: visit every position, sum over the taps that are inside, all at once.

    Returns
    -------
    tuple
        The sums, and the sums of absolute values, which measure what rounding may do.
    """
    given, sizes, steps, spacing = channels_last(
        input.astype(np.float64), list(input.shape), strides, dilations, data_format
    )
    taps, kernel = filter.astype(np.float64), filter.shape[:3]
    counts = [
        window_count(sizes[a], kernel[a - 1], steps[a], spacing[a], padding) for a in (1, 2, 3)
    ]
    result = np.zeros((sizes[0], *counts, taps.shape[4]))
    magnitude = np.zeros_like(result)
    entries = np.arange(sizes[0])
    with np.errstate(all="ignore"):
        for position in product(*map(range, counts)):
            inside, places = [], []
            for axis in range(3):
                size, step, spaced = sizes[axis + 1], steps[axis + 1], spacing[axis + 1]
                start = padding_before(size, kernel[axis], step, spaced, padding)
                along = position[axis] * step + np.arange(kernel[axis]) * spaced - start
                reached = np.flatnonzero((along >= 0) & (along < size))
                inside.append(reached)
                places.append(along[reached])
            if not all(map(len, inside)) or sizes[0] == 0:
                continue
            parts = given[np.ix_(entries, *places)].reshape(sizes[0], -1, taps.shape[3])
            weights = taps[np.ix_(*inside)].reshape(parts.shape[1], *taps.shape[3:])
            d, h, w = position
            result[:, d, h, w] = np.einsum("bpc,pcj->bj", parts, weights)
            magnitude[:, d, h, w] = np.einsum("bpc,pcj->bj", np.abs(parts), np.abs(weights))
    return as_given(result, data_format), as_given(magnitude, data_format)


# By raw operation; each takes that operation's arguments.
Sum = Callable[..., Array]
Sums = Callable[..., tuple[Array, Array]]
EXACT: dict[str, Sum] = {
    "Conv3D": forward_sum,
    "Conv3DBackpropFilterV2": exact_filter_sum,
    "Conv3DBackpropInputV2": exact_sum,
}
DIRECT: dict[str, Sums] = {
    "Conv3D": direct_forward_sum,
    "Conv3DBackpropFilterV2": direct_filter_sum,
    "Conv3DBackpropInputV2": direct_sum,
}
