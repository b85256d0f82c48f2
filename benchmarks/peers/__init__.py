"""The libraries that are timed against each other, one module for each API.

A peer's module is imported in its own process only, by `peer_process`, so that no library needs
another one's environment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from workload import Workload

Array: TypeAlias = np.ndarray[Any, Any]
Call: TypeAlias = Callable[[], Array]

OURS = ("opspec-numba", "opspec-numpy")
# What `--python` names: the library that has to be installed where a peer runs.
LIBRARIES = {
    "opspec-numba": "opspec",
    "opspec-numpy": "opspec",
    "tensorflow": "tensorflow",
    "torch": "torch",
    "torch-channels-last": "torch",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
}


class Refused(Exception):
    """A peer does not take a workload; the message says why."""


@dataclass(frozen=True, slots=True)
class Operands:
    """What a peer is given: one workload with its arrays, in the workload's own layout.

    Parameters
    ----------
    workload
        The problem.
    input, filters
        Its operands.
    out
        Where the result is to be written, or None for a fresh array.
    """

    workload: Workload
    input: Array
    filters: Array
    out: Array | None = None


class Peer(Protocol):
    """One library in one process.

    Attributes
    ----------
    channels_first
        Whether its results come as NCDHW whatever the workload's data format is.
    """

    channels_first: bool

    @property
    def packages(self) -> tuple[str, ...]:
        """Distributions whose versions matter."""
        ...

    def prepared(self, operands: Operands) -> Call:
        """Return the call to time, the operands already arranged as the library likes them.

        Raises
        ------
        Refused
            If the library does not take the workload.
        """
        ...


def opened(name: str, threads: int) -> Peer:
    """Import a peer's library and tell it how many threads to use.

    Parameters
    ----------
    name
        One of `LIBRARIES`.
    threads
        How many.

    Raises
    ------
    ImportError
        If the library is not installed.
    Refused
        If it cannot run here.
    """
    match name:
        case "opspec-numba" | "opspec-numpy":
            from peers.opspec_backend import OpspecBackend

            return OpspecBackend(name.removeprefix("opspec-"))
        case "tensorflow":
            from peers.tensorflow_eager import TensorFlowEager

            return TensorFlowEager(threads)
        case "torch" | "torch-channels-last":
            from peers.torch_functional import TorchFunctional

            return TorchFunctional(threads, channels_last=name != "torch")
        case "onnxruntime":
            from peers.onnx_runtimes import OnnxRuntime

            return OnnxRuntime(threads)
        case "openvino":
            from peers.onnx_runtimes import OpenVino

            return OpenVino(threads)
    raise LookupError(f"no peer is called {name!r}; there are {', '.join(LIBRARIES)}")
