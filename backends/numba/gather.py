"""The main kernel: each result is gathered once, as a sum in registers over all its taps.

The dimensions are taken apart as `axis` says. One run per dimension makes a block: in each phase
all its positions q have the same taps, so that

    result[q * stride + residue - before, c] =
        sum over lags, j of source[q * gap - lag, j] * filter[tap of the lag, c, j]

is a matrix product without bounds checks: positions x (lags and source channels) x made channels.
The gap is 1, but in the convolution itself, where it is the stride, and q is the result's index.
Its rows need not be copied together, because the micro-kernel takes an address per row; its columns
are the packed panels. A task is a box of a block, in all phases and panels; or, where the filter is
large and positions are few, one panel of one phase in all blocks, which the task packs for itself.

Operands that are not channels last in the type of the sums are copied through boxes (`stage`).
"""

from typing import Any

from opspec.backends.numba.jit import inlined, kernel, part
from opspec.backends.numba.lines import STORED_BYTES, sum_bytes
from opspec.backends.numba.memory import CACHE_LINE, load_int, prefetch, take
from opspec.backends.numba.micro_kernel import AROUND_CACHE, LANES, WHOLE, tile
from opspec.backends.numba.pack import group_packer
from opspec.backends.numba.rows import (
    block_bounds,
    box_bounds,
    room_at,
    write_rows,
    write_segments,
)
from opspec.backends.numba.stage import staged_computer
from opspec.backends.numba.target import Target


def panel_multiplier(target: Target, size: int) -> Any:
    """Return the function that computes all tiles of one panel."""
    lanes = target.lanes(size)
    panel_lanes = target.vectors * lanes
    tile_rows = target.rows
    wide_tile = tile(target, size, target.vectors)
    narrow_tile = tile(target, size, 1)

    @inlined
    def multiply(room, count, offset, panel, segments, bounds, around, ahead):
        """`bounds` is the first lane stored, the last but one, and how many the panel has.

        `ahead` is how many bytes of the rows after next to ask for.
        """
        first, stop, existing = bounds
        narrow = existing <= lanes
        how = LANES
        if first == 0 and stop == (lanes if narrow else panel_lanes):
            how = AROUND_CACHE if around else WHOLE
        for row in range(0, count, tile_rows):
            if ahead:
                for later in range(row + 2 * tile_rows, min(row + 3 * tile_rows, count)):
                    for line in range(0, ahead, CACHE_LINE):
                        prefetch(load_int(room.reads + 8 * later) + line)
            reads, writes = room.reads + 8 * row, room.writes + 8 * row
            at = (reads, writes, offset, panel, room.segments)
            if narrow:
                narrow_tile(*at, segments, how, first, stop)
            else:
                wide_tile(*at, segments, how, first, stop)

    return multiply


def box_computer(target: Target, size: int) -> Any:
    """Return the function that computes a box: some phases and panels of it."""
    panel_lanes = target.vectors * target.lanes(size)
    tile_rows = target.rows
    multiply = panel_multiplier(target, size)

    @part(target, size)
    def phase_lags(dimension, run, phase):
        part = dimension.parts[run, phase]
        return dimension.lags[phase, : dimension.counts[phase]], part[2], part[3]

    @inlined
    def compute_phase(plan, runs, phase, panels, packed, count, large, room, segments, hints):
        """All panels from panels[0] to panels[1] of one phase, for `count` rows."""
        a, b, c = phase
        around, ahead = hints
        depth, height, width = plan.depth, plan.height, plan.width
        offset = depth.residues[a] * large[1] + height.residues[b] * large[2]
        offset += width.residues[c] * large[3]
        lines = depth.counts[a] * height.counts[b] * width.counts[c] * plan.shape.channels
        first, stop = width.parts[runs[2], c, 0], width.parts[runs[2], c, 1]
        for p in range(panels[0], panels[1]):
            lane = p * panel_lanes
            low, high = max(first - lane, 0), min(stop - lane, panel_lanes)
            if low < high:
                panel = packed + p * lines * panel_lanes * size
                lanes = (low, high, plan.shape.lanes - lane)
                place = offset + lane * size
                multiply(room, count, place, panel, segments, lanes, around, ahead)
                ahead = 0

    @inlined
    def compute_box(plan, runs, box, phases, panels, packed, read, small, written, large, room):
        """`phases` is which of each dimension, as first and stop; so is `panels`."""
        shape = plan.shape
        positions = box[0][1] * box[1][1] * box[2][1] * box[3][1]
        for begin in range(0, positions, shape.chunk):
            count = min(shape.chunk, positions - begin)
            padded = count + tile_rows
            write_rows(box, begin, count, padded, read, small, written, large, shape, room)
            around = shape.around and written % CACHE_LINE == 0
            ahead = shape.ahead
            for a in range(phases[0][0], phases[0][1]):
                for b in range(phases[1][0], phases[1][1]):
                    if not plan.depth.parts[runs[0], a, 1] or not plan.height.parts[runs[1], b, 1]:
                        continue
                    for c in range(phases[2][0], phases[2][1]):
                        found = write_segments(
                            phase_lags(plan.depth, runs[0], a),
                            phase_lags(plan.height, runs[1], b),
                            phase_lags(plan.width, runs[2], c),
                            shape.channels,
                            small,
                            room.segments,
                        )
                        if found or not shape.cleared:
                            group = packed + plan.groups[a, b, c]
                            phase, hints = (a, b, c), (around, ahead)
                            compute_phase(
                                plan, runs, phase, panels, group, count, large, room, found, hints
                            )
                            ahead = 0

    return compute_box


def gather_kernel(target: Target, stored: str, channels_first: bool) -> Any:
    """Return the kernel for a target, a stored dtype and a layout; `layout` makes its plan."""
    size = sum_bytes(stored)
    staged = channels_first or STORED_BYTES[stored] != size
    panel_lanes = target.vectors * target.lanes(size)
    compute_box = box_computer(target, size)
    compute_staged = staged_computer(target, stored, channels_first, compute_box)
    pack_group = group_packer(target, stored)

    @kernel(target, stored, channels_first)
    def gather(plan, source, result, filter, counter, memory, turn):
        """Take up to `turn` tasks; return whether there may be more.

        `filter` is the packed panels, or the filter itself where tasks pack for themselves.
        """
        room = room_at(plan.room, memory)
        shape = plan.shape
        small, large = plan.small.steps[:4], plan.large.steps[:4]
        origin = result - shape.before[0] * large[1]
        origin -= shape.before[1] * large[2] + shape.before[2] * large[3]
        whole = (
            (0, plan.depth.counts.size),
            (0, plan.height.counts.size),
            (0, plan.width.counts.size),
        )
        every = (0, (shape.lanes + panel_lanes - 1) // panel_lanes)
        for _ in range(turn):
            task = take(counter)
            if task >= plan.tasks:
                return False
            if staged:
                runs, box = box_bounds(plan, task)
                compute_staged(plan, runs, box, whole, every, filter.values, source, result, room)
                continue
            first, stop, packed, phases, panels = task, task + 1, filter.values, whole, every
            if shape.panels:
                group, p = divmod(task, shape.panels)
                a, b, c = plan.order[group, 0], plan.order[group, 1], plan.order[group, 2]
                lines = pack_group(plan, filter, (a, b, c), p, room.panel, room.rows)
                packed = room.panel - p * lines * panel_lanes * size
                phases, panels = ((a, a + 1), (b, b + 1), (c, c + 1)), (p, p + 1)
                first, stop = 0, plan.blocks.shape[0]
            for number in range(first, stop):
                runs, box = block_bounds(plan, number) if shape.panels else box_bounds(plan, number)
                compute_box(
                    plan, runs, box, phases, panels, packed, source, small, origin, large, room
                )
        return True

    return gather
