"""The benchmark's workloads by each tier and by torch's cuDNN, turn by turn."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from workload import Workload
from workloads import WORKLOADS

import opspec
from gpu.ceilings import floor_seconds
from gpu.machines import Call, Machine, host_seconds, require_torch
from gpu.session import Budget
from gpu.timed_calls import (
    OPERATIONS,
    TRANSPOSE,
    as_opspec_has_it,
    opspec_call,
    shapes,
    torch_call,
)
from opspec.backends.cupy.settings import allow_tf32
from opspec.dtypes import numpy_dtype
from opspec.errors import UnsupportedByBackend

ROUNDS, DRY_ROUNDS = 7, 1
# Enough calls for a few milliseconds, so that events resolve them.
ROUND_SECONDS, MOST_CALLS = 4e-3, 200
HOST_CALLS = 50
KINDS = ("float16", "float32", "tf32", "bfloat16", "float64")
# Two results of the same sums, by the rounding of operands and result and of sums in any order.
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "tf32": 5e-3, "float64": 1e-13}
LARGER = ("unet3d_up1", "gan3d_16_128", "bp_k3s1_32", "bp_c3d_first")


def speed(machine: Machine, budget: Budget, ceilings: dict[str, float]) -> list[dict[str, Any]]:
    """Time every workload in every dtype, as far as the time goes; the most telling first."""
    torch = require_torch()
    torch.backends.cudnn.benchmark = True
    rows = []
    for workload, kind, operation in problems(machine):
        if budget.left < 0:
            break
        rows.append(_row(machine, workload, kind, operation, ceilings))
    return rows


def problems(machine: Machine) -> Iterator[tuple[Workload, str, str]]:
    """Yield what is timed: all workloads in half precision, four of them by the siblings, the rest.

    The rest are all workloads of the other kinds, and four of them eight times as large.
    """
    if machine.dry:
        for workload in WORKLOADS[:2]:
            small = replace(workload, spatial=(2, 2, 2), in_channels=8, out_channels=8, batch=1)
            for operation in OPERATIONS:
                yield small, "float16", operation
            yield small, "float32", TRANSPOSE
        return
    few = [workload for workload in WORKLOADS if workload.name in LARGER]
    for kind in KINDS:
        for workload in WORKLOADS:
            yield workload, kind, TRANSPOSE
        for operation, workload in product(OPERATIONS[1:], few):
            yield workload, kind, operation
    for kind, workload in product(KINDS, few):
        larger = replace(workload, name=f"{workload.name} x8", batch=8 * workload.batch)
        yield larger, kind, TRANSPOSE


def _row(
    machine: Machine, workload: Workload, kind: str, operation: str, ceilings: dict[str, float]
) -> dict[str, Any]:
    dtype = "float32" if kind == "tf32" else kind
    workload = replace(workload, dtype=dtype)
    rng = np.random.default_rng(20261203)
    operands = tuple(
        machine.put(rng.standard_normal(shape, np.float32).astype(numpy_dtype(dtype)))
        for shape in shapes(workload, operation)
    )
    ours = opspec_call(workload, operation, operands)
    with allow_tf32(kind == "tf32"):
        candidates = dict(_candidates(machine, workload, operation, operands, kind == "tf32"))
        refused = {name: str(why)[:200] for name, why in candidates.items() if not callable(why)}
        calls = {name: call for name, call in candidates.items() if callable(call)}
        differences = _differences(machine, operation, calls)
        taken: dict[str, list[float]] = {name: [] for name in calls}
        counts = {name: _count(machine.device_seconds(call, 1)) for name, call in calls.items()}
        for _ in range(DRY_ROUNDS if machine.dry else ROUNDS):
            for name, call in calls.items():
                taken[name].append(machine.device_seconds(call, counts[name]))
        host = {name: host_seconds(machine, call, HOST_CALLS) for name, call in calls.items()}
        explained = opspec.explain(ours.func, **ours.keywords, backend=machine.backends["cupy"])
    bytes = workload.operand_bytes + workload.result_bytes
    floor, bound = floor_seconds(ceilings, kind, bytes, workload.useful_multiply_adds)
    wrong = {name: gap for name, gap in differences.items() if not gap <= TOLERANCE[kind]}
    return {
        "workload": workload.name if operation == TRANSPOSE else f"{workload.name} {operation}",
        "kind": kind,
        "chosen": str(explained.detail),
        "device": {name: median(times) for name, times in taken.items()},
        "rounds": taken,
        "host": host,
        "floor": floor,
        "bound by": bound,
        "difference from simt": differences,
        "wrong": wrong,
        "refused": refused,
    }


def _candidates(
    machine: Machine,
    workload: Workload,
    operation: str,
    operands: tuple[Any, ...],
    tf32: bool,
) -> Iterator[tuple[str, Call | Exception]]:
    """Yield what is timed by name: a call, or why there is none."""
    ours = opspec_call(workload, operation, operands)
    for tier, backend in machine.backends.items():
        call = partial(ours, backend=backend)
        try:
            call()
            yield tier, call
        except (UnsupportedByBackend, MemoryError) as why:
            yield tier, why
    torch = require_torch()
    torch.backends.cudnn.allow_tf32 = tf32
    tensors = [machine.to_torch(array) for array in operands]
    for name, form in (
        ("torch channels_last_3d", torch.channels_last_3d),
        ("torch contiguous", torch.contiguous_format),
    ):
        theirs = torch_call(workload, operation, tensors, form)
        try:
            theirs()
            yield name, theirs
        # torch says that it cannot in several types.
        except Exception as why:
            yield name, why


def _differences(
    machine: Machine, operation: str, calls: dict[str, Callable[[], Any]]
) -> dict[str, float]:
    """Return each result's largest difference from tier simt's, over its largest value."""
    expected = machine.get(calls["simt"]()).astype(np.float64)
    largest = float(np.abs(expected).max()) or 1.0
    found = {}
    for name, call in calls.items():
        result = call()
        if name.startswith("torch"):
            result = machine.from_torch(as_opspec_has_it(result, operation))
        given = machine.get(result).astype(np.float64)
        found[name] = float(np.abs(given - expected).max()) / largest
    return found


def _count(seconds: float) -> int:
    return int(min(max(ROUND_SECONDS / max(seconds, 1e-9), 1), MOST_CALLS))
