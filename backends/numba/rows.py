"""What the micro-kernel is pointed at: the addresses of a box's rows, and a phase's segments.

A box has, per dimension and batch first, a first q and a length. `small` and `large` are the bytes
from one position to the next on either side, in the same order.
"""

from opspec.backends.numba.jit import part
from opspec.backends.numba.memory import load_int, store_int
from opspec.backends.numba.micro_kernel import SEGMENT_BYTES
from opspec.backends.numba.plan import BOXES, EXTENT, FIRST_TASK, Room


@part()
def room_at(room, memory):
    """Return the addresses of the pieces of a thread's memory."""
    return Room(
        room.reads + memory,
        room.writes + memory,
        room.segments + memory,
        room.rows + memory,
        room.source + memory,
        room.result + memory,
        room.panel + memory,
    )


@part()
def block_bounds(plan, block):
    """Return a block's runs, and the whole block as a box."""
    d, h, w = plan.blocks[block, 0], plan.blocks[block, 1], plan.blocks[block, 2]
    depth, height, width = plan.depth.runs, plan.height.runs, plan.width.runs
    box = (
        (0, plan.small.extents[0]),
        (depth[d, 0], depth[d, 1]),
        (height[h, 0], height[h, 1]),
        (width[w, 0], width[w, 1]),
    )
    return (d, h, w), box


@part()
def box_bounds(plan, task):
    """Return the runs of the block that a task lies in, and its box."""
    low, high = 0, plan.blocks.shape[0]
    while high - low > 1:
        middle = (low + high) // 2
        if plan.blocks[middle, FIRST_TASK] <= task:
            low = middle
        else:
            high = middle
    runs, (n, d, h, w) = block_bounds(plan, low)
    row = plan.blocks[low]
    rest, at_w = divmod(task - row[FIRST_TASK], row[BOXES + 3])
    rest, at_h = divmod(rest, row[BOXES + 2])
    at_n, at_d = divmod(rest, row[BOXES + 1])
    box = (
        _piece(n, at_n, row[EXTENT]),
        _piece(d, at_d, row[EXTENT + 1]),
        _piece(h, at_h, row[EXTENT + 2]),
        _piece(w, at_w, row[EXTENT + 3]),
    )
    return runs, box


@part()
def _piece(whole, number, extent):
    first = number * extent
    return whole[0] + first, min(extent, whole[1] - first)


@part()
def write_rows(box, first, count, padded, read, small, written, large, shape, room):
    """Write where `count` positions of a box, from its `first` on, read and write.

    `shape` has the gaps and strides of q. `read` and `written` are the addresses for q = 0. The
    last position is repeated up to `padded`: a tile that is not full then computes it again, and
    stores the same bits once more.
    """
    strides, gaps = shape.strides, shape.gaps
    (n0, _), (d0, bd), (h0, bh), (w0, bw) = box
    rest, w = divmod(first, bw)
    rest, h = divmod(rest, bh)
    n, d = divmod(rest, bd)
    done = 0
    while done < count:
        row = read + (n0 + n) * small[0] + (d0 + d) * gaps[0] * small[1]
        row += (h0 + h) * gaps[1] * small[2] + (w0 + w) * gaps[2] * small[3]
        place = written + (n0 + n) * large[0] + (d0 + d) * strides[0] * large[1]
        place += (h0 + h) * strides[1] * large[2] + (w0 + w) * strides[2] * large[3]
        stop = done + min(bw - w, count - done)
        while done < stop:
            store_int(room.reads + 8 * done, row)
            store_int(room.writes + 8 * done, place)
            row += gaps[2] * small[3]
            place += strides[2] * large[3]
            done += 1
        w = 0
        h += 1
        if h == bh:
            h = 0
            d += 1
            if d == bd:
                d = 0
                n += 1
    for extra in range(count, padded):
        store_int(room.reads + 8 * extra, load_int(room.reads + 8 * (count - 1)))
        store_int(room.writes + 8 * extra, load_int(room.writes + 8 * (count - 1)))


@part()
def write_segments(depth, height, width, channels, small, segments):
    """Write one phase's segments and return how many; each dimension is (lags, first, count).

    Lags that follow each other along the width are one segment: their channels are neighbours both
    in the source and in the panel.
    """
    lags_d, first_d, count_d = depth
    lags_h, first_h, count_h = height
    lags_w, first_w, count_w = width
    written = segments
    for i in range(first_d, first_d + count_d):
        for j in range(first_h, first_h + count_h):
            row = -lags_d[i] * small[1] - lags_h[j] * small[2]
            line = (i * lags_h.size + j) * lags_w.size
            k = first_w
            while k < first_w + count_w:
                start = k
                k += 1
                while k < first_w + count_w and lags_w[k] == lags_w[k - 1] - 1:
                    k += 1
                store_int(written, row - lags_w[start] * small[3])
                store_int(written + 8, (line + start) * channels)
                store_int(written + 16, (k - start) * channels)
                written += SEGMENT_BYTES
    return (written - segments) // SEGMENT_BYTES
