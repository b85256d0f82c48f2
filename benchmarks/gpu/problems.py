"""Calls with whole numbers, whose results are exact, and the bits of what is computed."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import opspec
from gpu.machines import Machine
from opspec.conformance.oracle import exact_sum, forward_sum
from opspec.conformance.oracle_siblings import exact_filter_sum
from opspec.dtypes import numpy_dtype
from opspec.errors import UnsupportedByBackend
from opspec.registry import Backend

SIZE, CHANNELS, KERNEL, STRIDE = 9, (32, 24), 3, 2
DRY_SIZE, DRY_CHANNELS = 3, (8, 16)
ORACLES: dict[str, Callable[..., np.ndarray[Any, Any]]] = {
    "Conv3DBackpropInputV2": exact_sum,
    "Conv3D": forward_sum,
    "Conv3DBackpropFilterV2": exact_filter_sum,
}
OPERATIONS = tuple(ORACLES)
# What is the result, and the argument that holds its shape.
RESULTS = {
    "Conv3DBackpropInputV2": ("input", "input_sizes"),
    "Conv3D": ("out_backprop", ""),
    "Conv3DBackpropFilterV2": ("filter", "filter_sizes"),
}


class Problem:
    """A call of one of the operations with its operands on the device.

    Parameters
    ----------
    machine
        Where.
    dtype
        Of everything.
    operation
        Which.
    """

    def __init__(
        self, machine: Machine, dtype: str, operation: str = "Conv3DBackpropInputV2"
    ) -> None:
        size = DRY_SIZE if machine.dry else SIZE
        made, contracted = DRY_CHANNELS if machine.dry else CHANNELS
        rng = np.random.default_rng(20261203)
        shapes = {
            "input": (2, *[size * STRIDE] * 3, made),
            "filter": (*[KERNEL] * 3, made, contracted),
            "out_backprop": (2, *[size] * 3, contracted),
        }
        self.operation = operation
        self._attributes: dict[str, Any] = {
            "strides": [1, *[STRIDE] * 3, 1],
            "padding": "SAME",
            "data_format": "NDHWC",
            "dilations": [1] * 5,
        }
        side, sizes = RESULTS[operation]
        if sizes:
            self._attributes[sizes] = list(shapes[side])
        self.host = {
            name: rng.integers(-2, 3, shape).astype(numpy_dtype(dtype))
            for name, shape in shapes.items()
            if name != side
        }
        self.operands = {name: machine.put(array) for name, array in self.host.items()}

    def run(self, backend: Backend) -> Any:
        """Compute on the device."""
        call = getattr(opspec.raw_ops, self.operation)
        return call(**self._attributes, **self.operands, backend=backend)

    def expected(self) -> np.ndarray[Any, Any]:
        """Return the definition's sums, in integers and rounded once to the dtype."""
        sums = ORACLES[self.operation](**self._attributes, **self.host)
        return sums.astype(next(iter(self.host.values())).dtype)


def columns_bytes(machine: Machine) -> int:
    """Return what the columns of tier gemm take in float32: positions x taps x channels."""
    size, (made, _) = (DRY_SIZE, DRY_CHANNELS) if machine.dry else (SIZE, CHANNELS)
    return 4 * 2 * size**3 * KERNEL**3 * made


def each_tier(machine: Machine, problem: Problem) -> Iterator[tuple[str, Backend]]:
    """Yield the tiers that take a problem."""
    for tier, backend in machine.backends.items():
        try:
            problem.run(backend)
        except UnsupportedByBackend:
            continue
        yield tier, backend


def require_same(given: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], what: str) -> None:
    """Raise unless both are the same bits."""
    if given.shape != expected.shape or given.tobytes() != expected.tobytes():
        raise AssertionError(f"{what}: {np.sum(given != expected)} of {given.size} elements differ")
