"""The filter, rearranged into panels that the micro-kernel reads from first to last.

A group is what one phase of each dimension needs: taps in the order of the segments, lags falling.
A panel holds `width` made channels (lanes) of a group:

    panel[tap of depth][tap of height][lag along width][source channel][lane]

Lanes count the made channels, of one residue after the other where the width's residues are joined.
Lanes that do not exist read zeros and are never stored.
"""

from functools import cache
from typing import Any, NamedTuple

from opspec.backends.numba.jit import kernel, part
from opspec.backends.numba.lines import STORED_BYTES, element, square, sum_bytes
from opspec.backends.numba.memory import load_int, store_int, take
from opspec.backends.numba.target import Target


class Filter(NamedTuple):
    """Addresses: of the filter's values, and of as many zeros as there are source channels."""

    values: int
    zeros: int


@cache
def lines_packer(target: Target, stored: str) -> Any:
    """Return the function that packs one vector of lanes, for all source channels.

    It takes the address of the lanes' addresses, the channels, the bytes from one line of the panel
    to the next and the address of the first.
    """
    transpose = square(target, stored, outwards=False)
    copy = element(target, stored, outwards=False)
    lanes = target.lanes(sum_bytes(stored))
    from_bytes, to_bytes = STORED_BYTES[stored], sum_bytes(stored)

    @part(target, stored)
    def pack_lines(rows, channels, step, written):
        whole = channels // lanes * lanes
        for channel in range(0, whole, lanes):
            transpose(rows, channel * from_bytes, written + channel * step, step)
        for channel in range(whole, channels):
            for lane in range(lanes):
                place = written + channel * step + lane * to_bytes
                copy(load_int(rows + 8 * lane) + channel * from_bytes, place)

    return pack_lines


@cache
def group_packer(target: Target, stored: str) -> Any:
    """Return the function that packs one panel of a group."""
    pack_lines = lines_packer(target, stored)
    lanes = target.lanes(sum_bytes(stored))
    from_bytes, to_bytes = STORED_BYTES[stored], sum_bytes(stored)
    target_vectors = target.vectors

    @part(target, stored)
    def point_at(plan, filter, taps, first, rows):
        """Write the addresses of the filter's rows for `lanes` lanes from `first` on."""
        shape = plan.shape
        d, h, width = taps
        for lane in range(lanes):
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
        channels = plan.shape.channels
        first = p * target_vectors * lanes
        vectors = min(target_vectors, (plan.shape.lanes - first + lanes - 1) // lanes)
        step = vectors * lanes * to_bytes
        lines = 0
        for i in range(depth.counts[a]):
            for j in range(height.counts[b]):
                for k in range(width.counts[c]):
                    taps = (depth.taps[a, 0, i], height.taps[b, 0, j], width.taps[c, :, k])
                    for vector in range(vectors):
                        point_at(plan, filter, taps, first + vector * lanes, rows)
                        place = written + lines * step + vector * lanes * to_bytes
                        pack_lines(rows, channels, step, place)
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
            step = min(vectors, (existing - first + lanes - 1) // lanes) * lanes * to_bytes
            for vector in range(step // (lanes * to_bytes)):
                for lane in range(lanes):
                    index = first + vector * lanes + lane
                    row = filter.values + index * channels * from_bytes
                    store_int(memory + 8 * lane, row if index < existing else filter.zeros)
                place = packed + first * channels * to_bytes + vector * lanes * to_bytes
                pack_lines(memory, channels, step, place)
        return True

    return pack_matrix
