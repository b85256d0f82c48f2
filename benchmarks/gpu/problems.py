"""Calls with whole numbers, whose results are exact, and the bits of what is computed."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import opspec
from gpu.machines import Machine
from opspec.conformance.oracle import exact_sum
from opspec.dtypes import numpy_dtype
from opspec.errors import UnsupportedByBackend
from opspec.registry import Backend

SIZE, CHANNELS, KERNEL, STRIDE = 9, (32, 24), 3, 2
DRY_SIZE, DRY_CHANNELS = 3, (8, 16)


class Problem:
    """A call of Conv3DBackpropInputV2 with its operands on the device.

    Parameters
    ----------
    machine
        Where.
    dtype
        Of everything.
    """

    def __init__(self, machine: Machine, dtype: str) -> None:
        size = DRY_SIZE if machine.dry else SIZE
        made, contracted = DRY_CHANNELS if machine.dry else CHANNELS
        rng = np.random.default_rng(20261203)
        kind = numpy_dtype(dtype)
        self._given: dict[str, Any] = {
            "input_sizes": [2, *[size * STRIDE] * 3, made],
            "strides": [1, *[STRIDE] * 3, 1],
            "padding": "SAME",
            "data_format": "NDHWC",
            "dilations": [1] * 5,
        }
        self.host_filter = rng.integers(-2, 3, (*[KERNEL] * 3, made, contracted)).astype(kind)
        self.host_data = rng.integers(-2, 3, (2, *[size] * 3, contracted)).astype(kind)
        self.filter = machine.put(self.host_filter)
        self.data = machine.put(self.host_data)

    def run(self, backend: Backend) -> Any:
        """Compute on the device."""
        given = {**self._given, "filter": self.filter, "out_backprop": self.data}
        return opspec.raw_ops.Conv3DBackpropInputV2(**given, backend=backend)

    def expected(self) -> np.ndarray[Any, Any]:
        """Return the definition's sums, in integers and rounded once to the dtype."""
        given = {**self._given, "filter": self.host_filter, "out_backprop": self.host_data}
        return exact_sum(**given).astype(self.host_data.dtype)


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
