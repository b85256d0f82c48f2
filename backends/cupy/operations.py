"""All operations of a backend object, on one port."""

from opspec import ops
from opspec.backends.cupy import conv3d, conv3d_backprop_filter_v2, conv3d_backprop_input_v2
from opspec.backends.cupy.compute import explain
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.port import Port
from opspec.geometry import ConvGeometry
from opspec.registry import Backend


def implement(backend: Backend, port: Port, tier: str | None) -> None:
    """Hand in the kernels of a backend that computes on `port`, held to `tier` if one is given."""
    for operation in (conv3d, conv3d_backprop_filter_v2, conv3d_backprop_input_v2):
        operation.implement(backend, port, tier)

    @backend.details
    def details(operation: str, geometry: ConvGeometry) -> str:
        side = ops.get(operation).result_side
        return explain(port, tier, Convolution(geometry, side))
