"""The GPU that a run is for."""

# CuPy and torch are not installed where types are checked.
# pyright: reportMissingImports=false

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpu.machines import Array, Call
from opspec.backends.cupy.port import Port
from opspec.backends.cupy.settings import TIERS

# Bytes of 0xFF are NaN in every dtype.
POISON = 0xFF
SPIN = """
extern "C" __global__ void spin(long long nanoseconds) {
    long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
"""
# The most that the device is kept busy while the host launches what is timed.
MOST_BUSY_SECONDS = 0.2


class Gpu:
    """The current GPU."""

    dry = False

    def __init__(self) -> None:
        from opspec.backends.cupy.available import unavailable

        if why := unavailable():
            raise SystemExit(f"gpu_run: {why}; --dry needs no GPU")
        import cupy

        from opspec.backends.cupy import backend, tiers
        from opspec.backends.cupy.on_device import port

        self._cupy = cupy
        self.port: Port = port
        without = dict(port.traits().without)
        self.backends = {"cupy": backend} | {
            tier: getattr(tiers, tier) for tier in TIERS if tier not in without
        }
        self._spin = cupy.RawKernel(SPIN, "spin")

    def put(self, array: np.ndarray[Any, Any]) -> Array:
        """Return a copy on the device."""
        return self._cupy.asarray(array)

    def get(self, array: Array) -> np.ndarray[Any, Any]:
        """Return a copy on the host."""
        made: np.ndarray[Any, Any] = self._cupy.asnumpy(array)
        return made

    def synchronize(self) -> None:
        """Wait for all that was launched."""
        self._cupy.cuda.runtime.deviceSynchronize()

    @contextmanager
    def poisoned(self) -> Iterator[None]:
        """Let fresh memory be full of NaN."""
        pool = self._cupy.cuda.MemoryPool()

        def allocate(size: int) -> Any:
            memory = pool.malloc(size)
            memory.memset_async(POISON, size)
            return memory

        with self._cupy.cuda.using_allocator(allocate):
            yield

    @contextmanager
    def scarce(self, extra: int) -> Iterator[None]:
        """Let there be memory for what is held now and so many bytes more."""
        pool = self._cupy.get_default_memory_pool()
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + extra)
        try:
            yield
        finally:
            pool.set_limit(size=0)

    @contextmanager
    def another_stream(self) -> Iterator[None]:
        """Make a stream of its own the current one, and wait for it at the end."""
        ready = self._cupy.cuda.get_current_stream().record()
        with self._cupy.cuda.Stream(non_blocking=True) as stream:
            stream.wait_event(ready)
            yield
            stream.synchronize()

    def to_torch(self, array: Array) -> Any:
        """Return the array as a tensor that shares its memory."""
        import torch

        if array.dtype.name == "bfloat16":
            return torch.from_dlpack(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_dlpack(array)

    def from_torch(self, tensor: Any) -> Array:
        """Return a tensor as an array."""
        import torch

        if tensor.dtype == torch.bfloat16:
            import ml_dtypes

            return self._cupy.from_dlpack(tensor.view(torch.int16)).view(ml_dtypes.bfloat16)
        return self._cupy.from_dlpack(tensor)

    def device_seconds(self, call: Call, times: int) -> float:
        """Return how long the device takes for one of several calls."""
        cuda = self._cupy.cuda
        before = time.perf_counter()
        call()
        # Keeps the device busy until the host has launched everything.
        busy = min((time.perf_counter() - before) * (times + 2) * 1.5, MOST_BUSY_SECONDS)
        self.synchronize()
        self._spin((1,), (1,), (np.int64(busy * 1e9),))
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        for _ in range(times):
            call()
        stop.record()
        stop.synchronize()
        seconds: float = cuda.get_elapsed_time(start, stop) / 1000 / times
        return seconds
