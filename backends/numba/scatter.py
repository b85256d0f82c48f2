"""The kernel for few made channels: all taps of a position at once, added where they land.

A panel of made channels would be nearly empty, so the lanes of a panel are taps and made channels
together. Position o of the source spreads

    spread[tap, c] = sum over j of source[o, j] * filter[tap, c, j]

which is a matrix product without padding. What neighbouring taps of the width make lies side by
side both in `spread` and, if the width is not dilated, in the result: such a piece is added in one
go at

    result[o * stride + tap * dilation - before, c] += spread[tap, c]

A task is a box of the result in a thread's own memory, wide enough that no piece sticks out along
the width. For each line of the source only the panels are computed that have a tap inside the box.
Pieces are added in the order of the source's positions, whatever the boxes are.
"""

from typing import Any

from opspec.backends.numba.jit import inlined, kernel, part
from opspec.backends.numba.lines import STORED_BYTES, sum_bytes
from opspec.backends.numba.memory import CACHE_LINE, clear, load_int, prefetch, store_int, take
from opspec.backends.numba.micro_kernel import WHOLE, tile
from opspec.backends.numba.pieces import piece_adder
from opspec.backends.numba.plan import ScatterRoom
from opspec.backends.numba.stage import line_copier
from opspec.backends.numba.target import Target


@part()
def room_at(room, memory):
    """Return the addresses of the pieces of a thread's memory."""
    return ScatterRoom(
        room.reads + memory,
        room.writes + memory,
        room.segments + memory,
        room.rows + memory,
        room.source + memory,
        room.spread + memory,
        room.result + memory,
    )


@part()
def landing_range(first, stop, position, shape, axis):
    """Return which taps bring a source position between `first` and `stop` of the result."""
    start = position * shape.strides[axis] - shape.before[axis]
    step = shape.dilations[axis]
    low = max((first - start + step - 1) // step, 0)
    high = min((stop - 1 - start) // step + 1, shape.taps[axis])
    return low, high


@part()
def source_range(first, stop, shape, axis, extent):
    """Return from which source position up to which one a tap may land in the range."""
    stride, before = shape.strides[axis], shape.before[axis]
    span = (shape.taps[axis] - 1) * shape.dilations[axis]
    low = max((first + before - span + stride - 1) // stride, 0)
    return low, min((stop - 1 + before) // stride + 1, extent)


def spreader(target: Target, size: int) -> Any:
    """Return the function that computes the panels in a range of lanes for `count` rows."""
    lanes = target.lanes(size)
    panel_lanes = target.vectors * lanes
    tile_rows = target.rows
    wide_tile = tile(target, size, target.vectors)
    narrow_tile = tile(target, size, 1)

    @inlined
    def spread(room, count, packed, channels, first, stop, existing, ahead):
        """`first` and `stop` are lanes, of `existing` ones."""
        for p in range(first // panel_lanes, (stop + panel_lanes - 1) // panel_lanes):
            lane = p * panel_lanes
            panel = packed + lane * channels * size
            for row in range(0, count, tile_rows):
                if ahead and lane <= first:
                    for later in range(row + 2 * tile_rows, min(row + 3 * tile_rows, count)):
                        for line in range(0, ahead, CACHE_LINE):
                            prefetch(load_int(room.reads + 8 * later) + line)
                at = (
                    room.reads + 8 * row,
                    room.writes + 8 * row,
                    lane * size,
                    panel,
                    room.segments,
                )
                if existing - lane <= lanes:
                    narrow_tile(*at, 1, WHOLE, 0, 0)
                else:
                    wide_tile(*at, 1, WHOLE, 0, 0)

    return spread


def scatter_kernel(target: Target, stored: str, channels_first: bool) -> Any:
    """Return the kernel; `scatter_layout` makes its plan."""
    size = sum_bytes(stored)
    staged = channels_first or STORED_BYTES[stored] != size
    tile_rows = target.rows
    spread = spreader(target, size)
    add_run = piece_adder(target, size)
    line_in = line_copier(target, stored, channels_first, outwards=False)
    line_out = line_copier(target, stored, channels_first, outwards=True)

    @inlined
    def read_rows(plan, source, n0, line, begin, count, room):
        """Write the addresses of `count` positions of a line of several batch entries."""
        shape, steps = plan.shape, plan.small.steps
        width = plan.small.extents[3]
        row = shape.channels * size
        done, last = 0, 0
        while done < count:
            n, w = divmod(begin + done, width)
            length = min(width - w, count - done)
            read = source + (n0 + n) * steps[0] + line + w * steps[3]
            if staged:
                line_in(read, room.source + done * row, length, shape.channels, steps[4], room.rows)
                read = room.source + done * row
            for place in range(length):
                last = read + place * row
                store_int(room.reads + 8 * (done + place), last)
            done += length
        for extra in range(count, (count + tile_rows - 1) // tile_rows * tile_rows):
            store_int(room.reads + 8 * extra, last)

    @inlined
    def add_pieces(plan, begin, count, depth, height, place, room):
        """Add what `count` positions spread by taps of the ranges `depth` and `height`.

        `place` is where tap 0 of depth and of height lands for batch entry 0.
        """
        shape, steps = plan.shape, plan.box_steps
        width = plan.small.extents[3]
        piece_bytes = shape.piece * size
        done = 0
        while done < count:
            n, w = divmod(begin + done, width)
            length = min(width - w, count - done)
            first = place + n * steps[0] + w * shape.strides[2] * steps[3]
            for d in range(depth[0], depth[1]):
                for h in range(height[0], height[1]):
                    to = (
                        first
                        + d * shape.dilations[0] * steps[1]
                        + h * shape.dilations[1] * steps[2]
                    )
                    made = (d * shape.taps[1] + h) * shape.pieces * piece_bytes
                    made += room.spread + done * plan.row_bytes
                    for _ in range(shape.pieces):
                        add_run(
                            made,
                            to,
                            plan.row_bytes,
                            shape.strides[2] * steps[3],
                            length,
                            shape.apart,
                            shape.piece,
                        )
                        made += piece_bytes
                        to += shape.dilations[2] * steps[3]
            done += length

    @inlined
    def fill_box(plan, source, packed, box, room):
        """Compute all that lands in a box: first and stop in batch, depth and height."""
        shape, steps = plan.shape, plan.box_steps
        (n0, n1), (d0, d1), (h0, h1) = box
        positions = (n1 - n0) * plan.small.extents[3]
        lines_d = source_range(d0, d1, shape, 0, plan.small.extents[1])
        lines_h = source_range(h0, h1, shape, 1, plan.small.extents[2])
        for d in range(lines_d[0], lines_d[1]):
            depth = landing_range(d0, d1, d, shape, 0)
            for h in range(lines_h[0], lines_h[1]):
                height = landing_range(h0, h1, h, shape, 1)
                if depth[0] >= depth[1] or height[0] >= height[1]:
                    continue
                first = (depth[0] * shape.taps[1] + height[0]) * shape.pieces * shape.piece
                stop = ((depth[1] - 1) * shape.taps[1] + height[1]) * shape.pieces * shape.piece
                place = room.result + (d * shape.strides[0] - shape.before[0] - d0) * steps[1]
                place += (h * shape.strides[1] - shape.before[1] - h0) * steps[2]
                line = d * plan.small.steps[1] + h * plan.small.steps[2]
                for begin in range(0, positions, shape.chunk):
                    count = min(shape.chunk, positions - begin)
                    read_rows(plan, source, n0, line, begin, count, room)
                    spread(
                        room, count, packed, shape.channels, first, stop, shape.lanes, shape.ahead
                    )
                    add_pieces(plan, begin, count, depth, height, place, room)

    @kernel(target, stored, channels_first)
    def scatter(plan, source, result, filter, counter, memory, turn):
        """Take up to `turn` tasks; return whether there may be more."""
        room = room_at(plan.room, memory)
        shape, extents, steps = plan.shape, plan.large.extents, plan.box_steps
        store_int(room.segments, 0)
        store_int(room.segments + 8, 0)
        store_int(room.segments + 16, shape.channels)
        for index in range(shape.chunk + tile_rows):
            store_int(room.writes + 8 * index, room.spread + index * plan.row_bytes)
        for _ in range(turn):
            task = take(counter)
            if task >= plan.tasks:
                return False
            rest, h = divmod(task, plan.boxes[2])
            n, d = divmod(rest, plan.boxes[1])
            box = (
                (n * plan.box[0], min((n + 1) * plan.box[0], extents[0])),
                (d * plan.box[1], min((d + 1) * plan.box[1], extents[1])),
                (h * plan.box[2], min((h + 1) * plan.box[2], extents[2])),
            )
            clear(room.result, (box[0][1] - box[0][0]) * steps[0])
            fill_box(plan, source, filter.values, box, room)
            for n in range(box[0][0], box[0][1]):
                for d in range(box[1][0], box[1][1]):
                    for h in range(box[2][0], box[2][1]):
                        made = room.result + (n - box[0][0]) * steps[0] + (d - box[1][0]) * steps[1]
                        made += (h - box[2][0]) * steps[2] + shape.before[2] * steps[3]
                        to = result + n * plan.large.steps[0] + d * plan.large.steps[1]
                        to += h * plan.large.steps[2]
                        line_out(to, made, extents[3], shape.made, plan.large.steps[4], room.rows)
        return True

    return scatter
