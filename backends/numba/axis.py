"""One spatial dimension, taken apart so that the inner loops need no bounds check.

Large-side index i and small-side position o meet at tap t where (`Window.landing`)

    i + before = o * stride + t * dilation.

Write i + before = q * stride + r with 0 <= r < stride. Only taps with t * dilation = r (mod stride)
reach residue r, and they bring o = q - lag, where lag = (t * dilation - r) / stride. Neighbouring q
with the same residues inside the large side and the same lags inside the small side form a run: all
of it is computed alike. There is one long run, a few short ones at each end, and nothing else.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from opspec.geometry import Window


@dataclass(frozen=True, slots=True)
class Phase:
    """What is computed together for one q of a dimension.

    Parameters
    ----------
    residues
        One residue, or several neighbouring ones that have the same lags.
    lags
        Distances from q back to the positions that are read, falling.
    taps
        Per residue the taps that bring them.
    """

    residues: tuple[int, ...]
    lags: tuple[int, ...]
    taps: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What a run computes of one phase: residues and lags that are inside, as index ranges."""

    residues: range
    lags: range


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring q that are computed alike: one `Part` per phase."""

    first: int
    length: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension, taken apart.

    The result's index is q * stride + residue - before, and what is read for it the source's index
    q * gap - lag.

    Parameters
    ----------
    phases, runs
        See there.
    complete
        Whether every index of the result belongs to a phase; residues without taps have none.
    kernel
        Taps of the filter.
    source, result
        Extents of what is read and of what is made.
    stride, before, gap
        As above.
    """

    phases: tuple[Phase, ...]
    runs: tuple[Run, ...]
    complete: bool
    kernel: int
    source: int
    result: int
    stride: int
    before: int
    gap: int = 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many lags each phase has."""
        return tuple(len(phase.lags) for phase in self.phases)

    @property
    def reached(self) -> bool:
        """Whether some tap reaches every index of the large side."""
        return self.complete and all(
            part.lags for run in self.runs for part in run.parts if part.residues
        )

    @property
    def least_lag(self) -> int:
        """The least of all lags."""
        return min(phase.lags[-1] for phase in self.phases)

    @property
    def most_lag(self) -> int:
        """The largest of all lags."""
        return max(phase.lags[0] for phase in self.phases)

    @property
    def reach(self) -> int:
        """How many positions of the source one q reads beyond the first."""
        return min(self.most_lag - self.least_lag, self.source)

    def read_by(self, length: Any) -> Any:
        """Return how many positions of the source so many neighbouring q read, at most."""
        return (length - 1) * self.gap + 1 + self.reach

    def covered_by(self, positions: Any) -> Any:
        """Return how many neighbouring q read at most so many positions, or less than 1."""
        return (positions - 1 - self.reach) // self.gap + 1


def axis(window: Window, *, joined: bool = False) -> Axis:
    """Take a dimension apart.

    Parameters
    ----------
    window
        The dimension; neither side is empty.
    joined
        Make one phase of all residues, which needs `joinable`.
    """
    found = _phases(window)
    complete = len(found) == min(window.stride, window.input)
    if joined:
        residues = tuple(phase.residues[0] for phase in found)
        taps = tuple(phase.taps[0] for phase in found)
        found = [Phase(residues, found[0].lags, taps)]
    return Axis(
        tuple(found),
        _runs(window, found),
        complete,
        kernel=window.kernel,
        source=window.output,
        result=window.input,
        stride=window.stride,
        before=window.before,
    )


def forward_axis(window: Window) -> Axis:
    """Take a dimension of the convolution itself apart.

    There the result is the small side, and position q reads o = q, t at the large side's index
    q * stride + t * dilation - before: one phase, of lags before - t * dilation.
    """
    taps = [tap for tap in range(window.kernel) if window.positions(tap)]
    lags = tuple(window.before - tap * window.dilation for tap in taps)
    phase = Phase((0,), lags, (tuple(taps),))
    runs = []
    for segment in window.segments():
        inside = [place for place, tap in enumerate(taps) if tap in segment.taps]
        reading = range(inside[0], inside[-1] + 1) if inside else range(0)
        part = Part(range(1), reading)
        runs.append(Run(segment.positions.start, len(segment.positions), (part,)))
    return Axis(
        (phase,),
        tuple(runs),
        complete=True,
        kernel=window.kernel,
        source=window.input,
        result=window.output,
        stride=1,
        before=0,
        gap=window.stride,
    )


def joinable(window: Window) -> bool:
    """Whether all residues have the same lags, so that one panel can make them side by side.

    Otherwise a panel would multiply what it does not need by zeros, and Inf by zero is NaN.
    """
    found = _phases(window)
    return len(found) == window.stride and len({phase.lags for phase in found}) == 1


def _phases(window: Window) -> list[Phase]:
    taps: dict[int, list[int]] = {}
    for tap in range(window.kernel - 1, -1, -1):
        if window.positions(tap):
            taps.setdefault(tap * window.dilation % window.stride, []).append(tap)
    found = []
    for residue, reached in sorted(taps.items()):
        lags = tuple((tap * window.dilation - residue) // window.stride for tap in reached)
        found.append(Phase((residue,), lags, (tuple(reached),)))
    return found


def _runs(window: Window, phases: list[Phase]) -> tuple[Run, ...]:
    stride, before = window.stride, window.before
    first, stop = before // stride, (before + window.input - 1) // stride + 1
    edges = {first, stop}
    for phase in phases:
        for lag in phase.lags:
            edges |= {lag, lag + window.output}
        for residue in phase.residues:
            edges |= {
                -((residue - before) // stride),
                -((residue - before - window.input) // stride),
            }
    cuts = sorted(edge for edge in edges if first <= edge <= stop)
    return tuple(
        Run(start, end - start, tuple(_part(window, phase, start) for phase in phases))
        for start, end in pairwise(cuts)
    )


def _part(window: Window, phase: Phase, q: int) -> Part:
    landed = [q * window.stride + residue - window.before for residue in phase.residues]
    read = [q - lag for lag in phase.lags]
    return Part(_inside(landed, window.input), _inside(read, window.output))


def _inside(indices: list[int], size: int) -> range:
    """Return which of the rising indices lie in [0, size): always neighbours."""
    inside = [place for place, index in enumerate(indices) if 0 <= index < size]
    return range(inside[0], inside[-1] + 1) if inside else range(0)


def merged(windows: tuple[Window, Window, Window]) -> tuple[Window, Window, Window]:
    """Make the width long: by dimensions in which nothing happens, or instead of one of length 1.

    Memory and filter look the same before and after.
    """
    depth, height, width = windows
    one = Window(1, 1, 1, 1, 1, 0, 0)
    for _ in range(2):
        if (width.input, width.output, width.kernel) == (1, 1, 1):
            depth, height, width = one, depth, height
        elif _is_plain(width) and _is_plain(height):
            length = height.input * width.input
            depth, height, width = one, depth, replace(width, input=length, output=length)
    return depth, height, width


def _is_plain(window: Window) -> bool:
    return (window.kernel, window.stride, window.before) == (1, 1, 0)
