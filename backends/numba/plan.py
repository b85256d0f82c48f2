"""What the kernels are told: plain integers and tables of them, by name.

Numba takes a named tuple as it is, so kernels read ``plan.shape.channels``.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opspec.geometry import ConvGeometry

Table: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Three: TypeAlias = tuple[int, int, int]

MULTIPLY_ADDS_PER_TURN = 5 * 10**9

# The columns of `Plan.blocks` after the three runs: extents of a box, boxes per extent, first task.
EXTENT, BOXES, FIRST_TASK = 3, 7, 11


class Dimension(NamedTuple):
    """An `Axis` as tables.

    Parameters
    ----------
    runs
        Per run its first q and length.
    parts
        Per run and phase the first lane stored, the last but one, the first lag and how many. In
        depth and height the lanes are 0 and 1, or 0 and 0 for a phase that is outside.
    lags, taps
        Per phase; taps per residue too.
    counts, residues
        Per phase: how many lags, and the (first) residue.
    """

    runs: Table
    parts: Table
    lags: Table
    taps: Table
    counts: Table
    residues: Table


class Side(NamedTuple):
    """The source or the result: extents and bytes from one index to the next.

    Parameters
    ----------
    extents
        Batch, depth, height, width.
    steps
        The same and channels.
    """

    extents: tuple[int, int, int, int]
    steps: tuple[int, int, int, int, int]


class Shape(NamedTuple):
    """The numbers that all tasks share.

    Parameters
    ----------
    channels, made
        Source channels and made channels.
    lanes
        Made channels of all residues that one panel row makes side by side; in `dots` the made
        channels of a task.
    taps
        Of the filter's height and width.
    strides, before, gaps, least_lag, most_lag
        Per dimension; see `Axis` and `Phase`.
    chunk
        Positions whose addresses are kept at a time.
    around, ahead
        Whether results are stored around the cache; bytes of each row to ask for ahead.
    cleared
        Whether the result is zeros before the first task.
    panels
        Panels per group if each task packs one for itself, else 0; in `dots` tasks per group.
    straight
        Whether made channels, not source channels, are the filter's last axis.
    """

    channels: int
    made: int
    lanes: int
    taps: tuple[int, int]
    strides: Three
    before: Three
    gaps: Three
    least_lag: Three
    most_lag: Three
    chunk: int
    around: int
    ahead: int
    cleared: int
    panels: int
    straight: int


class Room(NamedTuple):
    """Where a thread's own memory is divided; offsets, or addresses once there is memory."""

    reads: int
    writes: int
    segments: int
    rows: int
    source: int
    result: int
    panel: int


class Plan(NamedTuple):
    """All that `gather` or `dots` is told besides addresses.

    Parameters
    ----------
    tasks
        How many.
    blocks
        Per block the runs of its dimensions, the extents of a box, how many boxes per extent, and
        the number of its first task.
    groups
        Per phase of each dimension where its panels begin, in bytes.
    order
        The phases with the most work first.
    """

    tasks: int
    shape: Shape
    small: Side
    large: Side
    depth: Dimension
    height: Dimension
    width: Dimension
    blocks: Table
    groups: Table
    order: Table
    room: Room


class ScatterShape(NamedTuple):
    """The numbers that all tasks of the scattering kernel share.

    Parameters
    ----------
    channels, made
        Source channels and made channels.
    taps, strides, before, dilations
        Per dimension; see `Window`.
    lanes
        Taps times made channels.
    pieces, piece
        Per tap of depth and height: pieces that are added at one place each, and their lanes.
    apart
        Distance of positions whose pieces do not overlap.
    chunk
        Positions that are spread at a time.
    ahead
        Bytes of each row to ask for ahead.
    """

    channels: int
    made: int
    taps: Three
    strides: Three
    before: Three
    dilations: Three
    lanes: int
    pieces: int
    piece: int
    apart: int
    chunk: int
    ahead: int


class ScatterRoom(NamedTuple):
    """Where a thread's own memory is divided; offsets, or addresses once there is memory."""

    reads: int
    writes: int
    segments: int
    rows: int
    source: int
    spread: int
    result: int


class ScatterPlan(NamedTuple):
    """All that the scattering kernel is told besides addresses.

    Parameters
    ----------
    tasks
        How many.
    box, boxes
        Extents of a box in batch, depth and height, and how many there are along each.
    box_steps
        Bytes from one index of a box to the next: batch, depth, height, width.
    row_bytes
        Of what one position spreads.
    """

    tasks: int
    shape: ScatterShape
    small: Side
    large: Side
    box: Three
    boxes: Three
    box_steps: tuple[int, int, int, int]
    row_bytes: int
    room: ScatterRoom


class Layout(NamedTuple):
    """A plan and what its caller has to provide.

    Parameters
    ----------
    plan
        A `Plan` or a `ScatterPlan`.
    room_bytes
        Memory of each thread.
    turn
        Tasks to take before returning, so that Python can see a Ctrl-C.
    packed_bytes
        Memory of all packed panels; 0 where tasks pack for themselves.
    cleared
        Whether the result has to be zeros before the first task.
    """

    plan: Any
    room_bytes: int
    turn: int
    packed_bytes: int
    cleared: bool


def table(values: Any) -> Table:
    """Return a table as every kernel expects it, so that one compiled kernel takes them all."""
    return np.ascontiguousarray(values, np.int64)


def side(geometry: ConvGeometry, channels: int, spatial: tuple[int, ...], size: int) -> Side:
    """Return one side of a problem whose elements have `size` bytes."""
    depth, height, width = spatial
    places = depth * height * width
    pixel, between = (channels * size, size)
    if geometry.data_format == "NCDHW":
        pixel, between = size, size * places
    steps = (channels * places * size, height * width * pixel, width * pixel, pixel, between)
    return Side((geometry.batch, depth, height, width), steps)


def turn_of(tasks: int, multiply_adds: int) -> int:
    """Return how many tasks to take before Python may look for a Ctrl-C."""
    return max(1, MULTIPLY_ADDS_PER_TURN * tasks // multiply_adds)
