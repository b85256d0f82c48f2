"""A problem, laid out for the kernel of few positions: once per shape, then remembered."""

from functools import lru_cache
from math import prod

import numpy as np

from opspec.backends.numba.axis import axis
from opspec.backends.numba.boxes import UNLIMITED, Limits, blocks_of
from opspec.backends.numba.dot_tile import MADE
from opspec.backends.numba.layout import CHUNK, dimension, room_for
from opspec.backends.numba.lines import STORED_BYTES, sum_bytes
from opspec.backends.numba.plan import Layout, Plan, Shape, side, table, turn_of
from opspec.backends.numba.target import Target
from opspec.geometry import ConvGeometry

FILTER_PIECE, SOURCE_PIECE = 128 * 2**10, 192 * 2**10
LEAST_CHUNK = 24
TASKS_PER_THREAD = 4


@lru_cache(maxsize=256)
def dots_layout(geometry: ConvGeometry, target: Target, threads: int, multiply_adds: int) -> Layout:
    """Lay a problem out for `threads` threads. Some tap of it lands inside.

    Source and result are channels last, in the type of the sums.
    """
    size = sum_bytes(geometry.dtype)
    depth, height, width = windows = geometry.windows
    channels, made = geometry.out_channels, geometry.in_channels
    axes = (axis(depth), axis(height), axis(width))
    blocks, _, _ = blocks_of(axes, geometry.batch, Limits(UNLIMITED, UNLIMITED))
    taps = np.einsum("d,h,w->dhw", *(np.array(a.sizes, np.int64) for a in axes))
    order = np.argsort(-taps, axis=None, kind="stable")
    most = prod(max(len(part.lags) for run in a.runs for part in run.parts) for a in axes)
    piece = FILTER_PIECE // (most * channels * STORED_BYTES[geometry.dtype])
    piece = min(piece, made * taps.size // (TASKS_PER_THREAD * threads))
    piece = max(piece // MADE, 1) * MADE
    pieces = -(-made // piece)
    cleared = not all(a.reached for a in axes)
    room, room_bytes = room_for(
        axes, target, result=(CHUNK + target.rows) * MADE * target.vector_bytes
    )
    plan = Plan(
        tasks=taps.size * pieces,
        shape=Shape(
            channels=channels,
            made=made,
            lanes=piece,
            taps=(height.kernel, width.kernel),
            strides=(depth.stride, height.stride, width.stride),
            before=(depth.before, height.before, width.before),
            gaps=(1, 1, 1),
            least_lag=(0, 0, 0),
            most_lag=(0, 0, 0),
            chunk=min(max(SOURCE_PIECE // (channels * size), LEAST_CHUNK), CHUNK),
            around=0,
            ahead=0,
            cleared=int(cleared),
            panels=pieces,
            straight=0,
        ),
        small=side(geometry, channels, tuple(w.output for w in windows), size),
        large=side(geometry, made, tuple(w.input for w in windows), size),
        depth=dimension(axes[0], 1),
        height=dimension(axes[1], 1),
        width=dimension(axes[2], made),
        blocks=blocks,
        groups=table(0 * taps),
        order=table(np.stack(np.unravel_index(order, taps.shape), 1)),
        room=room,
    )
    turn = turn_of(plan.tasks, multiply_adds)
    return Layout(plan, room_bytes, turn, packed_bytes=0, cleared=cleared)
