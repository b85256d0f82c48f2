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
INPUT, OUTPUT, FILTER = "Conv3DBackpropInputV2", "Conv3D", "Conv3DBackpropFilterV2"
# Operation, tier, dtype, data format, channels of the large and of the small side.
TINY = (
    (INPUT, "simt", "float32", "NDHWC", 8, 16),
    (INPUT, "simt", "float64", "NCDHW", 5, 3),
    (INPUT, "simt", "float16", "NDHWC", 5, 7),
    (INPUT, "tensor", "float16", "NDHWC", 16, 32),
    (INPUT, "tensor", "bfloat16", "NCDHW", 9, 5),
    (INPUT, "gemm", "float32", "NDHWC", 8, 16),
    (OUTPUT, "simt", "float32", "NDHWC", 16, 8),
    (OUTPUT, "tensor", "float16", "NDHWC", 32, 16),
    (OUTPUT, "tensor", "bfloat16", "NCDHW", 5, 9),
    (OUTPUT, "gemm", "float32", "NCDHW", 16, 8),
    (FILTER, "simt", "float32", "NDHWC", 16, 8),
    (FILTER, "tensor", "float16", "NDHWC", 32, 16),
    (FILTER, "tensor", "bfloat16", "NCDHW", 5, 9),
    (FILTER, "gemm", "float16", "NDHWC", 16, 8),
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
    from gpu.problems import ORACLES, RESULTS
    from opspec.dtypes import numpy_dtype

    machine: Machine = Dry() if "--dry" in sys.argv else Gpu()
    rng = np.random.default_rng(20261203)
    for operation, tier, dtype, data_format, large, small in TINY:
        channels_last = data_format == "NDHWC"
        shapes = {
            "input": (1, 6, 8, 10, large) if channels_last else (1, large, 6, 8, 10),
            "filter": (3, 3, 3, large, small),
            "out_backprop": (1, 3, 4, 5, small) if channels_last else (1, small, 3, 4, 5),
        }
        attributes: dict[str, Any] = {
            "strides": [1, 2, 2, 2, 1] if channels_last else [1, 1, 2, 2, 2],
            "padding": "SAME",
            "data_format": data_format,
            "dilations": [1] * 5,
        }
        made, sizes = RESULTS[operation]
        if sizes:
            attributes[sizes] = list(shapes[made])
        operands = {
            name: rng.integers(-2, 3, shape).astype(numpy_dtype(dtype))
            for name, shape in shapes.items()
            if name != made
        }
        given = getattr(opspec.raw_ops, operation)(
            **{name: machine.put(array) for name, array in operands.items()},
            **attributes,
            backend=machine.backends[tier],
        )
        expected = ORACLES[operation](**operands, **attributes)
        if (machine.get(given) != expected.astype(numpy_dtype(dtype))).any():
            raise AssertionError(f"{operation}, {tier}, {dtype}, {data_format}: a wrong result")
    print(f"{len(TINY)} tiny calls are right")


if __name__ == "__main__":
    main()
