"""Where the taps of a strided, dilated, padded filter land: the only place with that arithmetic.

In each spatial dimension, position ``o`` of the small side and filter tap ``t`` meet position ``i``
of the large side:

    i = o * stride + t * dilation - before,        0 <= i < input

"input" and "output" are those of the forward convolution, as in TensorFlow: `input` is the size in
`input_sizes`, which Conv3DBackpropInputV2 *produces*; `output` is the size of `out_backprop`.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Literal, TypeAlias

# The three arrays of a convolution: the large side, the filter, the small side.
Side: TypeAlias = Literal["input", "filter", "output"]

PADDINGS = ("SAME", "VALID")
DATA_FORMATS = ("NDHWC", "NCDHW")
SPATIAL_RANK = 3


def channel_axis(data_format: str) -> int:
    """Return the axis of the channels."""
    return data_format.index("C")


def spatial_axes(data_format: str) -> tuple[int, ...]:
    """Return the axes of depth, height and width."""
    return tuple(data_format.index(letter) for letter in "DHW")


def extent(kernel: int, dilation: int) -> int:
    """Return the length that a dilated filter spans."""
    return (kernel - 1) * dilation + 1


def output_size(input: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Return how many window positions a forward convolution has."""
    if padding == "SAME":
        return -(-input // stride)
    span = extent(kernel, dilation)
    return 0 if input < span else (input - span) // stride + 1


def input_sizes_for(output: int, kernel: int, stride: int, dilation: int, padding: str) -> range:
    """Return every input size that has exactly `output` window positions."""
    if padding == "SAME":
        return range(max((output - 1) * stride + 1, 0), output * stride + 1)
    span = extent(kernel, dilation)
    first = (output - 1) * stride + span if output > 0 else 0
    return range(first, output * stride + span)


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring positions of the small side with the same taps inside the large side.

    Parameters
    ----------
    positions, taps
        Which; there may be no taps.
    """

    positions: range
    taps: range


@dataclass(frozen=True, slots=True)
class Window:
    """One spatial dimension of the problem.

    Parameters
    ----------
    input, output
        Sizes of the large and the small side, in positions.
    kernel, stride, dilation
        Taps of the filter, step between windows, step between taps.
    before, after
        Padding of the large side, in positions.
    """

    input: int
    output: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    @classmethod
    def fitted(cls, input: int, kernel: int, stride: int, dilation: int, padding: str) -> "Window":
        """Return the window of `padding` over `input` positions.

        SAME pads by the least that gives every stride a window, the odd position after; never by
        less than nothing, so with a stride well above the kernel the filter starts at position 0.
        """
        output = output_size(input, kernel, stride, dilation, padding)
        missing = 0
        if padding == "SAME":
            missing = max((output - 1) * stride + extent(kernel, dilation) - input, 0)
        before = missing // 2
        return cls(input, output, kernel, stride, dilation, before, missing - before)

    def positions(self, tap: int) -> range:
        """Return the small-side positions whose `tap` lands inside the large side."""
        shift = tap * self.dilation - self.before
        first = max(0, -(shift // self.stride))
        stop = min(self.output, (self.input - 1 - shift) // self.stride + 1)
        return range(first, max(first, stop))

    def segments(self) -> list[Segment]:
        """Return the small side cut where a tap enters or leaves the large side."""
        inside = [self.positions(tap) for tap in range(self.kernel)]
        ends = {end for reach in inside if reach for end in (reach.start, reach.stop)}
        cuts = sorted({0, self.output} | ends)
        found = []
        for start, stop in pairwise(cuts):
            taps = [tap for tap, reach in enumerate(inside) if start in reach]
            reaching = range(taps[0], taps[-1] + 1) if taps else range(0)
            found.append(Segment(range(start, stop), reaching))
        return found

    def landing(self, position: int, tap: int) -> int:
        """Return where on the large side `tap` of the window at `position` lands."""
        return position * self.stride + tap * self.dilation - self.before


@dataclass(frozen=True, slots=True)
class ConvGeometry:
    """The whole validated problem that a kernel gets.

    Parameters
    ----------
    batch, in_channels, out_channels
        Extents. `in_channels` belongs to the large side, `out_channels` to the small side.
    windows
        Depth, height, width.
    data_format
        ``"NDHWC"`` or ``"NCDHW"``: the layout of both sides.
    dtype
        ``"float16"``, ``"bfloat16"``, ``"float32"`` or ``"float64"``: of operands and result.
    """

    batch: int
    in_channels: int
    out_channels: int
    windows: tuple[Window, Window, Window]
    data_format: str
    dtype: str
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Asked for at each call. Of integers only: the hashes of strings differ between processes,
        # and a pickled geometry takes its own along.
        sizes = (self.batch, self.in_channels, self.out_channels, self.windows)
        object.__setattr__(self, "_hash", hash(sizes))

    def __hash__(self) -> int:
        return self._hash

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The large side's shape, in the data format's order."""
        return self._arranged(self.in_channels, tuple(w.input for w in self.windows))

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The small side's shape, in the data format's order."""
        return self._arranged(self.out_channels, tuple(w.output for w in self.windows))

    @property
    def filter_shape(self) -> tuple[int, ...]:
        """``[depth, height, width, in_channels, out_channels]`` in every data format."""
        return (*(w.kernel for w in self.windows), self.in_channels, self.out_channels)

    def shape_of(self, side: Side) -> tuple[int, ...]:
        """Return the shape of one side."""
        if side == "filter":
            return self.filter_shape
        return self.input_shape if side == "input" else self.output_shape

    @property
    def dilated(self) -> bool:
        """Whether any dilation is above 1."""
        return any(w.dilation > 1 for w in self.windows)

    @property
    def empty(self) -> bool:
        """Whether an operand or the result has no element."""
        return 0 in (*self.input_shape, *self.output_shape, *self.filter_shape)

    @property
    def multiply_adds(self) -> int:
        """How many products are added up, those of taps that land outside included."""
        positions = self.batch * prod(w.output for w in self.windows)
        return positions * prod(self.filter_shape)

    def _arranged(self, channels: int, spatial: tuple[int, ...]) -> tuple[int, ...]:
        if channel_axis(self.data_format) == 1:
            return (self.batch, channels, *spatial)
        return (self.batch, *spatial, channels)
