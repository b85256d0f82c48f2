"""Which taps reach which positions, in one dimension: the number theory behind the kernels.

Position z of the large side, cut as z = r + stride * j, is reached by tap t from position o of the
small side when stride * o = r + stride * j + before - t * dilation. So stride must divide
r + before - t * dilation, whatever j is: the taps that can are those of phase r, and they are

    t = first_tap + i * step_of_taps(window),     o = j + first - i * step_back(window)

Of the convolution itself there is one phase, whose taps read from the large side at

    t = first_tap + i,     stride * j + first + i * dilation
"""

from math import gcd
from typing import NamedTuple

from opspec.geometry import Window


class Phase(NamedTuple):
    """The positions r, r + stride, r + 2 * stride ... of one dimension.

    Parameters
    ----------
    positions
        How many there are.
    taps
        How many taps reach any of them from a position that exists.
    first_tap
        The first of those.
    first
        What to add to j (forward, to stride * j) to get the position that it reads.
    """

    positions: int
    taps: int
    first_tap: int
    first: int


def phases(window: Window) -> int:
    """Return how many phases have any position."""
    return min(window.stride, window.input)


def step_of_taps(window: Window) -> int:
    """Return the distance from a tap of a phase to the next one."""
    return window.stride // gcd(window.stride, window.dilation)


def step_back(window: Window) -> int:
    """Return how much less is added to j for the next tap of a phase."""
    return window.dilation // gcd(window.stride, window.dilation)


def phase(window: Window, remainder: int) -> Phase:
    """Return phase number `remainder`, without the taps that only reach outside."""
    positions = (window.input - 1 - remainder) // window.stride + 1
    divisor = gcd(window.stride, window.dilation)
    step, back = step_of_taps(window), step_back(window)
    shifted = remainder + window.before
    if shifted % divisor or window.output == 0:
        return Phase(positions, 0, 0, 0)
    tap = shifted // divisor * pow(back, -1, step) % step
    count = max(0, (window.kernel - 1 - tap) // step + 1)
    first = (shifted - tap * window.dilation) // window.stride
    # Tap i reads from first - i * back to first - i * back + positions - 1.
    skipped = max(0, -((window.output - 1 - first) // back))
    stop = min(count, (first + positions - 1) // back + 1)
    if skipped >= stop:
        return Phase(positions, 0, 0, 0)
    return Phase(positions, stop - skipped, tap + skipped * step, first - skipped * back)


def forward_phase(window: Window) -> Phase:
    """Return all positions of the small side, without the taps that only reach outside."""
    last = (window.output - 1) * window.stride - window.before
    skipped = max(0, -(last // window.dilation))
    stop = min(window.kernel, (window.input - 1 + window.before) // window.dilation + 1)
    if skipped >= stop or window.output == 0:
        return Phase(window.output, 0, 0, 0)
    return Phase(window.output, stop - skipped, skipped, skipped * window.dilation - window.before)
