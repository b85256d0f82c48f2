"""A problem, laid out for the gathering kernel: once per shape, then remembered.

Sizes of boxes depend on the number of threads; no result does, because each is one sum in one
order.
"""

from functools import lru_cache
from math import prod
from typing import NamedTuple

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
MANY_TAPS = 8
LARGE_RESULT = 4 * 2**20

Axes = tuple[Axis, Axis, Axis]


@lru_cache(maxsize=256)
def gather_layout(
    geometry: ConvGeometry, target: Target, threads: int, multiply_adds: int
) -> Layout:
    """Lay a problem out for `threads` threads. Some tap of it lands inside."""
    size = sum_bytes(geometry.dtype)
    stored = STORED_BYTES[geometry.dtype]
    staged = _is_staged(geometry)
    windows = geometry.windows
    axes = _axes(geometry, target)
    panels = _panels(geometry, axes, target, size)
    stationary = (
        not staged
        and _repays_keeping(geometry, panels)
        and panels.largest <= LARGEST_PANEL
        and len(panels.order) * panels.per_group >= 2 * threads
    )
    limits = box_limits(geometry, windows, size, threads, staged=staged)
    blocks, boxes, source_positions = blocks_of(axes, geometry.batch, limits)
    shape = _shape(geometry, axes, size, panels, staged=staged, stationary=stationary)
    room, room_bytes = room_for(
        axes,
        target,
        source=staged * source_positions * geometry.out_channels * size,
        result=staged * limits.positions * prod(shape.strides) * geometry.in_channels * size,
        panel=stationary * panels.largest,
    )
    plan = Plan(
        tasks=len(panels.order) * panels.per_group if stationary else boxes,
        shape=shape,
        small=side(geometry, geometry.out_channels, tuple(w.output for w in windows), stored),
        large=side(geometry, geometry.in_channels, tuple(w.input for w in windows), stored),
        depth=dimension(axes[0], 1),
        height=dimension(axes[1], 1),
        width=dimension(axes[2], geometry.in_channels),
        blocks=blocks,
        groups=table(panels.starts * (not stationary)),
        order=panels.order,
        room=room,
    )
    return Layout(
        plan,
        room_bytes,
        turn=turn_of(plan.tasks, multiply_adds),
        packed_bytes=0 if stationary else panels.all_bytes,
        cleared=bool(shape.cleared and not staged),
    )


class _Panels(NamedTuple):
    """The packed filter: lanes, panels per group, and where groups begin, in bytes."""

    lanes: int
    per_group: int
    starts: Table
    order: Table
    largest: int
    all_bytes: int


def _panels(geometry: ConvGeometry, axes: Axes, target: Target, size: int) -> _Panels:
    lanes = geometry.in_channels * len(axes[2].phases[0].residues)
    vectors = -(-lanes // target.lanes(size))
    sizes = np.einsum("d,h,w->dhw", *(np.array(a.sizes, np.int64) for a in axes))
    order = np.argsort(-sizes, axis=None, kind="stable")
    group_bytes = sizes.ravel() * geometry.out_channels * vectors * target.vector_bytes
    ends = np.cumsum(group_bytes)
    widest = min(vectors, target.vectors) * target.vector_bytes
    return _Panels(
        lanes,
        -(-vectors // target.vectors),
        table((ends - group_bytes).reshape(sizes.shape)),
        table(np.stack(np.unravel_index(order, sizes.shape), 1)),
        int(sizes.max()) * geometry.out_channels * widest,
        int(ends[-1]),
    )


def panels_overflow(geometry: ConvGeometry, target: Target) -> bool:
    """Whether panels come from memory again for each of many small boxes.

    A task that keeps one panel in its cache and meets all positions with it would avoid that, but
    the panel is too large, or boxes are copied. Phases of few taps do not suffer.
    """
    axes = _axes(geometry, target)
    panels = _panels(geometry, axes, target, sum_bytes(geometry.dtype))
    most_taps = prod(max(a.sizes) for a in axes)
    # Widening bfloat16 anew at each use takes two instructions, and longer than fetching.
    copied = _is_staged(geometry) and geometry.dtype != "bfloat16"
    unkept = copied or panels.largest > LARGEST_PANEL
    return unkept and most_taps >= MANY_TAPS and _repays_keeping(geometry, panels)


def _repays_keeping(geometry: ConvGeometry, panels: _Panels) -> bool:
    """Whether panels are too many for the cache, and positions too few to hide their way to it."""
    positions = geometry.batch * prod(w.output for w in geometry.windows)
    return panels.all_bytes > LARGE_FILTER and positions <= FEW_POSITIONS


def _is_staged(geometry: ConvGeometry) -> bool:
    """Whether boxes are copied on their way in and out."""
    converted = STORED_BYTES[geometry.dtype] != sum_bytes(geometry.dtype)
    return converted or geometry.data_format == "NCDHW"


def _axes(geometry: ConvGeometry, target: Target) -> Axes:
    depth, height, width = geometry.windows
    panel_lanes = target.vectors * target.lanes(sum_bytes(geometry.dtype))
    joined = joins(width, geometry.in_channels, panel_lanes)
    return axis(depth), axis(height), axis(width, joined=joined)


def _shape(
    geometry: ConvGeometry,
    axes: Axes,
    size: int,
    panels: _Panels,
    *,
    staged: bool,
    stationary: bool,
) -> Shape:
    depth, height, width = (a.window for a in axes)
    return Shape(
        channels=geometry.out_channels,
        made=geometry.in_channels,
        lanes=panels.lanes,
        taps=(height.kernel, width.kernel),
        strides=(depth.stride, height.stride, width.stride),
        before=(depth.before, height.before, width.before),
        least_lag=(axes[0].least_lag, axes[1].least_lag, axes[2].least_lag),
        most_lag=(axes[0].most_lag, axes[1].most_lag, axes[2].most_lag),
        chunk=CHUNK,
        around=int(not staged and _stores_whole_lines(geometry, width, size)),
        ahead=0 if staged else min(geometry.out_channels * size, MOST_AHEAD),
        cleared=int(not all(a.complete for a in axes)),
        panels=panels.per_group * stationary,
    )


def joins(width: Window, made: int, panel_lanes: int) -> bool:
    """Whether residues of the width go side by side: where fewer lanes are left empty."""
    apart = width.stride * -(-made // panel_lanes)
    together = -(-made * width.stride // panel_lanes)
    return together < apart and joinable(width)


def _stores_whole_lines(geometry: ConvGeometry, width: Window, size: int) -> bool:
    """Whether each row of a tile is whole cache lines of a result too large for the cache."""
    pixel = geometry.in_channels * size
    steps = (width.before * pixel, width.input * pixel, width.stride * pixel)
    return (
        geometry.batch * prod(w.input for w in geometry.windows) * pixel > LARGE_RESULT
        and pixel % CACHE_LINE == 0
        and all(step % CACHE_LINE == 0 for step in steps)
    )


def dimension(taken: Axis, made: int) -> Dimension:
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


def room_for(
    axes: Axes, target: Target, source: int = 0, result: int = 0, panel: int = 0
) -> tuple[Room, int]:
    """Divide a thread's memory into pieces that begin at cache lines."""
    addresses = 8 * (CHUNK + target.rows)
    segments = SEGMENT_BYTES * prod(max(a.sizes) for a in axes)
    rows = 8 * target.vectors * target.lanes(4)
    pieces = (addresses, addresses, segments, rows, source, result, panel)
    starts = np.cumsum([0, *(-(-piece // CACHE_LINE) * CACHE_LINE for piece in pieces)])
    return Room(*map(int, starts[:-1])), int(starts[-1])
