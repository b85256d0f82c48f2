"""What the sections run on: a GPU (`device.py`) or, for a dry run, the emulator (`dry.py`)."""

# torch is not installed where types are checked.
# pyright: reportMissingImports=false

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from gpu.session import NotHere
from opspec.backends.cupy.port import Port
from opspec.registry import Backend

Array = Any
Call = Callable[[], Any]


class Machine(Protocol):
    """A place where the CuPy backend computes.

    Attributes
    ----------
    dry
        Whether the device is only played.
    port
        What the backend computes on.
    backends
        The backend that chooses a tier, as ``"cupy"``, and one for each tier that can be had.
    """

    dry: bool
    port: Port
    backends: dict[str, Backend]

    def put(self, array: np.ndarray[Any, Any]) -> Array:
        """Return a copy on the device."""
        ...

    def get(self, array: Array) -> np.ndarray[Any, Any]:
        """Return a copy on the host."""
        ...

    def synchronize(self) -> None:
        """Wait for all that was launched."""
        ...

    def poisoned(self) -> AbstractContextManager[None]:
        """Let fresh memory be full of NaN."""
        ...

    def scarce(self, extra: int) -> AbstractContextManager[None]:
        """Let there be memory for what is held now and so many bytes more."""
        ...

    def another_stream(self) -> AbstractContextManager[None]:
        """Make a stream of its own the current one, and wait for it at the end."""
        ...

    def to_torch(self, array: Array) -> Any:
        """Return the array as a tensor that shares its memory."""
        ...

    def from_torch(self, tensor: Any) -> Array:
        """Return a tensor as an array."""
        ...

    def device_seconds(self, call: Call, times: int) -> float:
        """Return how long the device takes for one of several calls, the host's time left out."""
        ...


def host_seconds(machine: Machine, call: Call, times: int) -> float:
    """Return how long the host takes for one of several calls, the device's time left out."""
    machine.synchronize()
    since = time.perf_counter()
    for _ in range(times):
        call()
    seconds = (time.perf_counter() - since) / times
    machine.synchronize()
    return seconds


def require_torch() -> Any:
    """Return torch, or raise NotHere."""
    try:
        import torch
    except ImportError as error:
        raise NotHere("torch is not installed") from error
    return torch
