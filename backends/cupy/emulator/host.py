"""A port without a device: memory of this process, NumPy's products, kernels by g++."""

import ctypes
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.emulator import build, memory
from opspec.backends.cupy.kernels import Kernel
from opspec.backends.cupy.plan import MOST_BLOCKS
from opspec.backends.cupy.port import CudnnPlan, Traits
from opspec.geometry import Side

ORDERS = ("forward", "backward", "shuffled")
ORDER_VARIABLE = "OPSPEC_EMULATED_ORDER"
NO_CUDNN = "cuDNN is not emulated"
# An H200, but with few multiprocessors, so that small problems fill it.
TRAITS = Traits(
    capability=90, processors=4, shared_bytes=227 * 1024, without=(("cudnn", NO_CUDNN),)
)
MOST_THREADS = 1024
_MESSAGE = 500


class HostPort:
    """Runs kernels on the CPU.

    Parameters
    ----------
    order
        In which order the threads of a block take turns: one of `ORDERS`. By default what
        OPSPEC_EMULATED_ORDER says, or forward.
    sanitized
        Whether undefined behaviour in a kernel ends the process.
    source_of
        Returns the source of a kernel; tests plant faults with it.
    """

    def __init__(
        self,
        order: str | None = None,
        *,
        traits: Traits = TRAITS,
        sanitized: bool = False,
        source_of: Callable[[Kernel], str] | None = None,
    ) -> None:
        self._order = ORDERS.index(order or os.environ.get(ORDER_VARIABLE) or ORDERS[0])
        self._traits = traits
        self._sanitized = sanitized
        self._source_of = source_of
        self.launched: list[str] = []

    def traits(self) -> Traits:
        """Describe the device that is played."""
        return self._traits

    def on(self, array: Any) -> AbstractContextManager[object]:
        """There is one device."""
        return nullcontext()

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a fresh array of poison."""
        return memory.empty(shape, dtype)

    def clear(self, array: Any) -> None:
        """Fill with zeros."""
        memory.as_numpy(array)[...] = 0

    def contiguous(self, array: Any) -> Any:
        """Return the array, or a copy in C order."""
        if array.flags.c_contiguous:
            return array
        made = memory.empty(array.shape, array.dtype)
        memory.as_numpy(made)[...] = memory.as_numpy(array)
        return made

    def copy(self, source: Any, target: Any) -> None:
        """Copy an array into another of its shape and dtype."""
        if (source.shape, source.dtype) != (target.shape, target.dtype):
            raise ValueError(f"{source.shape} {source.dtype} into {target.shape} {target.dtype}")
        memory.as_numpy(target)[...] = memory.as_numpy(source)

    def multiply(self, left: Any, right: Any, result: Any, *, add: bool = False) -> None:
        """Set result = left @ right.T, or add that to it, in float32 or float64."""
        wide = np.float64 if left.dtype == np.float64 else np.float32
        for matrix in (left, right, result):
            if matrix.itemsize not in matrix.strides and matrix.size > 1:
                raise ValueError(f"cuBLAS takes no matrix with strides {matrix.strides}")
        with np.errstate(all="ignore"):
            columns = memory.as_numpy(right).astype(wide).T
            product = np.matmul(memory.as_numpy(left).astype(wide), columns)
            target = memory.as_numpy(result)
            target[...] = (target + product if add else product).astype(result.dtype)

    def prepare(self, kernel: Kernel) -> None:
        """Compile a kernel, if it is not compiled."""
        build.library(kernel, self._source(kernel), sanitized=self._sanitized)

    def launch(self, kernel: Kernel, blocks: int, arguments: tuple[Any, ...]) -> None:
        """Run a kernel, stricter than CUDA about what it is launched with."""
        if not 0 < blocks <= MOST_BLOCKS or not 0 < kernel.threads <= MOST_THREADS:
            raise ValueError(f"{kernel.name}: {blocks} blocks of {kernel.threads} threads")
        if kernel.capability > self._traits.capability:
            raise ValueError(f"{kernel.name} needs compute capability {kernel.capability}")
        if kernel.shared_bytes > self._traits.shared_bytes:
            raise ValueError(f"{kernel.name} needs {kernel.shared_bytes} bytes of shared memory")
        library = build.library(kernel, self._source(kernel), sanitized=self._sanitized)
        values = _values(kernel, library, arguments)
        message = ctypes.create_string_buffer(_MESSAGE)
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self.launched.append(kernel.name)
        if library.launch(
            ctypes.c_uint(blocks),
            ctypes.c_uint(kernel.threads),
            ctypes.c_size_t(kernel.shared_bytes),
            self._order,
            max(1, min(len(os.sched_getaffinity(0)), blocks)),
            addresses,
            message,
            _MESSAGE,
        ):
            raise RuntimeError(f"{kernel.name}: {message.value.decode()}")

    def cudnn_plan(self, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
        """There are none."""
        return None

    def execute(self, plan: CudnnPlan, arrays: dict[Side, Any], workspace: Any) -> None:
        """Refuse."""
        raise RuntimeError(NO_CUDNN)

    def release_memory(self) -> None:
        """Nothing is pooled."""

    def _source(self, kernel: Kernel) -> str | None:
        return None if self._source_of is None else self._source_of(kernel)


def _values(kernel: Kernel, library: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """Return each argument in memory as the kernel's parameter takes it."""
    sizes = (ctypes.c_int * 16)()
    expected = sizes[: library.parameters(sizes)]
    if len(expected) != len(arguments):
        raise TypeError(f"{kernel.name} takes {len(expected)} arguments; given {len(arguments)}")
    values: list[Any] = []
    for argument, size in zip(arguments, expected, strict=True):
        is_value = isinstance(argument, np.ndarray)
        given = argument.nbytes if is_value else -ctypes.sizeof(ctypes.c_void_p)
        if given != size:
            raise TypeError(f"{kernel.name}: {given} bytes given for a parameter of {size}")
        values.append(
            ctypes.create_string_buffer(argument.tobytes(), size)
            if is_value
            else ctypes.c_void_p(argument.data.ptr)
        )
    return values
