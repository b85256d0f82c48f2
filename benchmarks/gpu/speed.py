"""The benchmark's workloads by each tier and by torch's cuDNN, turn by turn."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from workload import Workload
from workloads import WORKLOADS

import opspec
from gpu.ceilings import floor_seconds
from gpu.machines import Call, Machine, host_seconds, require_torch
from gpu.session import Budget
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
    for workload, kind in problems(machine):
        if budget.left < 0:
            break
        rows.append(_row(machine, workload, kind, ceilings))
    return rows


def problems(machine: Machine) -> Iterator[tuple[Workload, str]]:
    """Yield what is timed: each kind with all workloads, then four of them eight times as large."""
    if machine.dry:
        for workload in WORKLOADS[:2]:
            small = replace(workload, spatial=(2, 2, 2), in_channels=8, out_channels=8, batch=1)
            yield small, "float16"
            yield small, "float32"
        return
    for kind in KINDS:
        for workload in WORKLOADS:
            yield workload, kind
    for kind in KINDS:
        for workload in WORKLOADS:
            if workload.name in LARGER:
                yield replace(workload, name=f"{workload.name} x8", batch=8 * workload.batch), kind


def _row(
    machine: Machine, workload: Workload, kind: str, ceilings: dict[str, float]
) -> dict[str, Any]:
    dtype = "float32" if kind == "tf32" else kind
    workload = replace(workload, dtype=dtype)
    rng = np.random.default_rng(20261203)
    operands = tuple(
        machine.put(rng.standard_normal(shape, np.float32).astype(numpy_dtype(dtype)))
        for shape in (workload.input_shape, workload.filters_shape)
    )
    with allow_tf32(kind == "tf32"):
        candidates = dict(_candidates(machine, workload, operands, kind == "tf32"))
        refused = {name: str(why)[:200] for name, why in candidates.items() if not callable(why)}
        calls = {name: call for name, call in candidates.items() if callable(call)}
        differences = _differences(machine, calls)
        taken: dict[str, list[float]] = {name: [] for name in calls}
        counts = {name: _count(machine.device_seconds(call, 1)) for name, call in calls.items()}
        for _ in range(DRY_ROUNDS if machine.dry else ROUNDS):
            for name, call in calls.items():
                taken[name].append(machine.device_seconds(call, counts[name]))
        host = {name: host_seconds(machine, call, HOST_CALLS) for name, call in calls.items()}
        explained = opspec.explain(
            "conv3d_transpose", *operands, **_keywords(workload), backend=machine.backends["cupy"]
        )
    bytes = workload.operand_bytes + workload.result_bytes
    floor, bound = floor_seconds(ceilings, kind, bytes, workload.useful_multiply_adds)
    wrong = {name: gap for name, gap in differences.items() if not gap <= TOLERANCE[kind]}
    return {
        "workload": workload.name,
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
    machine: Machine, workload: Workload, operands: tuple[Any, Any], tf32: bool
) -> Iterator[tuple[str, Call | Exception]]:
    """Yield what is timed by name: a call, or why there is none."""
    for tier, backend in machine.backends.items():
        call = partial(
            opspec.nn.conv3d_transpose, *operands, **_keywords(workload), backend=backend
        )
        try:
            call()
            yield tier, call
        except (UnsupportedByBackend, MemoryError) as why:
            yield tier, why
    torch = require_torch()
    from peers.torch_functional import conv_transpose3d

    torch.backends.cudnn.allow_tf32 = tf32
    transposed = conv_transpose3d(workload)
    # The workloads are NDHWC; torch's tensors have the channels first, however they lie.
    input = machine.to_torch(operands[0]).permute(0, 4, 1, 2, 3)
    filters = machine.to_torch(operands[1]).permute(4, 3, 0, 1, 2)
    for name, form in (
        ("torch channels_last_3d", torch.channels_last_3d),
        ("torch contiguous", torch.contiguous_format),
    ):
        arranged = [each.contiguous(memory_format=form) for each in (input, filters)]
        call = partial(transposed, *arranged)
        try:
            call()
            yield name, call
        # torch says that it cannot in several types.
        except Exception as why:
            yield name, why


def _keywords(workload: Workload) -> dict[str, Any]:
    return {
        "output_shape": workload.output_shape,
        "strides": workload.strides,
        "padding": workload.padding,
        "data_format": workload.data_format,
        "dilations": workload.dilations,
    }


def _differences(machine: Machine, calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return each result's largest difference from tier simt's, over its largest value."""
    expected = machine.get(calls["simt"]()).astype(np.float64)
    largest = float(np.abs(expected).max()) or 1.0
    found = {}
    for name, call in calls.items():
        result = call()
        if name.startswith("torch"):
            result = machine.from_torch(result.permute(0, 2, 3, 4, 1).contiguous())
        given = machine.get(result).astype(np.float64)
        found[name] = float(np.abs(given - expected).max()) / largest
    return found


def _count(seconds: float) -> int:
    return int(min(max(ROUND_SECONDS / max(seconds, 1e-9), 1), MOST_CALLS))
