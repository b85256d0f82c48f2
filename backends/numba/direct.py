"""The kernel for tiny problems: plain loops, for which nothing has to be laid out or packed.

    result[n, o * stride + tap * dilation - before, c] +=
        sum over j of source[n, o, j] * filter[tap, c, j]

Below some thousand products the other kernels' preparations cost more than all the arithmetic.
"""

from typing import Any, NamedTuple

from opspec.backends.numba.jit import kernel, part
from opspec.backends.numba.lines import sum_bytes
from opspec.backends.numba.memory import clear, sums_at
from opspec.backends.numba.plan import side
from opspec.geometry import ConvGeometry

Three = tuple[int, int, int]


class Loops(NamedTuple):
    """What the loops run over, and how the arrays are walked.

    Parameters
    ----------
    batch, channels, made
        Extents.
    small, large, taps, strides, before, dilations
        Per dimension; see `Window`.
    source_steps, result_steps
        Bytes from one index to the next: batch, depth, height, width, channel.
    """

    batch: int
    channels: int
    made: int
    small: Three
    large: Three
    taps: Three
    strides: Three
    before: Three
    dilations: Three
    source_steps: tuple[int, int, int, int, int]
    result_steps: tuple[int, int, int, int, int]


def direct_loops(geometry: ConvGeometry) -> Loops:
    """Return the loops of a problem."""
    windows = geometry.windows
    size = sum_bytes(geometry.dtype)
    small = tuple(w.output for w in windows)
    large = tuple(w.input for w in windows)
    return Loops(
        geometry.batch,
        geometry.out_channels,
        geometry.in_channels,
        small,
        large,
        tuple(w.kernel for w in windows),
        tuple(w.stride for w in windows),
        tuple(w.before for w in windows),
        tuple(w.dilation for w in windows),
        side(geometry, geometry.out_channels, small, size).steps,
        side(geometry, geometry.in_channels, large, size).steps,
    )


def direct_kernel(size: int) -> Any:
    """Return the kernel for sums of `size` bytes."""
    load_sum, store_sum = sums_at(size)

    @part(size)
    def add_tap(loops, read, filter, written):  # type: ignore[no-untyped-def]
        """Add what one tap makes of one position, in all batch entries and channels."""
        for n in range(loops.batch):
            row = filter
            place = written + n * loops.result_steps[0]
            for _ in range(loops.made):
                total = load_sum(place)
                factor = read + n * loops.source_steps[0]
                for _ in range(loops.channels):
                    total += load_sum(factor) * load_sum(row)
                    factor += loops.source_steps[4]
                    row += size
                store_sum(place, total)
                place += loops.result_steps[4]

    @part(size)
    def add_line(loops, read, filter, written):  # type: ignore[no-untyped-def]
        """Add what the taps along the width make of a line of positions."""
        tap_bytes = loops.made * loops.channels * size
        for w in range(loops.small[2]):
            for tap in range(loops.taps[2]):
                to = w * loops.strides[2] + tap * loops.dilations[2] - loops.before[2]
                if to >= 0 and to < loops.large[2]:
                    add_tap(
                        loops,
                        read + w * loops.source_steps[3],
                        filter + tap * tap_bytes,
                        written + to * loops.result_steps[3],
                    )

    @kernel(size)
    def direct(loops, source, filter, result):  # type: ignore[no-untyped-def]
        """Compute `result` from contiguous arrays."""
        read, written = source.ctypes.data, result.ctypes.data
        clear(written, result.size * size)
        line_bytes = loops.taps[2] * loops.made * loops.channels * size
        for d in range(loops.small[0]):
            for a in range(loops.taps[0]):
                to_d = d * loops.strides[0] + a * loops.dilations[0] - loops.before[0]
                if to_d < 0 or to_d >= loops.large[0]:
                    continue
                for h in range(loops.small[1]):
                    for b in range(loops.taps[1]):
                        to_h = h * loops.strides[1] + b * loops.dilations[1] - loops.before[1]
                        if to_h < 0 or to_h >= loops.large[1]:
                            continue
                        add_line(
                            loops,
                            read + d * loops.source_steps[1] + h * loops.source_steps[2],
                            filter.ctypes.data + (a * loops.taps[1] + b) * line_bytes,
                            written + to_d * loops.result_steps[1] + to_h * loops.result_steps[2],
                        )
        # Named once more, so that Numba keeps the arrays until here.
        return source.size + filter.size + result.size

    return direct
