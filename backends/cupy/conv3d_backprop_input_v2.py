"""Conv3DBackpropInputV2 on `cupy.ndarray`; `compute` says how."""

from typing import Any

from opspec.backends.cupy.compute import compute
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.port import Port
from opspec.geometry import ConvGeometry, Side
from opspec.registry import Backend

Array = Any


def implement(backend: Backend, port: Port, tier: str | None) -> None:
    """Hand in the kernel of a backend that computes on `port`, held to `tier` if one is given."""

    @backend.implements("Conv3DBackpropInputV2")
    def conv3d_backprop_input_v2(
        geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
    ) -> Array:
        operands: dict[Side, Array] = {"filter": filter, "output": out_backprop}
        return compute(port, tier, Convolution(geometry, "input"), operands, out)
