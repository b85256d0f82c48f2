"""All that a GPU is needed for, in one run of at most eight minutes.

Sections run in the order of their worth. After each one, everything so far is in gpu_run.json, so
that a run that is cut off has not been in vain. ``--dry`` runs the same sections on the emulator
with tiny problems: it needs no GPU, its times mean nothing, and CI does it so that this program
works on the day that there is a GPU. The exit code is 1 if a section failed or a result is wrong.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from gpu import behaviour
from gpu.ceilings import ceilings
from gpu.compiling import compile_all
from gpu.facts import facts
from gpu.golden import golden
from gpu.machines import Machine
from gpu.sanitizer import sanitized
from gpu.session import Budget, NotHere, Session
from gpu.speed import speed
from gpu.table import table

MINUTES = 8.0


def main() -> int:
    """Run all sections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="play the GPU on the CPU")
    parser.add_argument("--output", type=Path, default=Path(), help="a folder (default: this one)")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="at most (default 8)")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    session = Session(Budget(chosen.minutes * 60), chosen.output / "gpu_run.json")
    machine = _machine(dry=chosen.dry)

    def timed(budget: Budget) -> list[dict[str, Any]]:
        limits = session.sections["ceilings"].get("result")
        if limits is None:
            raise NotHere("the ceilings were not measured")
        return speed(machine, budget, limits)

    session.run("facts", 5, lambda budget: facts(machine))
    session.run("compile", 60, partial(compile_all, machine))
    session.run("golden cases", 120, partial(golden, machine))
    session.run("determinism", 10, partial(behaviour.determinism, machine))
    session.run("streams", 10, partial(behaviour.streams, machine))
    session.run("tensors of torch", 10, partial(behaviour.tensors_of_torch, machine))
    session.run("scarce memory", 10, partial(behaviour.scarce_memory, machine))
    session.run("beyond 32 bits", 30, partial(behaviour.beyond_32_bits, machine))
    session.run("ceilings", 15, partial(ceilings, machine))
    session.run("speed", 200, timed)
    session.run("compute-sanitizer", 60, partial(sanitized, machine))
    rows = session.sections["speed"].get("result", [])
    wrong = [row["workload"] for row in rows if row["wrong"]]
    print(table(rows))
    states = [entry["state"] for entry in session.sections.values()]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("done", "skipped", "failed"))
    print(f"{len(states)} sections: {counts}; {len(rows)} timed, {len(wrong)} with a wrong result")
    return 1 if session.failed or wrong else 0


def _machine(*, dry: bool) -> Machine:
    if dry:
        from gpu.dry import Dry

        return Dry()
    from gpu.device import Gpu

    return Gpu()


if __name__ == "__main__":
    sys.exit(main())
