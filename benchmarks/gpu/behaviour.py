"""What else a caller relies on: determinism, streams, torch, scarce memory, huge arrays."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

import opspec
from gpu.machines import Machine, require_torch
from gpu.problems import OPERATIONS, Problem, columns_bytes, each_tier, require_same
from gpu.session import Budget
from opspec.dtypes import FLOATING

# 2**31 elements are passed by 1300 in each dimension.
HUGE, DRY_HUGE = 1300, 6
ROWS_AT_ONCE = 20


def determinism(machine: Machine, budget: Budget) -> dict[str, Any]:
    """Call each tier three times: the same bits, which are the right ones."""
    seen = []
    for operation, dtype in product(OPERATIONS, FLOATING):
        problem = Problem(machine, dtype, operation)
        expected = problem.expected()
        for tier, backend in each_tier(machine, problem):
            what = f"{operation}, {dtype}, tier {tier}"
            for number in range(3):
                given = machine.get(problem.run(backend))
                require_same(given, expected, f"{what}, call {number}")
            seen.append(what)
    return {"same bits": seen}


def streams(machine: Machine, budget: Budget) -> dict[str, Any]:
    """Call on streams of the caller's."""
    seen = []
    for operation, dtype in product(OPERATIONS, FLOATING):
        problem = Problem(machine, dtype, operation)
        expected = problem.expected()
        for tier, backend in each_tier(machine, problem):
            what = f"{operation}, {dtype}, tier {tier}"
            with machine.another_stream():
                result = problem.run(backend)
            require_same(machine.get(result), expected, f"{what}, another stream")
            seen.append(what)
    return {"right": seen}


def tensors_of_torch(machine: Machine, budget: Budget) -> dict[str, Any]:
    """Take operands from torch, and give torch the result."""
    torch = require_torch()
    kinds = {
        "float16": torch.float16,
        "bfloat16": torch.bfloat16,
        "float32": torch.float32,
        "float64": torch.float64,
    }
    for dtype, kind in kinds.items():
        problem = Problem(machine, dtype)
        problem.operands = {
            name: machine.from_torch(machine.to_torch(array).clone())
            for name, array in problem.operands.items()
        }
        result = problem.run(machine.backends["cupy"])
        tensor = machine.to_torch(result)
        if tensor.dtype != kind:
            raise AssertionError(f"a tensor of {tensor.dtype}, not of {kind}")
        given = machine.get(machine.from_torch(tensor))
        require_same(given, problem.expected(), f"{dtype} from and to torch")
    return {"right": list(kinds)}


def scarce_memory(machine: Machine, budget: Budget) -> dict[str, Any]:
    """Let the columns of tier gemm have less memory than they take."""
    from opspec.backends.cupy import columns

    needs = {}
    for operation in OPERATIONS:
        problem = Problem(machine, "float32", operation)
        expected = problem.expected()
        need = columns_bytes(machine)
        with _least_workspace(columns, need // 64), machine.scarce(expected.nbytes + need // 3):
            given = machine.get(problem.run(machine.backends["gemm"]))
        require_same(given, expected, f"{operation}, a third of the memory for columns")
        needs[operation] = need
    return {"columns' bytes": needs}


@contextmanager
def _least_workspace(columns: Any, size: int) -> Iterator[None]:
    usual = columns.LEAST_WORKSPACE
    columns.LEAST_WORKSPACE = size
    try:
        yield
    finally:
        columns.LEAST_WORKSPACE = usual


def beyond_32_bits(machine: Machine, budget: Budget) -> dict[str, Any]:
    """Make a result of more than 2**31 elements, and compare all of it.

    With kernel = stride = 2 each element is one product, result[2 i + a] = data[i] * filter[a].
    """
    size = DRY_HUGE if machine.dry else HUGE
    half = size // 2
    rng = np.random.default_rng(20261203)
    filter = np.arange(1, 9, dtype=np.float16).reshape(2, 2, 2, 1, 1)
    data = rng.integers(-9, 10, (1, half, half, half, 1)).astype(np.float16)
    result = opspec.raw_ops.Conv3DBackpropInputV2(
        input_sizes=np.array([1, size, size, size, 1]),
        filter=machine.put(filter),
        out_backprop=machine.put(data),
        strides=[1, 2, 2, 2, 1],
        padding="VALID",
        backend=machine.backends["simt"],
    )
    for first in range(0, half, ROWS_AT_ONCE):
        part = data[0, first : first + ROWS_AT_ONCE, :, :, 0]
        products = part[:, None, :, None, :, None] * filter[None, :, None, :, None, :, 0, 0]
        expected = products.reshape(2 * len(part), size, size)
        given = machine.get(result[0, 2 * first : 2 * first + 2 * len(part), :, :, 0])
        require_same(given, expected, f"planes {2 * first} and on of {size}")
    return {"elements": size**3}
