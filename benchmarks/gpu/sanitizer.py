"""NVIDIA's compute-sanitizer over tiny calls, one for each way to read and each family of kernels.

Run as a program, this module is what the sanitizer watches.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from gpu.machines import Machine
from gpu.session import Budget, NotHere

TOOLS = ("memcheck", "racecheck")
FAULTS = "ERROR SUMMARY: 0 errors"
NO_HAZARDS = "RACECHECK SUMMARY: 0 hazards"
# Tier, dtype, data format, channels of the result and of out_backprop.
TINY = (
    ("simt", "float32", "NDHWC", 8, 16),
    ("simt", "float64", "NCDHW", 5, 3),
    ("simt", "float16", "NDHWC", 5, 7),
    ("tensor", "float16", "NDHWC", 16, 32),
    ("tensor", "bfloat16", "NCDHW", 9, 5),
    ("gemm", "float32", "NDHWC", 8, 16),
)


def sanitized(machine: Machine, budget: Budget) -> dict[str, Any]:
    """Run the tiny calls under each tool; a dry run runs them alone."""
    if machine.dry:
        return {"alone": _run([], budget, "--dry").splitlines()[-1]}
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(tool).is_file():
        raise NotHere("compute-sanitizer is not installed")
    said = {}
    for name in TOOLS:
        printed = _run([tool, "--tool", name], budget)
        if FAULTS not in printed and NO_HAZARDS not in printed:
            raise AssertionError(f"{name}:\n{printed[-2000:]}")
        said[name] = printed.splitlines()[-1]
    return said


def _run(before: list[str], budget: Budget, *options: str) -> str:
    command = [*before, sys.executable, "-m", "gpu.sanitizer", *options]
    here = Path(__file__).parent.parent
    done = subprocess.run(
        command,
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
        timeout=max(budget.left, 1),
    )
    if done.returncode:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def main() -> None:
    """Make the tiny calls."""
    import numpy as np

    import opspec
    from gpu.device import Gpu
    from gpu.dry import Dry
    from opspec.conformance.oracle import exact_sum
    from opspec.dtypes import numpy_dtype

    machine: Machine = Dry() if "--dry" in sys.argv else Gpu()
    rng = np.random.default_rng(20261203)
    for tier, dtype, data_format, made, contracted in TINY:
        channels_last = data_format == "NDHWC"
        data_shape = (1, 3, 4, 5, contracted) if channels_last else (1, contracted, 3, 4, 5)
        sizes = (1, 6, 8, 10, made) if channels_last else (1, made, 6, 8, 10)
        steps = (1, 2, 2, 2, 1) if channels_last else (1, 1, 2, 2, 2)
        filter, data = (
            rng.integers(-2, 3, shape).astype(numpy_dtype(dtype))
            for shape in ((3, 3, 3, made, contracted), data_shape)
        )
        attributes: dict[str, Any] = {
            "input_sizes": list(sizes),
            "strides": list(steps),
            "padding": "SAME",
            "data_format": data_format,
            "dilations": [1] * 5,
        }
        given = opspec.raw_ops.Conv3DBackpropInputV2(
            filter=machine.put(filter),
            out_backprop=machine.put(data),
            **attributes,
            backend=machine.backends[tier],
        )
        expected = exact_sum(filter=filter, out_backprop=data, **attributes)
        if (machine.get(given) != expected.astype(data.dtype)).any():
            raise AssertionError(f"tier {tier}, {dtype}, {data_format}: a wrong result")
    print(f"{len(TINY)} tiny calls are right")


if __name__ == "__main__":
    main()
