"""One problem to time, and what it costs in multiplications and in bytes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, TypeAlias

Triple: TypeAlias = tuple[int, int, int]

BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True, slots=True)
class Dimension:
    """One spatial dimension of a workload.

    Input position ``i`` and filter tap ``t`` land on result position ``i * stride + t * dilation -
    before``, or outside. The arithmetic is written here once more because the peers' environments
    have no opspec; a test compares it with `opspec.geometry`.

    Parameters
    ----------
    size, result
        Positions of the input and of the result.
    kernel, stride, dilation
        Taps of the filter, step between input positions, step between taps.
    padding
        ``"SAME"`` or ``"VALID"``.
    """

    size: int
    result: int
    kernel: int
    stride: int
    dilation: int
    padding: str

    @property
    def full(self) -> int:
        """Positions that taps reach, those outside the result included."""
        return (self.size - 1) * self.stride + (self.kernel - 1) * self.dilation + 1

    @property
    def before(self) -> int:
        """Reached positions that are cut off at the low end."""
        return max(self.full - self.result, 0) // 2 if self.padding == "SAME" else 0

    @property
    def after(self) -> int:
        """Reached positions that are cut off at the high end."""
        return max(self.full - self.before - self.result, 0)

    @property
    def beyond(self) -> int:
        """Positions of the result at the high end that no tap reaches."""
        return max(self.before + self.result - self.full, 0)

    @property
    def landings(self) -> Counter[int]:
        """How many products land on each position of the result that any lands on."""
        return Counter(
            position
            for tap in range(self.kernel)
            for start in [tap * self.dilation - self.before]
            for position in range(start, start + self.size * self.stride, self.stride)
            if 0 <= position < self.result
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One call of conv3d_transpose.

    Parameters
    ----------
    name, meaning
        A word to select it by, and what it is.
    batch, spatial, in_channels
        The extents of the input.
    out_channels
        Channels of the result.
    kernel, strides, dilations
        Per spatial dimension.
    padding
        ``"SAME"`` or ``"VALID"``.
    result_spatial
        Depth, height and width of the result; None is the largest with SAME, the smallest with
        VALID.
    data_format
        ``"NDHWC"`` or ``"NCDHW"``.
    dtype
        Of the operands and the result.
    """

    name: str
    meaning: str
    batch: int
    spatial: Triple
    in_channels: int
    out_channels: int
    kernel: Triple
    strides: Triple
    padding: Literal["SAME", "VALID"] = "SAME"
    dilations: Triple = (1, 1, 1)
    result_spatial: Triple | None = None
    data_format: Literal["NDHWC", "NCDHW"] = "NDHWC"
    dtype: str = "float32"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Workload":
        """Make the workload whose fields came through JSON, which knows no tuples."""
        with_tuples: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields.items()
        }
        return cls(**with_tuples)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of the input."""
        return self._arranged(self.spatial, self.in_channels)

    @property
    def filters_shape(self) -> tuple[int, ...]:
        """Shape of the filters, the same in both data formats."""
        return (*self.kernel, self.out_channels, self.in_channels)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return self._arranged(self.result_size, self.out_channels)

    @property
    def result_size(self) -> Triple:
        """Depth, height and width of the result."""
        if self.result_spatial is not None:
            return self.result_spatial
        depth, height, width = (
            size * stride
            if self.padding == "SAME"
            else (size - 1) * stride + (kernel - 1) * dilation + 1
            for size, kernel, stride, dilation in zip(
                self.spatial, self.kernel, self.strides, self.dilations, strict=True
            )
        )
        return depth, height, width

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Depth, height and width."""
        sizes = zip(
            self.spatial,
            self.result_size,
            self.kernel,
            self.strides,
            self.dilations,
            strict=True,
        )
        return tuple(Dimension(*each, self.padding) for each in sizes)

    @property
    def multiply_adds(self) -> int:
        """Multiplications, taps that land outside included."""
        return self.batch * prod(self.spatial) * prod(self.filters_shape)

    @property
    def useful_multiply_adds(self) -> int:
        """Multiplications that land inside the result."""
        inside = prod(dimension.landings.total() for dimension in self.dimensions)
        return self.batch * self.in_channels * self.out_channels * inside

    @property
    def products_per_value(self) -> int:
        """Products in the longest sum of the result."""
        longest = prod(max(dimension.landings.values()) for dimension in self.dimensions)
        return self.in_channels * longest

    @property
    def operand_bytes(self) -> int:
        """Bytes of the input and the filters."""
        return BYTES[self.dtype] * (prod(self.input_shape) + prod(self.filters_shape))

    @property
    def result_bytes(self) -> int:
        """Bytes of the result."""
        return BYTES[self.dtype] * prod(self.output_shape)

    def _arranged(self, spatial: Triple, channels: int) -> tuple[int, ...]:
        if self.data_format == "NCDHW":
            return (self.batch, channels, *spatial)
        return (self.batch, *spatial, channels)
