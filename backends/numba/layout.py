"""A problem, laid out for the gathering kernel: once per shape, then remembered.

Sizes of boxes depend on the number of threads; no result does, because each is one sum in one
order.
"""

from dataclasses import replace
from functools import lru_cache
from math import prod

import numpy as np

from opspec.backends.numba.axis import Axis, axis, joinable
from opspec.backends.numba.boxes import blocks_of, box_limits
from opspec.backends.numba.lines import STORED_BYTES, sum_bytes
from opspec.backends.numba.micro_kernel import SEGMENT_BYTES
from opspec.backends.numba.plan import (
    Dimension,
    Layout,
    Plan,
    Room,
    Shape,
    Table,
    side,
    table,
    turn_of,
)
from opspec.backends.numba.target import Target
from opspec.geometry import ConvGeometry, Window

CACHE_LINE = 64
CHUNK = 480
MOST_AHEAD = 1024
LARGE_FILTER, FEW_POSITIONS, LARGEST_PANEL = 2 * 2**20, 4096, 2**20
LARGE_RESULT = 4 * 2**20

Axes = tuple[Axis, Axis, Axis]


@lru_cache(maxsize=256)
def gather_layout(
    geometry: ConvGeometry, target: Target, threads: int, multiply_adds: int
) -> Layout:
    """Lay a problem out for `threads` threads. Some tap of it lands inside."""
    size = sum_bytes(geometry.dtype)
    panel_lanes = target.vectors * target.lanes(size)
    windows = _merged(geometry.windows)
    joined = joins(windows[2], geometry.in_channels, panel_lanes)
    axes = (axis(windows[0]), axis(windows[1]), axis(windows[2], joined=joined))
    lanes = geometry.in_channels * (windows[2].stride if joined else 1)
    panels = -(-lanes // panel_lanes)
    groups, order = _groups(axes)
    line = -(-lanes // target.lanes(size)) * target.vector_bytes * geometry.out_channels
    packed = (
        int(groups[-1, -1, -1] + axes[0].sizes[-1] * axes[1].sizes[-1] * axes[2].sizes[-1]) * line
    )
    largest = prod(max(a.sizes) for a in axes) * geometry.out_channels * panel_lanes * size
    staged = geometry.data_format == "NCDHW" or STORED_BYTES[geometry.dtype] != size
    stationary = (
        not staged
        and packed > LARGE_FILTER
        and geometry.batch * prod(w.output for w in windows) <= FEW_POSITIONS
        and largest <= LARGEST_PANEL
        and len(order) * panels >= 2 * threads
    )
    limits = box_limits(geometry, windows, size, threads, staged=staged)
    blocks, source_positions = blocks_of(axes, geometry.batch, limits)
    tasks = len(order) * panels if stationary else int(blocks[-1, -1] + blocks[-1, 7:11].prod())
    shape = Shape(
        channels=geometry.out_channels,
        made=geometry.in_channels,
        lanes=lanes,
        taps=(windows[1].kernel, windows[2].kernel),
        strides=(windows[0].stride, windows[1].stride, windows[2].stride),
        before=(windows[0].before, windows[1].before, windows[2].before),
        least_lag=(axes[0].least_lag, axes[1].least_lag, axes[2].least_lag),
        most_lag=(axes[0].most_lag, axes[1].most_lag, axes[2].most_lag),
        chunk=CHUNK,
        around=int(not staged and _stores_whole_lines(geometry, windows[2], size)),
        ahead=0 if staged else min(geometry.out_channels * size, MOST_AHEAD),
        cleared=int(not all(a.complete for a in axes)),
        panels=panels * stationary,
    )
    room, room_bytes = _room(
        axes,
        target,
        staged * source_positions * geometry.out_channels * size,
        staged * limits.positions * prod(shape.strides) * geometry.in_channels * size,
        stationary * largest,
    )
    stored = STORED_BYTES[geometry.dtype]
    small = side(geometry, geometry.out_channels, tuple(w.output for w in windows), stored)
    large = side(geometry, geometry.in_channels, tuple(w.input for w in windows), stored)
    plan = Plan(
        tasks,
        shape,
        small,
        large,
        _dimension(axes[0], 1),
        _dimension(axes[1], 1),
        _dimension(axes[2], geometry.in_channels),
        blocks,
        table(groups * (line * (not stationary))),
        order,
        room,
    )
    turn = turn_of(tasks, multiply_adds)
    cleared = bool(shape.cleared and not staged)
    return Layout(plan, room_bytes, turn, 0 if stationary else packed, cleared)


def _merged(windows: tuple[Window, Window, Window]) -> tuple[Window, Window, Window]:
    """Join dimensions in which nothing happens into the width, so that lines are long."""
    depth, height, width = windows
    one = Window(1, 1, 1, 1, 1, 0, 0)
    if _is_plain(width) and _is_plain(height):
        length = height.input * width.input
        height, width = one, replace(width, input=length, output=length)
        if _is_plain(depth):
            length *= depth.input
            depth, width = one, replace(width, input=length, output=length)
    return depth, height, width


def _is_plain(window: Window) -> bool:
    return (window.kernel, window.stride, window.before) == (1, 1, 0)


def joins(width: Window, made: int, panel_lanes: int) -> bool:
    """Whether residues of the width go side by side: where fewer lanes are left empty."""
    apart = width.stride * -(-made // panel_lanes)
    together = -(-made * width.stride // panel_lanes)
    return together < apart and joinable(width)


def _groups(axes: Axes) -> tuple[Table, Table]:
    """Return how many taps come before each group, and the groups with the most taps first."""
    taps = [np.array(a.sizes, np.int64) for a in axes]
    sizes = np.einsum("d,h,w->dhw", *taps)
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]]).reshape(sizes.shape)
    order = np.argsort(-sizes, axis=None, kind="stable")
    return table(before), table(np.stack(np.unravel_index(order, sizes.shape), 1))


def _stores_whole_lines(geometry: ConvGeometry, width: Window, size: int) -> bool:
    """Whether each row of a tile is whole cache lines of a result too large for the cache."""
    pixel = geometry.in_channels * size
    steps = (width.before * pixel, width.input * pixel, width.stride * pixel)
    return (
        geometry.batch * prod(w.input for w in geometry.windows) * pixel > LARGE_RESULT
        and pixel % CACHE_LINE == 0
        and all(step % CACHE_LINE == 0 for step in steps)
    )


def _dimension(taken: Axis, made: int) -> Dimension:
    """Return the tables of an axis of whose residues each makes `made` lanes."""
    phases = len(taken.phases)
    longest = max(taken.sizes)
    parts = np.zeros((len(taken.runs), phases, 4), np.int64)
    lags = np.zeros((phases, longest), np.int64)
    taps = np.zeros((phases, max(len(p.residues) for p in taken.phases), longest), np.int64)
    for place, phase in enumerate(taken.phases):
        lags[place, : len(phase.lags)] = phase.lags
        taps[place, : len(phase.residues), : len(phase.lags)] = phase.taps
        for number, run in enumerate(taken.runs):
            part = run.parts[place]
            lanes = (part.residues.start * made, part.residues.stop * made)
            parts[number, place] = (*lanes, part.lags.start, len(part.lags))
    return Dimension(
        runs=table([(run.first, run.length) for run in taken.runs]),
        parts=parts,
        lags=lags,
        taps=taps,
        counts=table(taken.sizes),
        residues=table([phase.residues[0] for phase in taken.phases]),
    )


def _room(axes: Axes, target: Target, source: int, result: int, panel: int) -> tuple[Room, int]:
    """Divide a thread's memory into pieces that begin at cache lines."""
    addresses = 8 * (CHUNK + target.rows)
    segments = SEGMENT_BYTES * prod(max(a.sizes) for a in axes)
    rows = 8 * target.lanes(4)
    pieces = (addresses, addresses, segments, rows, source, result, panel)
    starts = np.cumsum([0, *(-(-piece // CACHE_LINE) * CACHE_LINE for piece in pieces)])
    return Room(*map(int, starts[:-1])), int(starts[-1])
