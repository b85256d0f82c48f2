"""Hands in the kernels that run on the device; imported at the first call."""

from opspec.backends.cupy import backend, tiers
from opspec.backends.cupy.device import DevicePort
from opspec.backends.cupy.operations import implement
from opspec.backends.cupy.settings import TIERS

port = DevicePort()
implement(backend, port, None)
for _tier in TIERS:
    implement(getattr(tiers, _tier), port, _tier)
