"""The kernel for tiny problems: plain loops, for which nothing has to be laid out or shared.

Position o of the source spreads its channels through the taps of one line of the filter, which land
side by side in the result if the width is not dilated. Such a piece is made and added in one go:

    result[o * stride + tap * dilation - before, c] +=
        sum over j of source[o, j] * filter[tap, c, j]

for all taps of the width and all c together, for which the filter is first turned to [j][tap, c].
Below some thousand products the other kernels' preparations cost more than all the arithmetic.
"""

from typing import Any

import numpy as np

from opspec.backends.numba.jit import kernel, part
from opspec.backends.numba.memory import clear, sums_at
from opspec.backends.numba.pieces import piece_spreader
from opspec.backends.numba.plan import Table, table
from opspec.backends.numba.target import Target
from opspec.geometry import ConvGeometry


def direct_numbers(geometry: ConvGeometry) -> Table:
    """Return what the kernel is told: extents, then the windows. One table costs a call least."""
    windows = [
        (w.output, w.input, w.kernel, w.stride, w.before, w.dilation) for w in geometry.windows
    ]
    extents = (geometry.batch, geometry.out_channels, geometry.in_channels)
    return table([*extents, *(number for window in windows for number in window)])


def direct_kernel(target: Target, size: int) -> Any:
    """Return the kernel for a target and sums of `size` bytes; all its arrays are channels last."""
    load_sum, store_sum = sums_at(size)
    spread = piece_spreader(target, size)

    @part(target, size)
    def turn(filter, turned, lines, taps, made, channels):
        """Write each line's taps x made x channels as channels x taps x made."""
        lanes = taps * made
        for line in range(lines):
            for lane in range(lanes):
                for j in range(channels):
                    at = turned + ((line * channels + j) * lanes + lane) * size
                    store_sum(at, load_sum(filter + ((line * lanes + lane) * channels + j) * size))

    @part(target, size)
    def add_line(width, channels, made, read, panel, written):
        """Add what a line of positions makes of a line of taps."""
        output, input_, taps, stride, before, dilation = width
        line_bytes = taps * made * size
        pieces = taps if dilation > 1 else 1
        length = taps // pieces
        for w in range(output):
            for piece in range(pieces):
                to = w * stride - before + piece * dilation
                first, stop = max(-to, 0), min(length, input_ - to)
                if first < stop:
                    spread(
                        written + (to + first) * made * size,
                        read + w * channels * size,
                        panel + (piece + first) * made * size,
                        line_bytes,
                        channels,
                        (stop - first) * made,
                    )

    @kernel(target, size)
    def direct(numbers, source, filter, result):
        """Compute `result` from contiguous arrays."""
        batch, channels, made = numbers[0], numbers[1], numbers[2]
        small_d, large_d, taps_d, stride_d, before_d, dilation_d = numbers[3:9]
        small_h, large_h, taps_h, stride_h, before_h, dilation_h = numbers[9:15]
        output, input_, taps, stride, before, dilation = numbers[15:21]
        width = (output, input_, taps, stride, before, dilation)
        room = np.empty(filter.size, filter.dtype)
        turn(filter.ctypes.data, room.ctypes.data, taps_d * taps_h, taps, made, channels)
        read_line, made_line = output * channels * size, input_ * made * size
        panel_bytes = taps * made * channels * size
        clear(result.ctypes.data, result.size * size)
        for n in range(batch):
            for d in range(small_d):
                for a in range(taps_d):
                    to_d = d * stride_d + a * dilation_d - before_d
                    if to_d < 0 or to_d >= large_d:
                        continue
                    for h in range(small_h):
                        read = source.ctypes.data + ((n * small_d + d) * small_h + h) * read_line
                        for b in range(taps_h):
                            to_h = h * stride_h + b * dilation_h - before_h
                            if to_h < 0 or to_h >= large_h:
                                continue
                            made_at = ((n * large_d + to_d) * large_h + to_h) * made_line
                            panel = room.ctypes.data + (a * taps_h + b) * panel_bytes
                            add_line(
                                width, channels, made, read, panel, result.ctypes.data + made_at
                            )
        # Named once more, so that Numba keeps the room until here.
        return room.size

    return direct
