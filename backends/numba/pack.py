"""The filter, rearranged into panels that the micro-kernel reads from first to last.

A group is what one phase of each dimension needs: taps in the order of the segments, lags falling.
A panel holds `width` made channels (lanes) of a group:

    panel[tap of depth][tap of height][lag along width][source channel][lane]

Lanes count the made channels, of one residue after the other where the width's residues are joined.
Lanes that do not exist read zeros and are never stored. In the convolution itself the filter's last
axis is the made channels, so that the lanes of a line are neighbours; else it is the source's.
"""

from functools import cache
from typing import Any, NamedTuple

from opspec.backends.numba.jit import kernel, part
from opspec.backends.numba.lines import STORED_BYTES, element, run, square, sum_bytes
from opspec.backends.numba.memory import clear, load_int, store_int, take
from opspec.backends.numba.target import Target


class Filter(NamedTuple):
    """Addresses: of the filter's values, and of as many zeros as there are source channels."""

    values: int
    zeros: int


@cache
def lines_packer(target: Target, stored: str) -> Any:
    """Return the function that packs some vectors of lanes, for all source channels.

    It takes the address of the lanes' addresses, how many vectors, the channels, and the address of
    the panel's first line.
    """
    transpose = square(target, stored, outwards=False)
    copy = element(target, stored, outwards=False)
    lanes = target.lanes(sum_bytes(stored))
    from_bytes, to_bytes = STORED_BYTES[stored], sum_bytes(stored)
    vector_bytes = target.vector_bytes

    @part(target, stored)
    def pack_lines(rows, vectors, channels, written):
        step = vectors * vector_bytes
        whole = channels // lanes * lanes
        for channel in range(0, whole, lanes):
            place = written + channel * step
            for vector in range(vectors):
                lane = vector * lanes
                transpose(rows + 8 * lane, channel * from_bytes, place + lane * to_bytes, step)
        for channel in range(whole, channels):
            for lane in range(vectors * lanes):
                place = written + channel * step + lane * to_bytes
                copy(load_int(rows + 8 * lane) + channel * from_bytes, place)

    return pack_lines


@cache
def straight_packer(target: Target, stored: str) -> Any:
    """Return the function that packs lines whose lanes are neighbours in the filter.

    It takes the address of the first line in the filter and the bytes to the next one, how many
    lanes of it exist and how many a line of the panel has, the channels, and where to write.
    """
    copy = run(target, stored, outwards=False)
    to_bytes = sum_bytes(stored)

    @part(target, stored)
    def pack_straight(read, step, existing, lanes, channels, written):
        if existing < lanes:
            clear(written, channels * lanes * to_bytes)
        for channel in range(channels):
            copy(read + channel * step, written + channel * lanes * to_bytes, existing)

    return pack_straight


@cache
def group_packer(target: Target, stored: str) -> Any:
    """Return the function that packs one panel of a group."""
    pack_lines = lines_packer(target, stored)
    pack_straight = straight_packer(target, stored)
    lanes = target.lanes(sum_bytes(stored))
    from_bytes, vector_bytes = STORED_BYTES[stored], target.vector_bytes
    target_vectors = target.vectors

    @part(target, stored)
    def point_at(plan, filter, taps, first, count, rows):
        """Write the addresses of the filter's rows for `count` lanes from `first` on."""
        shape = plan.shape
        d, h, width = taps
        for lane in range(count):
            residue, made = divmod(first + lane, shape.made)
            row = filter.zeros
            if residue < width.size:
                tap = (d * shape.taps[0] + h) * shape.taps[1] + width[residue]
                row = filter.values + (tap * shape.made + made) * shape.channels * from_bytes
            store_int(rows + 8 * lane, row)

    @part(target, stored)
    def pack(plan, filter, group, p, written, rows):
        """Write panel `p` of a group; return its lines. `rows` has room for addresses."""
        a, b, c = group
        depth, height, width = plan.depth, plan.height, plan.width
        shape = plan.shape
        channels = shape.channels
        first = p * target_vectors * lanes
        vectors = min(target_vectors, (shape.lanes - first + lanes - 1) // lanes)
        existing = min(shape.lanes - first, vectors * lanes)
        lines = 0
        for i in range(depth.counts[a]):
            for j in range(height.counts[b]):
                for k in range(width.counts[c]):
                    taps = (depth.taps[a, 0, i], height.taps[b, 0, j], width.taps[c, :, k])
                    place = written + lines * vectors * vector_bytes
                    if shape.straight:
                        tap = (taps[0] * shape.taps[0] + taps[1]) * shape.taps[1] + taps[2][0]
                        read = filter.values + (tap * channels * shape.made + first) * from_bytes
                        step = shape.made * from_bytes
                        pack_straight(read, step, existing, vectors * lanes, channels, place)
                    else:
                        point_at(plan, filter, taps, first, vectors * lanes, rows)
                        pack_lines(rows, vectors, channels, place)
                    lines += channels
        return lines

    return pack


def packing_kernel(target: Target, stored: str) -> Any:
    """Return the kernel that packs the panels of all groups."""
    pack = group_packer(target, stored)
    panel_lanes = target.vectors * target.lanes(sum_bytes(stored))
    size = sum_bytes(stored)

    @kernel(target, stored)
    def pack_all(plan, filter, packed, counter, memory, turn):
        """Take up to `turn` panels; return whether there may be more."""
        panels = (plan.shape.lanes + panel_lanes - 1) // panel_lanes
        for _ in range(turn):
            task = take(counter)
            if task >= panels * plan.order.shape[0]:
                return False
            group, p = divmod(task, panels)
            a, b, c = plan.order[group, 0], plan.order[group, 1], plan.order[group, 2]
            lines = plan.depth.counts[a] * plan.height.counts[b] * plan.width.counts[c]
            lines *= plan.shape.channels
            written = packed + plan.groups[a, b, c] + p * lines * panel_lanes * size
            pack(plan, filter, (a, b, c), p, written, memory)
        return True

    return pack_all


def matrix_packing_kernel(target: Target, stored: str) -> Any:
    """Return the kernel that packs the filter as one matrix: taps and made channels are lanes."""
    pack_lines = lines_packer(target, stored)
    lanes = target.lanes(sum_bytes(stored))
    from_bytes, to_bytes = STORED_BYTES[stored], sum_bytes(stored)
    vectors = target.vectors

    @kernel(target, stored)
    def pack_matrix(plan, filter, packed, counter, memory, turn):
        """Take up to `turn` panels; return whether there may be more."""
        channels, existing = plan.shape.channels, plan.shape.lanes
        for _ in range(turn):
            first = take(counter) * lanes * vectors
            if first >= existing:
                return False
            some = min(vectors, (existing - first + lanes - 1) // lanes)
            for lane in range(some * lanes):
                row = filter.values + (first + lane) * channels * from_bytes
                store_int(memory + 8 * lane, row if first + lane < existing else filter.zeros)
            pack_lines(memory, some, channels, packed + first * channels * to_bytes)
        return True

    return pack_matrix
