"""What a call seeks: one side of a convolution, given the other two."""

from dataclasses import dataclass, replace

from opspec.geometry import ConvGeometry, Side

# What the operands are called in the operations' signatures.
NAMES: dict[Side, str] = {"input": "input", "filter": "filter", "output": "out_backprop"}


@dataclass(frozen=True, slots=True)
class Convolution:
    """One side of a convolution that is to be computed from the others.

    Parameters
    ----------
    geometry
        The convolution.
    result
        The side: ``"input"`` of Conv3DBackpropInputV2, ``"output"`` of Conv3D, ``"filter"`` of
        Conv3DBackpropFilterV2.
    """

    geometry: ConvGeometry
    result: Side

    @property
    def read(self) -> Side:
        """The side that taps are looked up in, ``"data"`` to the kernels."""
        return "output" if self.result == "input" else "input"

    @property
    def other(self) -> Side:
        """The operand beside it."""
        return "output" if self.result == "filter" else "filter"

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return self.geometry.shape_of(self.result)

    @property
    def made_channels(self) -> int:
        """Channels of the result; of a filter, those of its last axis."""
        backward = self.result == "input"
        return self.geometry.in_channels if backward else self.geometry.out_channels

    @property
    def read_channels(self) -> int:
        """Channels of what is read in windows."""
        backward = self.result == "input"
        return self.geometry.out_channels if backward else self.geometry.in_channels

    def of(self, geometry: ConvGeometry) -> "Convolution":
        """Return the same side of another convolution."""
        return replace(self, geometry=geometry)
