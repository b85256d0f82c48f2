"""Every kernel compiled for this device, held to the table, and loaded."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gpu.machines import Machine
from gpu.session import Budget
from opspec.backends.cupy.kernels import every_kernel
from opspec.backends.cupy.resources import TABLE, compile_one, key, worse

DRY_STEP = 20


def compile_all(machine: Machine, budget: Budget) -> dict[str, Any]:
    """Compile in as many threads as there are cores; then load one kernel after the other."""
    capability = machine.port.traits().capability
    kernels = [kernel for kernel in every_kernel() if kernel.capability <= capability]
    if machine.dry:
        kernels = kernels[::DRY_STEP]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(pool.map(compile_one, [(kernel, capability) for kernel in kernels]))
    allowed = json.loads(TABLE.read_text("utf-8"))
    listed = [each for each in compiled if key(each.kernel, capability) in allowed]
    faults = [fault for each in listed for fault in worse(each, allowed)]
    loaded = 0
    for kernel in kernels:
        if budget.left < 0:
            break
        machine.port.prepare(kernel)
        loaded += 1
    if faults:
        raise AssertionError("\n".join(faults))
    return {
        "capability": capability,
        "compiled": len(compiled),
        "compared with the table": len(listed),
        "loaded": loaded,
        "spilling": sum(each.resources.spilled > 0 for each in compiled),
    }
