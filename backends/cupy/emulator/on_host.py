"""Hands in the kernels that run on this machine's CPU; imported at the first call."""

from opspec.backends.cupy import emulator
from opspec.backends.cupy.emulator.cudnn_port import CudnnPort
from opspec.backends.cupy.emulator.host import HostPort
from opspec.backends.cupy.operations import implement

_port = HostPort()
implement(emulator.backend, _port, None)
for _tier in ("gemm", "simt", "tensor"):
    implement(getattr(emulator, _tier), _port, _tier)
implement(emulator.cudnn, CudnnPort(), "cudnn")
