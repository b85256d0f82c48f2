"""The operations of the network, on all or on some rows of depth.

Tensors are NDHWC with a batch of 1. A row is all that lies at one depth, so consecutive rows of a
tensor are one piece of memory.

Each operation says which rows of its inputs are read for given rows of its result (`rows_read`) and
runs on those as if they were all that there is; the first row that it reads, times `scale`, is the
first row that it makes. At a cut it makes more rows than were asked for, the outermost ones wrong
because their neighbours were not read; the caller leaves them away.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

import opspec
from opspec.ops.conv3d import Conv3D

Array: TypeAlias = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, ...]
InPlace: TypeAlias = Callable[[Array], None]

DEPTH = 1
STEPS = [1, 1, 1, 1, 1]


class Operation(Protocol):
    """What a layer computes before it goes on in place."""

    @property
    def scale(self) -> Fraction:
        """Rows of the result for each row of the inputs."""

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of the result."""

    def rows_read(self, rows: range, depth: int) -> range:
        """Return which of the `depth` rows of the inputs the rows of the result depend on."""

    def run(self, inputs: Sequence[Array], out: Array | None) -> Array:
        """Compute the result, into `out` if there is one."""


@dataclass(frozen=True, eq=False)
class Convolution:
    """Conv3D with strides and dilations of 1, and SAME."""

    filter: Array
    scale: ClassVar = Fraction(1)

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of the result."""
        return Conv3D.infer(
            Conv3D.Attributes(strides=STEPS, padding="SAME"),
            input=opspec.TensorSpec("float32", inputs[0]),
            filter=opspec.TensorSpec("float32", self.filter.shape),
        ).shape

    def rows_read(self, rows: range, depth: int) -> range:
        """Return as many rows more as the filter reaches to each side, where there are any."""
        reach = len(self.filter) - 1
        before = reach // 2
        return range(max(rows.start - before, 0), min(rows.stop - before + reach, depth))

    def run(self, inputs: Sequence[Array], out: Array | None) -> Array:
        """Compute the result."""
        found: Array = opspec.raw_ops.Conv3D(
            input=inputs[0], filter=self.filter, strides=STEPS, padding="SAME", out=out
        )
        return found


@dataclass(frozen=True, eq=False)
class TransposedConvolution:
    """Conv3DBackpropInputV2 with SAME, for results that are `stride` times the input."""

    filter: Array
    stride: int

    @property
    def scale(self) -> Fraction:
        """Rows of the result for each row of the input."""
        return Fraction(self.stride)

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of the result."""
        if min(self.filter.shape[:3]) < self.stride:
            sizes = list(self.filter.shape[:3])
            raise ValueError(f"a filter of {sizes} leaves gaps at stride {self.stride}")
        batch, *spatial, _ = inputs[0]
        return (batch, *(self.stride * size for size in spatial), self.filter.shape[3])

    def rows_read(self, rows: range, depth: int) -> range:
        """Return the rows whose taps reach the result: row i goes to i * stride - before + tap."""
        reach = len(self.filter) - 1
        before = max(reach + 1 - self.stride, 0) // 2
        first = -((reach - before - rows.start) // self.stride)
        last = (rows.stop - 1 + before) // self.stride
        return range(max(first, 0), min(last + 1, depth))

    def run(self, inputs: Sequence[Array], out: Array | None) -> Array:
        """Compute the result."""
        found: Array = opspec.raw_ops.Conv3DBackpropInputV2(
            input_sizes=self.shape(inputs[0].shape),
            filter=self.filter,
            out_backprop=inputs[0],
            strides=[1, self.stride, self.stride, self.stride, 1],
            padding="SAME",
            out=out,
        )
        return found


@dataclass(frozen=True, eq=False)
class MaxPool:
    """MaxPool3D with VALID, the same size and stride along depth, height and width."""

    size: int
    stride: int

    @property
    def scale(self) -> Fraction:
        """Rows of the result for each row of the input."""
        return Fraction(1, self.stride)

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of the result."""
        batch, *spatial, channels = inputs[0]
        if min(spatial) < self.size:
            raise ValueError(f"a window of {self.size} does not fit into {inputs[0]}")
        return (batch, *((size - self.size) // self.stride + 1 for size in spatial), channels)

    def rows_read(self, rows: range, depth: int) -> range:
        """Return the rows of the windows."""
        return range(rows.start * self.stride, (rows.stop - 1) * self.stride + self.size)

    def run(self, inputs: Sequence[Array], out: Array | None) -> Array:
        """Compute the result: along depth first, where what is compared lies in long runs."""
        found = inputs[0]
        shape = self.shape(found.shape)
        for axis in (1, 2, 3):
            ends = range(shape[axis] * self.stride - self.stride + 1, found.shape[axis] + 1)
            windows = [
                found[(slice(None),) * axis + (slice(tap, end, self.stride),)]
                for tap, end in zip(range(self.size), ends, strict=False)
            ]
            found = reduce(np.maximum, windows)
        if out is None:
            return found
        np.copyto(out, found)
        return out


class RowByRow:
    """What makes of each row one row."""

    scale: ClassVar = Fraction(1)

    def rows_read(self, rows: range, depth: int) -> range:
        """Return the same rows."""
        return rows


class Concatenation(RowByRow):
    """ConcatV2 of channels."""

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of the result."""
        if len({shape[:-1] for shape in inputs}) > 1:
            raise ValueError(f"all but the channels must be equal; given {inputs}")
        return (*inputs[0][:-1], sum(shape[-1] for shape in inputs))

    def run(self, inputs: Sequence[Array], out: Array | None) -> Array:
        """Compute the result."""
        return np.concatenate(inputs, axis=-1, out=out)


class Copy(RowByRow):
    """A tensor once more, for what changes it in place while others still read it."""

    def shape(self, *inputs: Shape) -> Shape:
        """Return the shape of the result."""
        return inputs[0]

    def run(self, inputs: Sequence[Array], out: Array | None) -> Array:
        """Copy."""
        if out is None:
            return inputs[0].copy()
        np.copyto(out, inputs[0])
        return out


def bias_add(bias: Array) -> InPlace:
    """Return what adds a number to each channel."""

    def add(values: Array) -> None:
        # A whole line of voxels at a time: NumPy is slow where the last axis is short.
        lines = values.reshape(-1, values.shape[-2] * values.shape[-1])
        lines += np.tile(bias, values.shape[-2])

    return add


def relu(values: Array) -> None:
    """Replace what is below zero by zero."""
    np.maximum(values, 0, out=values)


def sigmoid(values: Array) -> None:
    """Apply 1 / (1 + exp(-x)), as (1 + tanh(x / 2)) / 2, in which nothing overflows."""
    values *= 0.5
    np.tanh(values, out=values)
    values += 1
    values *= 0.5
