"""The emulator in a GPU's place, so that CI can run the sections: their times mean nothing."""

# torch is not installed where types are checked.
# pyright: reportMissingImports=false

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from gpu.machines import Array, Call
from opspec.backends.cupy import SIXTEEN_BITS
from opspec.backends.cupy.port import Port
from opspec.backends.cupy.settings import TIERS
from opspec.dtypes import FLOATING
from opspec.registry import Backend


class Dry:
    """The emulator, played as a GPU: for the sections' own correctness, not for times."""

    dry = True

    def __init__(self) -> None:
        from opspec.backends.cupy.emulator import build, emulated, memory
        from opspec.backends.cupy.emulator.host import HostPort
        from opspec.backends.cupy.operations import implement

        if why := build.unavailable():
            raise SystemExit(f"gpu_run: {why}")

        class ScarcePort(HostPort):
            room = float("inf")

            def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
                if np.prod(shape, dtype=float) * np.dtype(dtype).itemsize > self.room:
                    raise MemoryError("the dry run plays a shortage")
                return super().empty(shape, dtype)

        self._memory = memory
        self._scarce = ScarcePort()
        self.port: Port = self._scarce
        self.backends: dict[str, Backend] = {}
        for tier in (None, *(tier for tier in TIERS if tier != "cudnn")):
            dtypes = SIXTEEN_BITS if tier == "tensor" else FLOATING
            backend = emulated(f"dry-{tier}", dtypes)
            implement(backend, self.port, tier)
            self.backends[tier or "cupy"] = backend

    def put(self, array: np.ndarray[Any, Any]) -> Array:
        """Return a copy on the device."""
        return self._memory.from_numpy(array)

    def get(self, array: Array) -> np.ndarray[Any, Any]:
        """Return a copy on the host."""
        return self._memory.to_numpy(array)

    def synchronize(self) -> None:
        """Nothing runs behind the host's back."""

    def poisoned(self) -> AbstractContextManager[None]:
        """Let fresh memory be full of NaN."""
        # The emulator's memory always is.
        return nullcontext()

    @contextmanager
    def scarce(self, extra: int) -> Iterator[None]:
        """Let there be memory for what is held now and so many bytes more."""
        self._scarce.room = extra
        try:
            yield
        finally:
            self._scarce.room = float("inf")

    def another_stream(self) -> AbstractContextManager[None]:
        """Make a stream of its own the current one, and wait for it at the end."""
        return nullcontext()

    def to_torch(self, array: Array) -> Any:
        """Return the array as a tensor that shares its memory."""
        import torch

        view = self._memory.as_numpy(array)
        if view.dtype.name == "bfloat16":
            return torch.from_numpy(view.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(view)

    def from_torch(self, tensor: Any) -> Array:
        """Return a tensor as an array."""
        import torch

        if tensor.dtype == torch.bfloat16:
            import ml_dtypes

            return self.put(tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
        return self.put(tensor.numpy())

    def device_seconds(self, call: Call, times: int) -> float:
        """Return how long the device takes for one of several calls."""
        since = time.perf_counter()
        for _ in range(times):
            call()
        return (time.perf_counter() - since) / times
