"""Random problems whose right results are known to the last bit, for any backend's properties.

Operands are small whole numbers, so few of them other than zero that every sum is exact in the
result's dtype, in any order, also that of two operands added up. Hypothesis draws the shapes and
the seed of the values, and makes a counter-example small.
"""

from dataclasses import dataclass
from math import isqrt, prod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from hypothesis import strategies

from opspec.conformance.oracle import exact_sum
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.geometry import DATA_FORMATS, PADDINGS, Side, input_sizes_for
from opspec.registry import Capabilities

Array: TypeAlias = np.ndarray[Any, Any]
Values = Literal["whole", "normal"]

# Every whole number up to here has its own bits.
LARGEST_SUM = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**24}
# By so much a sum of two operands, each up to twice itself, may be larger than one.
HEADROOM = 4
# Below, products of float16 are subnormal, and rounding them is no longer relative to their size.
SMALLEST_NORMAL = 2.0**-6

ORDINARY = ("ordinary",) * 7
# A last dimension is what kernels run along, so that it is long more often than the others.
WIDE = ("many channels", "many entries", "long width", "long dimension")
LARGE = (*WIDE, "long kernel", "long steps")
EMPTY = ("no batch", "no position", "no contraction")


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """One valid call.

    Parameters
    ----------
    input_sizes, strides, dilations
        Five integers each, in the data format's order.
    filter, out_backprop
        The operands.
    padding, data_format
        As the operation spells them.
    """

    input_sizes: tuple[int, ...]
    filter: Array
    out_backprop: Array
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str
    data_format: str

    @property
    def dtype(self) -> str:
        """The name of the operands' dtype."""
        return str(self.filter.dtype.name)

    @property
    def spatial_axes(self) -> tuple[int, ...]:
        """The axes of depth, height and width."""
        return tuple(self.data_format.index(letter) for letter in "DHW")

    @property
    def channel_axis(self) -> int:
        """The axis of the channels, of the result and of out_backprop."""
        return self.data_format.index("C")

    @property
    def key(self) -> tuple[object, ...]:
        """What two problems have in common if and only if they are the same."""
        plain = (self.input_sizes, self.strides, self.dilations, self.padding, self.data_format)
        shapes = (self.dtype, self.filter.shape, self.out_backprop.shape)
        return (*plain, *shapes, self.filter.tobytes(), self.out_backprop.tobytes())

    def arguments(self) -> dict[str, Any]:
        """Return fresh arguments of Conv3DBackpropInputV2."""
        return {
            "input_sizes": list(self.input_sizes),
            "filter": self.filter.copy(),
            "out_backprop": self.out_backprop.copy(),
            "strides": list(self.strides),
            "padding": self.padding,
            "data_format": self.data_format,
            "dilations": list(self.dilations),
        }

    def forward_arguments(self, input: Array) -> dict[str, Any]:
        """Return arguments of Conv3D, of an input of the result's shape."""
        plain = self.arguments()
        del plain["input_sizes"], plain["out_backprop"]
        return {"input": input, **plain}

    def filter_arguments(self, input: Array) -> dict[str, Any]:
        """Return arguments of Conv3DBackpropFilterV2, of an input of the result's shape."""
        plain = self.arguments()
        del plain["input_sizes"], plain["filter"]
        return {"input": input, "filter_sizes": list(self.filter.shape), **plain}

    def shape_of(self, side: Side) -> tuple[int, ...]:
        """Return the shape of one side of the convolution."""
        if side == "input":
            return self.input_sizes
        return tuple((self.filter if side == "filter" else self.out_backprop).shape)

    def exact_result(self) -> Array:
        """Return the result in int64."""
        return exact_sum(**self.arguments())


class Dimension(NamedTuple):
    """One spatial dimension of a problem."""

    input: int
    output: int
    kernel: int
    stride: int
    dilation: int


@strategies.composite
def problems(
    draw: strategies.DrawFn,
    capabilities: Capabilities,
    *,
    data_formats: tuple[str, ...] = DATA_FORMATS,
    empties: bool = True,
    values: Values = "whole",
) -> Problem:
    """Draw a valid problem among those that a backend declares.

    Parameters
    ----------
    draw
        Given by Hypothesis.
    capabilities
        What the backend declares.
    data_formats
        Only these.
    empties
        Whether problems without elements are wanted.
    values
        Whole numbers of which every sum is exact, or normally distributed ones.
    """
    kinds = (*ORDINARY, *LARGE, *(EMPTY if empties and capabilities.empties else ()))
    kind = draw(strategies.sampled_from(kinds))
    dtype = draw(strategies.sampled_from([n for n in FLOATING if n in capabilities.dtypes]))
    formats = [name for name in data_formats if name in capabilities.data_formats]
    data_format = draw(strategies.sampled_from(formats))
    padding = draw(strategies.sampled_from(PADDINGS))
    dimensions = _drawn_dimensions(draw, kind, padding, dilated=capabilities.dilation)
    # Drawn in any case, so that a counter-example without elements shrinks to one with some.
    most_entries = 18 if kind == "many entries" else 3
    batch = draw(strategies.integers(1, most_entries)) * (kind != "no batch")
    most = 70 if kind == "many channels" else 4
    made = draw(strategies.integers(1, most))
    contracted = draw(strategies.integers(1, most)) * (kind != "no contraction")
    reach = draw(strategies.integers(0, 9))
    generator = np.random.default_rng(draw(strategies.integers(0, 2**16)))
    kernel = tuple(dimension.kernel for dimension in dimensions)
    shape = (batch, *(dimension.output for dimension in dimensions), contracted)
    shapes = ((*kernel, made, contracted), tuple(_arranged(shape, data_format)))
    if values == "normal":
        filter, data = (_normal(generator, shape, dtype) for shape in shapes)
    else:
        terms = prod(min(one.kernel, one.output) for one in dimensions)
        filter, data = _whole(generator, *shapes, dtype, reach, max(terms, 1))
    sizes = (batch, *(dimension.input for dimension in dimensions), made)
    return Problem(
        input_sizes=tuple(_arranged(sizes, data_format)),
        filter=filter,
        out_backprop=data,
        strides=tuple(_arranged((1, *(one.stride for one in dimensions), 1), data_format)),
        dilations=tuple(_arranged((1, *(one.dilation for one in dimensions), 1), data_format)),
        padding=padding,
        data_format=data_format,
    )


def _drawn_dimensions(
    draw: strategies.DrawFn, kind: str, padding: str, *, dilated: bool
) -> list[Dimension]:
    most_strided, most_dilated = (8, 5) if kind == "long steps" else (4, 3)
    steps = strategies.tuples(
        strategies.integers(1, most_strided), strategies.integers(1, most_dilated if dilated else 1)
    )
    # Half of all problems have the same steps in every dimension, as most layers do.
    common = draw(strategies.none() | steps)
    special = draw(strategies.integers(0, 2))
    long = {"long width": 2, "long dimension": special}.get(kind)
    found = []
    for number in range(3):
        stride, dilation = common or draw(steps)
        longest = 40 if number == long else 3
        largest = 9 if kind == "long kernel" and number == special else 4
        kernel = draw(strategies.integers(1, 2 if kind in WIDE else largest))
        output = draw(strategies.integers(1, longest))
        if kind == "no position" and number == special:
            output = 0
        legal = input_sizes_for(output, kernel, stride, dilation, padding)
        size = draw(strategies.sampled_from(legal))
        found.append(Dimension(size, output, kernel, stride, dilation))
    return found


def _arranged(channels_last: tuple[int, ...], data_format: str) -> tuple[int, ...]:
    first, *spatial, channels = channels_last
    if data_format == "NCDHW":
        return (first, channels, *spatial)
    return channels_last


def _whole(
    generator: np.random.Generator,
    filter_shape: tuple[int, ...],
    data_shape: tuple[int, ...],
    dtype: str,
    reach: int,
    terms: int,
) -> tuple[Array, Array]:
    """Return operands of whole numbers up to `reach`, all 1 for 0, so that every sum is exact.

    `terms` is how many taps reach one place at most. Where channels are too many, some entries of
    the filter are 0.
    """
    most = LARGEST_SUM[dtype] // (HEADROOM * terms)
    reach = min(reach, isqrt(most))
    kept = most // max(reach, 1) ** 2
    arrays = []
    for shape in (filter_shape, data_shape):
        made = np.ones(shape) if reach == 0 else generator.integers(-reach, reach + 1, shape)
        arrays.append(made.astype(numpy_dtype(dtype)))
    order = generator.random(filter_shape).argsort(axis=-1)
    arrays[0][order >= kept] = 0
    return arrays[0], arrays[1]


def _normal(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    made = generator.standard_normal(shape)
    kept = np.copysign(np.maximum(np.abs(made), SMALLEST_NORMAL), made)
    return kept.astype(numpy_dtype(dtype))
