"""The definition executed literally, twice and differently: exact integers, or float64.

And the forward convolution, whose adjoint the definition is.

Nothing here is shared with the definitions or the backends: padding and window counts are computed
anew from the text of docs/semantics.md §1. Slow and plain on purpose.
"""

from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]


def exact_sum(
    *,
    input_sizes: list[int],
    filter: Array,
    out_backprop: Array,
    strides: list[int],
    padding: str,
    data_format: str,
    dilations: list[int],
) -> Array:
    """Scatter in int64: visit every position and tap, add where it lands.

    Raises
    ------
    ValueError
        If an operand is not of whole numbers, or a sum could leave int64.
    """
    data, taps = whole(out_backprop), whole(filter)
    refuse_beyond_int64(data, taps, taps[..., 0, :].size)
    data, sizes, steps, spacing = channels_last(data, input_sizes, strides, dilations, data_format)
    result = np.zeros(sizes, np.int64)
    starts = [
        padding_before(sizes[axis], taps.shape[axis - 1], steps[axis], spacing[axis], padding)
        for axis in (1, 2, 3)
    ]
    for position in product(*map(range, data.shape[1:4])):
        for tap in product(*map(range, taps.shape[:3])):
            place = tuple(
                position[a] * steps[a + 1] + tap[a] * spacing[a + 1] - starts[a] for a in range(3)
            )
            if all(0 <= place[a] < sizes[a + 1] for a in range(3)):
                spread = data[:, position[0], position[1], position[2]] @ taps[tap].T
                result[:, place[0], place[1], place[2]] += spread
    return as_given(result, data_format)


def direct_sum(
    *,
    input_sizes: list[int],
    filter: Array,
    out_backprop: Array,
    strides: list[int],
    padding: str,
    data_format: str,
    dilations: list[int],
) -> tuple[Array, Array]:
    """Gather in float64: visit every place of the result, sum over all that reaches it.

    Returns
    -------
    tuple
        The sums, and the sums of absolute values, which measure what rounding may do.
    """
    data, taps = out_backprop.astype(np.float64), filter.astype(np.float64)
    data, sizes, steps, spacing = channels_last(data, input_sizes, strides, dilations, data_format)
    result, magnitude = np.zeros(sizes), np.zeros(sizes)
    sources = [
        _sources(
            sizes[axis], data.shape[axis], taps.shape[axis - 1], steps[axis], spacing[axis], padding
        )
        for axis in (1, 2, 3)
    ]
    with np.errstate(all="ignore"):
        for place in product(*map(range, sizes[1:4])):
            reaching = list(product(*(sources[axis][place[axis]] for axis in range(3))))
            if not reaching or data.shape[4] == 0 or sizes[0] == 0:
                continue
            parts = np.stack([data[:, a[0], b[0], c[0]] for a, b, c in reaching], axis=1)
            weights = np.stack([taps[a[1], b[1], c[1]] for a, b, c in reaching])
            d, h, w = place
            result[:, d, h, w] = np.einsum("bpj,pcj->bc", parts, weights)
            magnitude[:, d, h, w] = np.einsum("bpj,pcj->bc", np.abs(parts), np.abs(weights))
    return as_given(result, data_format), as_given(magnitude, data_format)


def forward_sum(
    *,
    input: Array,
    filter: Array,
    strides: list[int],
    padding: str,
    data_format: str,
    dilations: list[int],
) -> Array:
    """Gather in int64 what the forward convolution Conv3D reads at each position of its result.

    The operation here is its adjoint: <forward_sum(x, filter), y> equals <x, the result for y>.

    Raises
    ------
    ValueError
        If an operand is not of whole numbers, or a sum could leave int64.
    """
    given, taps = whole(input), whole(filter)
    refuse_beyond_int64(given, taps, prod(taps.shape[:4]))
    given, sizes, steps, spacing = channels_last(
        given, list(given.shape), strides, dilations, data_format
    )
    kernel = taps.shape[:3]
    counts, starts = [], []
    for axis in (1, 2, 3):
        numbers = (sizes[axis], kernel[axis - 1], steps[axis], spacing[axis], padding)
        counts.append(window_count(*numbers))
        starts.append(padding_before(*numbers))
    result = np.zeros((sizes[0], *counts, taps.shape[4]), np.int64)
    for position in product(*map(range, counts)):
        for tap in product(*map(range, kernel)):
            d, h, w = (
                position[a] * steps[a + 1] + tap[a] * spacing[a + 1] - starts[a] for a in range(3)
            )
            if 0 <= d < sizes[1] and 0 <= h < sizes[2] and 0 <= w < sizes[3]:
                result[:, position[0], position[1], position[2]] += given[:, d, h, w] @ taps[tap]
    return as_given(result, data_format)


def whole(array: Array) -> Array:
    """Return the values as int64; they must be whole numbers."""
    wide = array.astype(np.float64)
    if not np.array_equal(wide, np.rint(wide)):
        raise ValueError("exact sums take whole numbers only")
    return wide.astype(np.int64)


def refuse_beyond_int64(data: Array, taps: Array, terms: int) -> None:
    """Raise if sums of so many terms could leave int64."""
    reach = int(np.abs(data).max(initial=0)) * int(np.abs(taps).max(initial=0))
    if reach * max(terms, 1) >= 2**62:
        raise ValueError("the operands are too large for exact sums in int64")


def channels_last(
    data: Array, input_sizes: list[int], strides: list[int], dilations: list[int], data_format: str
) -> tuple[Array, list[int], list[int], list[int]]:
    """Bring everything into NDHWC order."""
    if data_format == "NDHWC":
        return data, list(input_sizes), list(strides), list(dilations)
    order = (0, 2, 3, 4, 1)
    return (
        data.transpose(order),
        [input_sizes[axis] for axis in order],
        [strides[axis] for axis in order],
        [dilations[axis] for axis in order],
    )


def as_given(result: Array, data_format: str) -> Array:
    """Bring an NDHWC result into the data format."""
    if data_format == "NDHWC":
        return result
    return np.ascontiguousarray(result.transpose(0, 4, 1, 2, 3))


def window_count(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Return how many positions the small side has."""
    if padding == "SAME":
        return (size + stride - 1) // stride
    room = size - (kernel - 1) * dilation - 1
    return 0 if room < 0 else room // stride + 1


def padding_before(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Return how much is padded before the large side."""
    if padding == "VALID":
        return 0
    windows = (size + stride - 1) // stride
    lacking = (windows - 1) * stride + (kernel - 1) * dilation + 1 - size
    return lacking // 2 if lacking > 0 else 0


def _sources(
    size: int, positions: int, kernel: int, stride: int, dilation: int, padding: str
) -> list[list[tuple[int, int]]]:
    """Per place of the result: the (position, tap) pairs that reach it."""
    before = padding_before(size, kernel, stride, dilation, padding)
    found: list[list[tuple[int, int]]] = []
    for place in range(size):
        pairs = []
        for tap in range(kernel):
            position, rest = divmod(place + before - tap * dilation, stride)
            if rest == 0 and 0 <= position < positions:
                pairs.append((position, tap))
        found.append(pairs)
    return found
