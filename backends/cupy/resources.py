"""Every kernel compiled for every architecture, without a device, and held to a table.

``python -m opspec.backends.cupy.resources`` compiles them all and compares: more registers, bytes
spilled, or shared memory than the table allows is a failure, and so is a tensor-core kernel whose
machine code lacks the instruction that it is there for. ``--write`` makes the table anew.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from opspec.backends.cupy.compiler import compiled
from opspec.backends.cupy.kernels import Kernel, every_kernel

ARCHITECTURES = (75, 80, 86, 90, 100, 120)
TABLE = Path(__file__).parent / "cuda" / "resources.json"
# In ptxas's report on a kernel.
SPILLED = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
TENSOR_INSTRUCTION = "HMMA"
ASYNC_COPY = "LDGSTS"


class Resources(NamedTuple):
    """What one kernel takes on one architecture.

    Parameters
    ----------
    registers
        Of a thread.
    spilled
        Bytes that did not fit into registers, stores and loads together.
    shared
        Bytes of shared memory of a block.
    """

    registers: int
    spilled: int
    shared: int


class Compiled(NamedTuple):
    """A kernel compiled for an architecture."""

    kernel: Kernel
    capability: int
    resources: Resources
    missing: tuple[str, ...]


def tasks() -> list[tuple[Kernel, int]]:
    """Return every kernel with every architecture that has it."""
    return [(k, c) for k in every_kernel() for c in ARCHITECTURES if c >= k.capability]


def compile_one(task: tuple[Kernel, int]) -> Compiled:
    """Compile a kernel and read what the compiler says about it."""
    kernel, capability = task
    code, log = compiled(kernel.source(), f"sm_{capability}")
    spilled, used = SPILLED.search(log), USED.search(log)
    if spilled is None or used is None:
        raise RuntimeError(f"ptxas's report on {kernel.name} cannot be read:\n{log[:1000]}")
    spill = int(spilled[1]) + int(spilled[2])
    return Compiled(
        kernel,
        capability,
        Resources(int(used[1]), spill, kernel.shared_bytes),
        tuple(missing_instructions(kernel, code)),
    )


def missing_instructions(kernel: Kernel, code: bytes) -> Iterator[str]:
    """Yield the instructions that a tensor-core kernel is there for and that its code lacks."""
    if kernel.file != "tensor.cu":
        return
    wanted = [TENSOR_INSTRUCTION] + [ASYNC_COPY] * kernel.name.endswith("-vector")
    listing = disassembled(code)
    for instruction in wanted:
        if f" {instruction}" not in listing:
            yield instruction


def disassembled(code: bytes) -> str:
    """Return machine code as text."""
    tool = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / "nvdisasm"
    found = str(tool) if tool.is_file() else shutil.which("nvdisasm")
    if found is None:
        raise RuntimeError("nvdisasm is not installed; pip install 'opspec[emulator]'")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        done = subprocess.run([found, "-c", file.name], capture_output=True, text=True, check=True)
    return done.stdout


def key(kernel: Kernel, capability: int) -> str:
    """Return the name of an entry of the table."""
    return f"{kernel.name} sm_{capability}"


def worse(found: Compiled, allowed: dict[str, list[int]]) -> list[str]:
    """Say what a kernel takes more of than the table allows."""
    name = key(found.kernel, found.capability)
    if name not in allowed:
        return [f"{name}: not in the table"]
    limits = Resources(*allowed[name])
    faults = [
        f"{name}: {given} {what}, {limit} allowed"
        for what, given, limit in zip(Resources._fields, found.resources, limits, strict=True)
        if given > limit
    ]
    return faults + [f"{name}: no {instruction} in it" for instruction in found.missing]


def main() -> int:
    """Compile everything; return 1 if anything is worse than the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="make the table anew")
    chosen = parser.parse_args()
    todo = tasks()
    results = []
    with ThreadPoolExecutor(2) as pool:
        for number, result in enumerate(pool.map(compile_one, todo), 1):
            results.append(result)
            if number % 50 == 0 or number == len(todo):
                print(f"{number} of {len(todo)} compiled", flush=True)
    if chosen.write:
        rows = {key(r.kernel, r.capability): list(r.resources) for r in results}
        lines = [f'"{name}": {json.dumps(rows[name])}' for name in sorted(rows)]
        TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    allowed = json.loads(TABLE.read_text("utf-8"))
    faults = [fault for result in results for fault in worse(result, allowed)]
    stale = set(allowed) - {key(r.kernel, r.capability) for r in results}
    faults += [f"{name}: in the table, but no such kernel" for name in sorted(stale)]
    print("\n".join(faults))
    kernels = {result.kernel.name for result in results}
    spilling = sum(result.resources.spilled > 0 for result in results)
    print(
        f"{len(kernels)} kernels x {len(ARCHITECTURES)} architectures: {len(results)} compiled, "
        f"{spilling} spill registers, {len(faults)} worse than the table allows"
    )
    return 1 if faults or not results else 0


if __name__ == "__main__":
    sys.exit(main())
