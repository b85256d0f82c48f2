"""Hands in the kernels that run on this machine's CPU; imported at the first call."""

from opspec.backends.cupy import emulator
from opspec.backends.cupy.conv3d_backprop_input_v2 import implement
from opspec.backends.cupy.emulator.cudnn_port import CudnnPort
from opspec.backends.cupy.emulator.host import HostPort

_port = HostPort()
implement(emulator.backend, _port, None)
for _tier in ("gemm", "simt", "tensor"):
    implement(getattr(emulator, _tier), _port, _tier)
implement(emulator.cudnn, CudnnPort(), "cudnn")
