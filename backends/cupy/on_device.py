"""Hands in the kernels that run on the device; imported at the first call."""

from opspec.backends.cupy import backend, tiers
from opspec.backends.cupy.conv3d_backprop_input_v2 import implement
from opspec.backends.cupy.device import DevicePort

_port = DevicePort()
implement(backend, _port, None)
for _tier in ("gemm", "simt", "tensor"):
    implement(getattr(tiers, _tier), _port, _tier)
