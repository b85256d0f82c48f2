"""cuDNN on the devices of this process: a handle for each device, and the plans made so far."""

# CuPy and cuDNN's frontend are extras, and have no types.
# pyright: reportMissingImports=false

import threading
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import cupy

from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.cudnn import NUMBERS, build
from opspec.backends.cupy.port import CudnnPlan
from opspec.geometry import Side

MOST_PLANS = 256


class CudnnLibrary:
    """Makes, keeps and runs plans on the current device.

    cuDNN allows one thread at a time on a handle. A lock, held while the host launches, costs less
    than a handle and plans for each thread.
    """

    def __init__(self) -> None:
        self._handles: dict[int, Any] = {}
        self._lock = threading.Lock()
        self._kept = lru_cache(MOST_PLANS)(self._build)

    def plan(self, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
        """Return cuDNN's plan on the current device, or None if it has none."""
        with self._lock:
            return self._kept(cupy.cuda.runtime.getDevice(), convolution, tf32)

    def execute(self, plan: CudnnPlan, arrays: dict[Side, Any], workspace: Any) -> None:
        """Run a plan on the current stream."""
        import cudnn

        pointers = {NUMBERS[side]: array.data.ptr for side, array in arrays.items()}
        with self._lock:
            handle = self._handle(cupy.cuda.runtime.getDevice())
            cudnn.set_stream(handle=handle, stream=cupy.cuda.get_current_stream().ptr)
            plan.graph.execute(pointers, workspace.data.ptr, handle=handle)

    def _build(self, device: int, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
        return build(convolution, tf32=tf32, handle=self._handle(device))

    def _handle(self, device: int) -> Any:
        import cudnn

        if device not in self._handles:
            self._handles[device] = cudnn.create_handle()
        return self._handles[device]


def missing() -> str | None:
    """Say why cuDNN cannot be used, or None."""
    extra = f"cudnn{cupy.cuda.runtime.runtimeGetVersion() // 1000}"
    if find_spec("cudnn") is None:
        return f"cuDNN's frontend is not installed; pip install 'opspec[{extra}]'"
    try:
        import cudnn

        cudnn.backend_version()
    # The frontend finds the library when it is first asked, and says so in its version's way.
    except Exception as error:
        return f"cuDNN cannot be loaded ({error}); pip install 'opspec[{extra}]'"
    return None
