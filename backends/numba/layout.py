"""A problem, laid out for the gathering kernel: once per shape, then remembered.

Sizes of boxes depend on the number of threads; no result does, because each is one sum in one
order.
"""

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from opspec.backends.numba.axis import Axis, axis, forward_axis, joinable
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
    geometry: ConvGeometry,
    target: Target,
    threads: int,
    multiply_adds: int,
    *,
    forward: bool = False,
) -> Layout:
    """Lay a problem out for `threads` threads. Some tap of it lands inside.

    Parameters
    ----------
    geometry, target, threads, multiply_adds
        The problem, what it is compiled for, how many share it, its products.
    forward
        Whether it is the convolution itself, and not its gradient by the input.
    """
    size = sum_bytes(geometry.dtype)
    stored = STORED_BYTES[geometry.dtype]
    staged = _is_staged(geometry)
    axes = _axes(geometry, target, forward=forward)
    channels, made = _channels(geometry, forward=forward)
    panels = _panels(axes, channels, made, target, size)
    positions = geometry.batch * prod(a.result if forward else a.source for a in axes)
    stationary = (
        not staged
        and _repays_keeping(positions, panels)
        and panels.largest <= LARGEST_PANEL
        and len(panels.order) * panels.per_group >= 2 * threads
    )
    by_one = made * size * prod(a.stride for a in axes)
    limits = box_limits(positions, channels * size, by_one, threads, staged=staged)
    blocks, boxes, source_positions = blocks_of(axes, geometry.batch, limits)
    around = not staged and _stores_whole_lines(geometry.batch, axes, made, size)
    shape = _shape(
        axes,
        channels,
        made,
        panels,
        around=around,
        ahead=0 if staged else min(channels * size, MOST_AHEAD),
        stationary=stationary,
        straight=forward,
    )
    room, room_bytes = room_for(
        axes,
        target,
        source=staged * source_positions * channels * size,
        result=staged * limits.positions * by_one,
        panel=stationary * panels.largest,
    )
    plan = Plan(
        tasks=len(panels.order) * panels.per_group if stationary else boxes,
        shape=shape,
        small=side(geometry, channels, tuple(a.source for a in axes), stored),
        large=side(geometry, made, tuple(a.result for a in axes), stored),
        depth=dimension(axes[0], 1),
        height=dimension(axes[1], 1),
        width=dimension(axes[2], made),
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


def forward_layout(
    geometry: ConvGeometry, target: Target, threads: int, multiply_adds: int
) -> Layout:
    """Lay a convolution itself out for `threads` threads."""
    return gather_layout(geometry, target, threads, multiply_adds, forward=True)


class _Panels(NamedTuple):
    """The packed filter: lanes, panels per group, and where groups begin, in bytes."""

    lanes: int
    per_group: int
    starts: Table
    order: Table
    largest: int
    all_bytes: int


def _panels(axes: Axes, channels: int, made: int, target: Target, size: int) -> _Panels:
    lanes = made * len(axes[2].phases[0].residues)
    vectors = -(-lanes // target.lanes(size))
    sizes = np.einsum("d,h,w->dhw", *(np.array(a.sizes, np.int64) for a in axes))
    order = np.argsort(-sizes, axis=None, kind="stable")
    group_bytes = sizes.ravel() * channels * vectors * target.vector_bytes
    ends = np.cumsum(group_bytes)
    widest = min(vectors, target.vectors) * target.vector_bytes
    return _Panels(
        lanes,
        -(-vectors // target.vectors),
        table((ends - group_bytes).reshape(sizes.shape)),
        table(np.stack(np.unravel_index(order, sizes.shape), 1)),
        int(sizes.max()) * channels * widest,
        int(ends[-1]),
    )


def panels_overflow(geometry: ConvGeometry, target: Target) -> bool:
    """Whether panels come from memory again for each of many small boxes.

    A task that keeps one panel in its cache and meets all positions with it would avoid that, but
    the panel is too large, or boxes are copied. Phases of few taps do not suffer.
    """
    axes = _axes(geometry, target, forward=False)
    channels, made = _channels(geometry, forward=False)
    panels = _panels(axes, channels, made, target, sum_bytes(geometry.dtype))
    positions = geometry.batch * prod(a.source for a in axes)
    most_taps = prod(max(a.sizes) for a in axes)
    # Widening bfloat16 anew at each use takes two instructions, and longer than fetching.
    copied = _is_staged(geometry) and geometry.dtype != "bfloat16"
    unkept = copied or panels.largest > LARGEST_PANEL
    return unkept and most_taps >= MANY_TAPS and _repays_keeping(positions, panels)


def _repays_keeping(positions: int, panels: _Panels) -> bool:
    """Whether panels are too many for the cache, and positions too few to hide their way to it."""
    return panels.all_bytes > LARGE_FILTER and positions <= FEW_POSITIONS


def _is_staged(geometry: ConvGeometry) -> bool:
    """Whether boxes are copied on their way in and out."""
    converted = STORED_BYTES[geometry.dtype] != sum_bytes(geometry.dtype)
    return converted or geometry.data_format == "NCDHW"


def _channels(geometry: ConvGeometry, *, forward: bool) -> tuple[int, int]:
    """Return the channels that are summed over and those that are made."""
    both = geometry.in_channels, geometry.out_channels
    return both if forward else (both[1], both[0])


def _axes(geometry: ConvGeometry, target: Target, *, forward: bool) -> Axes:
    depth, height, width = geometry.windows
    if forward:
        return forward_axis(depth), forward_axis(height), forward_axis(width)
    panel_lanes = target.vectors * target.lanes(sum_bytes(geometry.dtype))
    joined = joins(width, geometry.in_channels, panel_lanes)
    return axis(depth), axis(height), axis(width, joined=joined)


def _shape(
    axes: Axes,
    channels: int,
    made: int,
    panels: _Panels,
    *,
    around: bool,
    ahead: int,
    stationary: bool,
    straight: bool,
) -> Shape:
    depth, height, width = axes
    return Shape(
        channels=channels,
        made=made,
        lanes=panels.lanes,
        taps=(height.kernel, width.kernel),
        strides=(depth.stride, height.stride, width.stride),
        before=(depth.before, height.before, width.before),
        gaps=(depth.gap, height.gap, width.gap),
        least_lag=(axes[0].least_lag, axes[1].least_lag, axes[2].least_lag),
        most_lag=(axes[0].most_lag, axes[1].most_lag, axes[2].most_lag),
        chunk=CHUNK,
        around=int(around),
        ahead=ahead,
        cleared=int(not all(a.complete for a in axes)),
        panels=panels.per_group * stationary,
        straight=int(straight),
    )


def joins(width: Window, made: int, panel_lanes: int) -> bool:
    """Whether residues of the width go side by side: where fewer lanes are left empty."""
    apart = width.stride * -(-made // panel_lanes)
    together = -(-made * width.stride // panel_lanes)
    return together < apart and joinable(width)


def _stores_whole_lines(batch: int, axes: Axes, made: int, size: int) -> bool:
    """Whether each row of a tile is whole cache lines of a result too large for the cache."""
    pixel, width = made * size, axes[2]
    steps = (width.before * pixel, width.result * pixel, width.stride * pixel)
    return (
        batch * prod(a.result for a in axes) * pixel > LARGE_RESULT
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
