"""What the device can do at most: a copy, and a matrix product of each dtype."""

from functools import partial
from typing import Any

import numpy as np

from gpu.machines import Machine, require_torch
from gpu.session import Budget

COPIED, SIDE, DRY_SIDE = 2**30, 8192, 64
TIMES, ROUNDS = 5, 3
KINDS = ("float16", "bfloat16", "float32", "tf32", "float64")


def ceilings(machine: Machine, budget: Budget) -> dict[str, float]:
    """Return bytes per second of a copy (read and written), and operations per second."""
    torch = require_torch()
    place = "cpu" if machine.dry else "cuda"
    copied = DRY_SIDE if machine.dry else COPIED
    source = torch.zeros(copied, dtype=torch.uint8, device=place)
    target = torch.empty_like(source)
    seconds = machine.device_seconds(partial(target.copy_, source), TIMES)
    found = {"bytes per second": 2 * copied / seconds}
    for kind in KINDS:
        side = DRY_SIDE if machine.dry else SIDE // 2 if kind == "float64" else SIDE
        dtype = torch.float32 if kind == "tf32" else getattr(torch, kind)
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        left, right = (torch.randn(side, side, device=place).to(dtype) for _ in range(2))
        made = torch.empty_like(left)
        torch.matmul(left, right, out=made)
        times = [
            machine.device_seconds(partial(torch.matmul, left, right, out=made), TIMES)
            for _ in range(ROUNDS)
        ]
        found[kind] = 2 * side**3 / float(np.median(times))
    return found


def floor_seconds(ceilings: dict[str, float], kind: str, bytes: int, multiply_adds: int) -> Any:
    """Return the least time that a problem can take, and what it is bound by."""
    memory = bytes / ceilings["bytes per second"]
    arithmetic = 2 * multiply_adds / ceilings[kind]
    return max(memory, arithmetic), "memory" if memory > arithmetic else "arithmetic"
