"""A box of either side in a thread's own memory: channels last, in the type of the sums.

Where the operands are channels first or half as wide as the sums, a box of the source is copied in
before it is computed on, and a box of the result copied out after, converted and transposed on the
way. That bounds the memory by the box, not by the arrays.
"""

from typing import Any

from opspec.backends.numba.jit import inlined, part
from opspec.backends.numba.lines import STORED_BYTES, element, run, square, sum_bytes
from opspec.backends.numba.memory import clear, store_int
from opspec.backends.numba.target import Target


def line_copier(target: Target, stored: str, channels_first: bool, *, outwards: bool) -> Any:
    """Return the function that copies one line: neighbours along the width, with all channels.

    It takes the address of the line in the array and in the box, positions, channels, the bytes
    from one channel to the next where channels come first, and the address of room for addresses.
    """
    lanes = target.lanes(sum_bytes(stored))
    array_bytes, box_bytes = STORED_BYTES[stored], sum_bytes(stored)
    copy = run(target, stored, outwards=outwards)
    copy_one = element(target, stored, outwards=outwards)
    transpose = square(target, stored, outwards=outwards)

    @part(target, stored, channels_first, outwards)
    def copy_line(array, box, positions, channels, channel_step, rows):
        if outwards:
            copy(box, array, positions * channels)
        else:
            copy(array, box, positions * channels)

    @part(target, stored, channels_first, outwards)
    def transpose_in(array, box, positions, channels, channel_step, rows):
        step = channels * box_bytes
        whole = positions // lanes * lanes
        for channel in range(0, channels, lanes):
            count = min(lanes, channels - channel)
            first = array + channel * channel_step
            done = 0
            if count == lanes:
                done = whole
                for lane in range(lanes):
                    store_int(rows + 8 * lane, first + lane * channel_step)
                for place in range(0, whole, lanes):
                    transpose(
                        rows, place * array_bytes, box + place * step + channel * box_bytes, step
                    )
            for lane in range(count):
                for place in range(done, positions):
                    copy_one(
                        first + lane * channel_step + place * array_bytes,
                        box + place * step + (channel + lane) * box_bytes,
                    )

    @part(target, stored, channels_first, outwards)
    def transpose_out(array, box, positions, channels, channel_step, rows):
        step = channels * box_bytes
        whole = channels // lanes * lanes
        for place in range(0, positions, lanes):
            count = min(lanes, positions - place)
            first = box + place * step
            done = 0
            if count == lanes:
                done = whole
                for lane in range(lanes):
                    store_int(rows + 8 * lane, first + lane * step)
                for channel in range(0, whole, lanes):
                    transpose(
                        rows,
                        channel * box_bytes,
                        array + channel * channel_step + place * array_bytes,
                        channel_step,
                    )
            for channel in range(done, channels):
                for lane in range(count):
                    copy_one(
                        first + lane * step + channel * box_bytes,
                        array + channel * channel_step + (place + lane) * array_bytes,
                    )

    if not channels_first:
        return copy_line
    return transpose_out if outwards else transpose_in


def box_copier(copy_line: Any) -> Any:
    """Return the function that copies all lines of a box."""

    @inlined
    def copy_box(array, steps, bounds, box, box_steps, channels, rows):
        """`bounds` is the first index and the stop in each dimension of the array."""
        (n0, n1), (d0, d1), (h0, h1), (w0, w1) = bounds
        for n in range(n0, n1):
            for d in range(d0, d1):
                for h in range(h0, h1):
                    line = array + n * steps[0] + d * steps[1] + h * steps[2] + w0 * steps[3]
                    place = box + n * box_steps[0] + d * box_steps[1] + h * box_steps[2]
                    place += w0 * box_steps[3]
                    copy_line(line, place, w1 - w0, channels, steps[4], rows)

    return copy_box


@part()
def steps_of(bounds, pixel):
    """Return the bytes from one index of a box to the next, and from index 0 to the first one."""
    line = (bounds[3][1] - bounds[3][0]) * pixel
    plane = (bounds[2][1] - bounds[2][0]) * line
    volume = (bounds[1][1] - bounds[1][0]) * plane
    first = bounds[0][0] * volume + bounds[1][0] * plane + bounds[2][0] * line
    return (volume, plane, line, pixel), first + bounds[3][0] * pixel


def staged_computer(target: Target, stored: str, channels_first: bool, compute_box: Any) -> Any:
    """Return the function that copies a box in, computes it and copies it out."""
    copy_in = box_copier(line_copier(target, stored, channels_first, outwards=False))
    copy_out = box_copier(line_copier(target, stored, channels_first, outwards=True))
    size = sum_bytes(stored)

    @part(target, stored, channels_first)
    def read_bounds(plan, box, axis):
        first, length = box[axis + 1]
        gap = plan.shape.gaps[axis]
        low = max(first * gap - plan.shape.most_lag[axis], 0)
        stop = (first + length - 1) * gap - plan.shape.least_lag[axis] + 1
        return low, max(min(stop, plan.small.extents[axis + 1]), low)

    @part(target, stored, channels_first)
    def made_bounds(plan, box, axis):
        first = box[axis + 1][0] * plan.shape.strides[axis] - plan.shape.before[axis]
        return first, first + box[axis + 1][1] * plan.shape.strides[axis]

    @part(target, stored, channels_first)
    def inside(plan, bounds, axis):
        return max(bounds[0], 0), min(bounds[1], plan.large.extents[axis + 1])

    @inlined
    def compute(plan, runs, box, phases, panels, packed, source, result, room):
        shape = plan.shape
        batch = (box[0][0], box[0][0] + box[0][1])
        read = (
            batch,
            read_bounds(plan, box, 0),
            read_bounds(plan, box, 1),
            read_bounds(plan, box, 2),
        )
        small, skipped = steps_of(read, shape.channels * size)
        read_from = room.source - skipped
        copy_in(source, plan.small.steps, read, read_from, small, shape.channels, room.rows)
        d, h, w = made_bounds(plan, box, 0), made_bounds(plan, box, 1), made_bounds(plan, box, 2)
        large, skipped = steps_of((batch, d, h, w), shape.made * size)
        write_to = room.result - skipped
        if shape.cleared:
            clear(room.result, box[0][1] * large[0])
        origin = write_to - shape.before[0] * large[1] - shape.before[1] * large[2]
        origin -= shape.before[2] * large[3]
        compute_box(plan, runs, box, phases, panels, packed, read_from, small, origin, large, room)
        made = (batch, inside(plan, d, 0), inside(plan, h, 1), inside(plan, w, 2))
        copy_out(result, plan.large.steps, made, write_to, large, shape.made, room.rows)

    return compute
