"""The port to a real device, through CuPy."""

# CuPy is an extra, and has no types.
# pyright: reportMissingImports=false

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import cupy
import numpy as np

from opspec.backends.cupy.compiler import module_file
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.cudnn_library import CudnnLibrary, missing
from opspec.backends.cupy.kernels import Kernel
from opspec.backends.cupy.port import CudnnPlan, Traits
from opspec.geometry import Side

# More than this must be asked for, kernel by kernel.
SHARED_BYTES_FOR_ALL = 48 * 1024
# cuBLAS and CUDA's numbers for what is multiplied and what it is added up in.
CUBLAS_TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}
COMPUTE_32F, COMPUTE_64F = 68, 70
NO_TRANSPOSE, TRANSPOSE = 0, 1
DEFAULT_ALGORITHM = -1


class DevicePort:
    """Runs kernels on the current device and stream."""

    def __init__(self) -> None:
        self._functions: dict[tuple[int, str], Any] = {}
        self._loading = threading.Lock()
        self._cudnn = CudnnLibrary()

    def traits(self) -> Traits:
        """Describe the current device."""
        return _traits(cupy.cuda.runtime.getDevice())

    def on(self, array: Any) -> AbstractContextManager[object]:
        """Make the device of an array the current one."""
        device = array.device
        if device.id == cupy.cuda.runtime.getDevice():
            return nullcontext()
        return device  # type: ignore[no-any-return]  # CuPy has no types

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a fresh array from the caller's memory pool."""
        return cupy.empty(shape, dtype)

    def clear(self, array: Any) -> None:
        """Fill with zeros on the current stream."""
        array.data.memset_async(0, array.nbytes)

    def contiguous(self, array: Any) -> Any:
        """Return the array, or a copy in C order."""
        return cupy.ascontiguousarray(array)

    def copy(self, source: Any, target: Any) -> None:
        """Copy an array into another of its shape and dtype on the current stream."""
        cupy.copyto(target, source)

    def multiply(self, left: Any, right: Any, result: Any, *, add: bool = False) -> None:
        """Set result = left @ right.T, or add that to it, by cuBLAS."""
        from cupy_backends.cuda.libs import cublas

        rows, depth = left.shape
        columns = right.shape[0]
        kind = left.dtype.name
        sums = np.dtype(np.float64 if kind == "float64" else np.float32)
        one, zero = np.ones((), sums), np.zeros((), sums)
        # To cuBLAS, which counts columns first, the result is right @ left.T.
        right_turned, right_step = _as_columns(right)
        left_turned, left_step = _as_columns(left)
        cublas.gemmEx(
            cupy.cuda.device.get_cublas_handle(),
            NO_TRANSPOSE if right_turned else TRANSPOSE,
            TRANSPOSE if left_turned else NO_TRANSPOSE,
            columns,
            rows,
            depth,
            one.ctypes.data,
            right.data.ptr,
            CUBLAS_TYPES[kind],
            right_step,
            left.data.ptr,
            CUBLAS_TYPES[kind],
            left_step,
            (one if add else zero).ctypes.data,
            result.data.ptr,
            CUBLAS_TYPES[result.dtype.name],
            max(result.strides[0] // result.itemsize, columns),
            COMPUTE_64F if kind == "float64" else COMPUTE_32F,
            DEFAULT_ALGORITHM,
        )

    def prepare(self, kernel: Kernel) -> None:
        """Compile a kernel and load it on the current device, if it is not there."""
        self._function(kernel)

    def launch(self, kernel: Kernel, blocks: int, arguments: tuple[Any, ...]) -> None:
        """Launch a kernel on the current stream; the first time on a device, load it."""
        function = self._function(kernel)
        function((blocks,), (kernel.threads,), arguments, shared_mem=kernel.shared_bytes)

    def cudnn_plan(self, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
        """Return cuDNN's plan on the current device, or None if it has none."""
        return self._cudnn.plan(convolution, tf32)

    def execute(self, plan: CudnnPlan, arrays: dict[Side, Any], workspace: Any) -> None:
        """Run a plan on the current stream."""
        self._cudnn.execute(plan, arrays, workspace)

    def release_memory(self) -> None:
        """Give back what the memory pool holds and nobody uses."""
        cupy.get_default_memory_pool().free_all_blocks()

    def _function(self, kernel: Kernel) -> Any:
        key = cupy.cuda.runtime.getDevice(), kernel.name
        return self._functions.get(key) or self._load(key, kernel)

    def _load(self, key: tuple[int, str], kernel: Kernel) -> Any:
        with self._loading:
            if key not in self._functions:
                file = module_file(kernel, self.traits().capability)
                function = cupy.RawModule(path=str(file)).get_function("kernel")
                if kernel.shared_bytes > SHARED_BYTES_FOR_ALL:
                    function.max_dynamic_shared_size_bytes = kernel.shared_bytes
                self._functions[key] = function
            return self._functions[key]


@cache
def _traits(device: int) -> Traits:
    facts = cupy.cuda.runtime.getDeviceProperties(device)
    return Traits(
        capability=facts["major"] * 10 + facts["minor"],
        processors=facts["multiProcessorCount"],
        shared_bytes=facts["sharedMemPerBlockOptin"],
        without=tuple(_missing_libraries()),
    )


def _missing_libraries() -> list[tuple[str, str]]:
    reasons = {"cublas": _without_cublas(), "cudnn": missing()}
    return [(library, why) for library, why in reasons.items() if why is not None]


def _without_cublas() -> str | None:
    try:
        from cupy_backends.cuda.libs import cublas  # noqa: F401  # whether it loads
    # Without the library CuPy's module cannot be loaded, and says so in its version's way.
    except Exception as error:
        return f"cuBLAS cannot be loaded ({error})"
    return None


def _as_columns(matrix: Any) -> tuple[bool, int]:
    """Whether lines lie across the matrix as BLAS sees it, and the elements from one to the next.

    A matrix in C order is one that BLAS sees turned.
    """
    item = matrix.itemsize
    down, across = (stride // item for stride in matrix.strides)
    if across == 1 or matrix.shape[1] == 1:
        return False, max(down, matrix.shape[1], 1)
    return True, max(across, matrix.shape[0], 1)
