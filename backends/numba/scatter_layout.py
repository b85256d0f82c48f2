"""A problem, laid out for the scattering kernel: once per shape, then remembered."""

from functools import lru_cache
from math import isqrt, prod

import numpy as np

from opspec.backends.numba.layout import CACHE_LINE, MOST_AHEAD, joins
from opspec.backends.numba.lines import STORED_BYTES, sum_bytes
from opspec.backends.numba.micro_kernel import SEGMENT_BYTES
from opspec.backends.numba.plan import (
    Layout,
    ScatterPlan,
    ScatterRoom,
    ScatterShape,
    Three,
    side,
    turn_of,
)
from opspec.backends.numba.target import Target
from opspec.geometry import ConvGeometry

RESULT_BOX, SPREAD, STAGED = 256 * 2**10, 32 * 2**10, 128 * 2**10
LEAST_CHUNK, MOST_CHUNK, FEW_POSITIONS = 48, 96, 48
TASKS_PER_THREAD = 4
SPREAD_ROWS = 2**19
# In cycles per position of the source, as measured on one CPU; only their ratios matter. A single
# vector of sums has too few chains to hide the latency of all its multiply-adds.
MULTIPLY_ADDS_PER_CYCLE = 2
NARROW = 0.35
PER_VECTOR = 3.0
PER_ADDITION = 2.5


def scatters(geometry: ConvGeometry, target: Target) -> bool:
    """Whether scattering is expected to take less time than gathering, and fits into its boxes."""
    width = geometry.windows[2]
    size = sum_bytes(geometry.dtype)
    row_bytes = _row_bytes(geometry, target)
    if row_bytes * target.rows > SPREAD_ROWS or _line_bytes(geometry) > RESULT_BOX:
        return False
    lanes = target.lanes(size)
    taps = prod(w.kernel for w in geometry.windows)
    joined = width.stride if joins(width, geometry.in_channels, target.vectors * lanes) else 1
    gathered = geometry.in_channels * joined
    vectors = -(-gathered // lanes)
    alone = vectors % target.vectors == 1
    gathering = (
        taps / joined * geometry.out_channels * (vectors + alone * NARROW) / MULTIPLY_ADDS_PER_CYCLE
    )
    vectors = row_bytes // target.vector_bytes
    piece = geometry.in_channels * width.kernel
    additions = taps // width.kernel * -(-piece // lanes)
    scattering = vectors * (geometry.out_channels / MULTIPLY_ADDS_PER_CYCLE + PER_VECTOR)
    return scattering + additions * PER_ADDITION < gathering


def _row_bytes(geometry: ConvGeometry, target: Target) -> int:
    """Return the bytes of what one position spreads."""
    lanes = prod(w.kernel for w in geometry.windows) * geometry.in_channels
    return -(-lanes // target.lanes(sum_bytes(geometry.dtype))) * target.vector_bytes


def _line_bytes(geometry: ConvGeometry) -> int:
    """Return the bytes of a line of a box, which is as long as the taps reach."""
    width = geometry.windows[2]
    span = (width.output - 1) * width.stride + (width.kernel - 1) * width.dilation + 1
    longest = max(span, width.input + width.before)
    return longest * geometry.in_channels * sum_bytes(geometry.dtype)


@lru_cache(maxsize=256)
def scatter_layout(
    geometry: ConvGeometry, target: Target, threads: int, multiply_adds: int
) -> Layout:
    """Lay a problem out for `threads` threads. Some tap of it lands inside."""
    size = sum_bytes(geometry.dtype)
    stored = STORED_BYTES[geometry.dtype]
    staged = geometry.data_format == "NCDHW" or stored != size
    row_bytes = _row_bytes(geometry, target)
    line = _line_bytes(geometry)
    n, d, h = _box(geometry, threads)
    chunk = min(max(SPREAD // row_bytes, LEAST_CHUNK), MOST_CHUNK, SPREAD_ROWS // row_bytes)
    chunk = max(chunk // target.rows, 1) * target.rows
    if staged:
        chunk = min(chunk, max(STAGED // (geometry.out_channels * size), 1))
    box_steps = (d * h * line, h * line, line, geometry.in_channels * size)
    room, room_bytes = _room(
        addresses=8 * (chunk + target.rows),
        rows=8 * target.vectors * target.lanes(4),
        source=staged * chunk * geometry.out_channels * size,
        spread=(chunk + target.rows) * row_bytes,
        result=n * box_steps[0],
    )
    ahead = 0 if staged else min(geometry.out_channels * size, MOST_AHEAD)
    windows = geometry.windows
    boxes = (-(-geometry.batch // n), -(-windows[0].input // d), -(-windows[1].input // h))
    plan = ScatterPlan(
        tasks=prod(boxes),
        shape=_shape(geometry, chunk, ahead),
        small=side(geometry, geometry.out_channels, tuple(w.output for w in windows), stored),
        large=side(geometry, geometry.in_channels, tuple(w.input for w in windows), stored),
        box=(n, d, h),
        boxes=boxes,
        box_steps=box_steps,
        row_bytes=row_bytes,
        room=room,
    )
    return Layout(
        plan,
        room_bytes,
        turn=turn_of(plan.tasks, multiply_adds),
        packed_bytes=row_bytes * geometry.out_channels,
        cleared=False,
    )


def _box(geometry: ConvGeometry, threads: int) -> Three:
    """Return a box's extents in batch, depth and height: square, and enough boxes for all threads.

    The extent in the batch decides which positions are spread together, and so the order of sums.
    It must not depend on the threads.
    """
    depth, height, width = geometry.windows
    n = min(geometry.batch, -(-FEW_POSITIONS // width.output))
    most = max(RESULT_BOX // _line_bytes(geometry) // n, 1)
    all_lines = geometry.batch * depth.input * height.input
    lines = min(most, -(-all_lines // (TASKS_PER_THREAD * threads * n)))
    h = min(height.input, isqrt(lines - 1) + 1)
    d = min(depth.input, max(lines // h, 1))
    return n, d, min(height.input, max(lines // d, 1))


def _shape(geometry: ConvGeometry, chunk: int, ahead: int) -> ScatterShape:
    depth, height, width = geometry.windows
    dilated = width.dilation > 1 and width.kernel > 1
    return ScatterShape(
        channels=geometry.out_channels,
        made=geometry.in_channels,
        taps=(depth.kernel, height.kernel, width.kernel),
        strides=(depth.stride, height.stride, width.stride),
        before=(depth.before, height.before, width.before),
        dilations=(depth.dilation, height.dilation, width.dilation),
        lanes=prod(w.kernel for w in geometry.windows) * geometry.in_channels,
        pieces=width.kernel if dilated else 1,
        piece=geometry.in_channels * (1 if dilated else width.kernel),
        apart=1 if dilated else -(-width.kernel // width.stride),
        chunk=chunk,
        ahead=ahead,
    )


def _room(
    addresses: int, rows: int, source: int, spread: int, result: int
) -> tuple[ScatterRoom, int]:
    pieces = (addresses, addresses, SEGMENT_BYTES, rows, source, spread, result)
    starts = np.cumsum([0, *(-(-piece // CACHE_LINE) * CACHE_LINE for piece in pieces)])
    return ScatterRoom(*map(int, starts[:-1])), int(starts[-1])
