"""Compiling ahead: the kernels that calls with operands in C order can need, on this device."""

from collections.abc import Iterator

from opspec.backends.cupy.kernels import usual_kernels
from opspec.backends.cupy.port import Port
from opspec.backends.cupy.settings import tf32_is_allowed


def warm(port: Port, dtype: str, data_format: str) -> Iterator[str]:
    """Compile and load all that calls of a dtype and data format may need; yield each name."""
    capability = port.traits().capability
    for kernel in usual_kernels(dtype, data_format):
        is_tf32 = kernel.file == "tensor.cu" and dtype == "float32"
        if kernel.capability <= capability and (not is_tf32 or tf32_is_allowed()):
            port.prepare(kernel)
            yield kernel.name
