"""All that the backend asks of a device: the things that need a driver.

Everything else (checks, plans, views of arrays) is the same code wherever it runs, on genuine
`cupy.ndarray` objects. The device's port is in `device.py`; `emulator/` has one without a device.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.kernels import Kernel
from opspec.geometry import Side


@dataclass(frozen=True, slots=True)
class Traits:
    """What a plan depends on.

    Parameters
    ----------
    capability
        Compute capability, such as 90 for 9.0.
    processors
        Multiprocessors.
    shared_bytes
        The most shared memory that one block may have.
    without
        Why a library cannot be used, such as ``"cublas"``. Those that can are not in it.
    """

    capability: int
    processors: int
    shared_bytes: int
    without: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CudnnPlan:
    """A plan of cuDNN for one problem on one device.

    Parameters
    ----------
    graph
        cuDNN's object.
    workspace_bytes
        The scratch memory that an execution takes.
    """

    graph: Any = field(repr=False)
    workspace_bytes: int


class Port(Protocol):
    """What a device does."""

    def traits(self) -> Traits:
        """Describe the current device."""
        ...

    def on(self, array: Any) -> AbstractContextManager[object]:
        """Make the device of an array the current one."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a fresh array of garbage."""
        ...

    def clear(self, array: Any) -> None:
        """Fill a contiguous array with zeros."""
        ...

    def contiguous(self, array: Any) -> Any:
        """Return the array, or a copy in C order."""
        ...

    def copy(self, source: Any, target: Any) -> None:
        """Copy an array into another of its shape and dtype; both may lie in any way."""
        ...

    def multiply(self, left: Any, right: Any, result: Any, *, add: bool = False) -> None:
        """Set result = left @ right.T, added up in float32 or wider, without TF32.

        Each is a matrix with one contiguous axis, `result`'s being the last. It may be of a wider
        dtype than the operands. With `add`, the product is added to what it holds.
        """
        ...

    def prepare(self, kernel: Kernel) -> None:
        """Compile a kernel and load it on the current device, if it is not there."""
        ...

    def launch(self, kernel: Kernel, blocks: int, arguments: tuple[Any, ...]) -> None:
        """Launch a kernel on the current stream."""
        ...

    def cudnn_plan(self, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
        """Return cuDNN's plan on the current device, or None if it has none. Kept.

        Parameters
        ----------
        convolution
            The problem.
        tf32
            Whether float32 may be rounded to TF32.
        """
        ...

    def execute(self, plan: CudnnPlan, arrays: dict[Side, Any], workspace: Any) -> None:
        """Run a plan on the current stream, with its sides."""
        ...

    def release_memory(self) -> None:
        """Give back what the memory pool holds and nobody uses."""
        ...
