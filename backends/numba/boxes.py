"""How blocks are cut into boxes: large enough for what is fetched to be used often, yet cached."""

from typing import NamedTuple

import numpy as np

from opspec.backends.numba.axis import Axis
from opspec.backends.numba.plan import Table, table

MOST_POSITIONS, LEAST_POSITIONS = 480, 48
TASKS_PER_THREAD = 8
SOURCE_BOX, RESULT_BOX = 384 * 2**10, 512 * 2**10
UNLIMITED = 2**62


class Limits(NamedTuple):
    """What a box may have: positions, and positions of the source that it reads."""

    positions: int
    source: int


def box_limits(positions: int, read: int, made: int, threads: int, *, staged: bool) -> Limits:
    """Return the limits of boxes.

    Parameters
    ----------
    positions
        How many q there are.
    read, made
        Bytes of a position of the source, and of all that one q makes.
    threads
        How many share the boxes.
    staged
        Whether both sides of a box are copied.
    """
    most = max(positions // (TASKS_PER_THREAD * threads), LEAST_POSITIONS)
    if not staged:
        return Limits(min(most, MOST_POSITIONS), UNLIMITED)
    return Limits(max(min(most, RESULT_BOX // made), 1), max(SOURCE_BOX // read, 1))


def blocks_of(axes: tuple[Axis, ...], batch: int, limits: Limits) -> tuple[Table, int, int]:
    """Return `Plan.blocks`, how many boxes there are, and how much of the source one reads at most.

    Boxes are as long as possible along the width; the rest of what is allowed goes to height and
    depth in equal parts if neighbouring boxes read the same source, else to the height first.
    """
    runs = np.indices([len(a.runs) for a in axes]).reshape(3, -1)
    depth, height, width = (
        np.array([run.length for run in a.runs])[r] for a, r in zip(axes, runs, strict=True)
    )
    in_depth, in_height, in_width = axes
    single = in_depth.read_by(1) * in_height.read_by(1)
    w = _cut(width, limits.positions, in_width.covered_by(limits.source // single))
    rows = limits.positions // w
    if in_depth.reach and limits.source < UNLIMITED:
        rows = np.ceil(np.sqrt(rows)).astype(np.int64)
    line = in_width.read_by(w)
    h = _cut(height, rows, in_height.covered_by(limits.source // (line * in_depth.read_by(1))))
    plane = line * in_height.read_by(h)
    d = _cut(depth, limits.positions // (w * h), in_depth.covered_by(limits.source // plane))
    volume = plane * in_depth.read_by(d)
    n = _cut(np.full_like(d, batch), limits.positions // (w * h * d), limits.source // volume)
    extents = np.stack([n, d, h, w], 1)
    counts = -(-np.stack([np.full_like(d, batch), depth, height, width], 1) // extents)
    boxes = counts.prod(1)
    ends = np.cumsum(boxes)
    blocks = table(np.concatenate([runs.T, extents, counts, (ends - boxes)[:, None]], 1))
    reads = [np.minimum(a.read_by(e), a.source) for e, a in zip((d, h, w), axes, strict=True)]
    return blocks, int(ends[-1]), int((n * reads[0] * reads[1] * reads[2]).max())


def _cut(length: Table, *most: Table | int) -> Table:
    """Return the extent of equal pieces of `length` that keep to all limits, at least 1."""
    limit = np.maximum(np.minimum.reduce(np.broadcast_arrays(length, *most)), 1)
    return np.asarray(-(-length // -(-length // limit)))
