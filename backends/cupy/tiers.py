"""The CuPy backend held to one tier, to be named in a call or checked.

As in ``backend="opspec.backends.cupy.tiers:simt"``, or on the command line with ``opspec check``.
"""

from opspec.backends.cupy import SIXTEEN_BITS, on_device

gemm = on_device("cupy-gemm")
simt = on_device("cupy-simt")
tensor = on_device("cupy-tensor", SIXTEEN_BITS)
cudnn = on_device("cupy-cudnn")
