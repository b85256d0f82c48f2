"""The kernel for few positions and many source channels: the filter is read as it lies.

What is summed is the same as in `gather`, in the same blocks and phases:

    result[q * stride + residue - before, c] =
        sum over lags, j of source[q - lag, j] * filter[tap of the lag, c, j]

but lanes are source channels instead of made ones, which is how the filter lies in memory (see
`dot_tile`). A task is some made channels of one phase, in all blocks: each element of the filter is
brought from memory once, and used for all positions while it is in the cache.
"""

from typing import Any

from opspec.backends.numba.dot_tile import MADE, dot_tile, rows_of
from opspec.backends.numba.jit import kernel, part
from opspec.backends.numba.lines import STORED_BYTES
from opspec.backends.numba.memory import CACHE_LINE, load_int, prefetch, store_int, take
from opspec.backends.numba.micro_kernel import SEGMENT_BYTES
from opspec.backends.numba.rows import block_bounds, room_at, write_rows
from opspec.backends.numba.target import Target


@part()
def write_taps(depth, height, width, runs, phase, shape, small, row_bytes, segments):
    """Write a segment for each tap of a phase that is inside, and return how many."""
    (a, b, c), (d, h, w) = phase, runs
    part_d, part_h, part_w = depth.parts[d, a], height.parts[h, b], width.parts[w, c]
    written = segments
    for i in range(part_d[2], part_d[2] + part_d[3]):
        for j in range(part_h[2], part_h[2] + part_h[3]):
            for k in range(part_w[2], part_w[2] + part_w[3]):
                row = -depth.lags[a, i] * small[1] - height.lags[b, j] * small[2]
                tap = depth.taps[a, 0, i] * shape.taps[0] + height.taps[b, 0, j]
                tap = tap * shape.taps[1] + width.taps[c, 0, k]
                store_int(written, row - width.lags[c, k] * small[3])
                store_int(written + 8, tap * shape.made * row_bytes)
                written += SEGMENT_BYTES
    return (written - segments) // SEGMENT_BYTES


def dots_kernel(target: Target, stored: str) -> Any:
    """Return the kernel; `dots_layout` makes its plan. Only the filter is in the stored type."""
    add_tap = dot_tile(target, stored)
    tile_rows = rows_of(target)
    from_bytes, position_bytes = STORED_BYTES[stored], MADE * target.vector_bytes

    @part(target, stored)
    def multiply(shape, room, count, found, offset, filter, first, stop, size):
        """Compute the made channels from `first` up to `stop` of `count` rows."""
        row_bytes = shape.channels * from_bytes
        for made in range(first, stop, MADE):
            existing = min(stop - made, MADE)
            lines_bytes = MADE * row_bytes
            share = lines_bytes * tile_rows // count + CACHE_LINE
            for segment in range(found):
                tap = room.segments + segment * SEGMENT_BYTES
                at_row, lines = load_int(tap), filter + load_int(tap + 8) + made * row_bytes
                # Ask for the lines after these meanwhile, a share with each tile.
                later = room.segments + (segment + 1) % found * SEGMENT_BYTES
                after = filter + load_int(later + 8)
                after += (made + MADE if segment + 1 == found else made) * row_bytes
                asked = after
                for row in range(0, count, tile_rows):
                    enough = min(asked + share, after + lines_bytes)
                    while asked < enough:
                        prefetch(asked)
                        asked += CACHE_LINE
                    add_tap(
                        room.reads + 8 * row,
                        at_row,
                        lines,
                        row_bytes,
                        existing,
                        shape.channels,
                        room.result + row * position_bytes,
                        segment == 0,
                        segment + 1 == found,
                        room.writes + 8 * row,
                        offset + made * size,
                    )

    @kernel(target, stored)
    def dots(plan, source, result, filter, counter, memory, turn):
        """Take up to `turn` tasks; return whether there may be more."""
        room = room_at(plan.room, memory)
        shape = plan.shape
        depth, height, width = plan.depth, plan.height, plan.width
        small, large = plan.small.steps[:4], plan.large.steps[:4]
        size = plan.large.steps[4]
        origin = result - shape.before[0] * large[1]
        origin -= shape.before[1] * large[2] + shape.before[2] * large[3]
        for _ in range(turn):
            task = take(counter)
            if task >= plan.tasks:
                return False
            group, piece = divmod(task, shape.panels)
            a, b, c = plan.order[group, 0], plan.order[group, 1], plan.order[group, 2]
            first = piece * shape.lanes
            stop = min(first + shape.lanes, shape.made)
            offset = depth.residues[a] * large[1] + height.residues[b] * large[2]
            offset += width.residues[c] * large[3]
            for block in range(plan.blocks.shape[0]):
                runs, box = block_bounds(plan, block)
                d, h, w = runs
                inside = depth.parts[d, a, 1] and height.parts[h, b, 1] and width.parts[w, c, 1]
                if not inside:
                    continue
                found = write_taps(
                    depth,
                    height,
                    width,
                    runs,
                    (a, b, c),
                    shape,
                    small,
                    shape.channels * from_bytes,
                    room.segments,
                )
                if not found:
                    continue
                positions = box[0][1] * box[1][1] * box[2][1] * box[3][1]
                for begin in range(0, positions, shape.chunk):
                    count = min(shape.chunk, positions - begin)
                    padded = count + tile_rows
                    write_rows(box, begin, count, padded, source, small, origin, large, shape, room)
                    multiply(shape, room, count, found, offset, filter.values, first, stop, size)
        return True

    return dots
