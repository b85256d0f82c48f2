"""Each failure says what it looks like, and shows itself in a program that needs NumPy alone.

The whole measurement takes minutes and is a step of CI (``-m exhaustive``); a part of it runs here.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from opspec.conformance.diagnosis import script_for, shown_here
from opspec.conformance.mutants import Mutant, all_mutants
from opspec.conformance.nearest import Suspect, nearest
from opspec.conformance.report import FAILURES, CaseResult
from opspec.conformance.script import MOST_LINES
from opspec.conformance.tasks import Task, all_tasks

STEP = 20
# The whole is measured in parts, so that CI can measure them side by side.
PARTS = 2
LEAST_SHARE = 0.8
RAW = "Conv3DBackpropInputV2"
INNOCENT = {
    RAW: "right",
    "Conv3D": "right_conv3d",
    "Conv3DBackpropFilterV2": "right_filter_gradient",
}
PLACE = "opspec.conformance.mutants"

BARE = """
import json, os, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("hypothesis", "safetensors", "pytest", "rich", "numba"):
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Refuse())
import numpy, ml_dtypes, opspec.nn, opspec.raw_ops
ended = {}
for name, script in json.load(open(sys.argv[1])).items():
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            exec(compile(script, name, "exec"), {"__name__": "__main__"})
        except BaseException:
            os._exit(1)
        os._exit(0)
    ended[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ended))
"""


@cache
def tasks() -> dict[str, Task]:
    """Every golden case, and a few in every form."""
    lanes = ("exact", "bounded", "real", "form")
    return {task.identity: task for task in all_tasks(quick=True) if task.lane in lanes}


def running() -> list[Mutant]:
    return [mutant for mutant in all_mutants() if mutant.ends is None]


@cache
def suspects(operation: str) -> tuple[Suspect, ...]:
    return tuple(Suspect(mutant, tasks()) for mutant in running() if mutant.operation == operation)


@cache
def results_of(mutant: Mutant) -> tuple[CaseResult, ...]:
    backend = mutant.backend()
    own = (task for task in tasks().values() if task.kernel == mutant.operation)
    return tuple(task.judge(backend, mutant.name) for task in own)


def mutants(step: int, first: int = 0) -> list[Mutant]:
    """Return some mutants; of the siblings, whose conditions are those of the others, a tenth."""
    siblings = [mutant for mutant in running() if mutant.operation != RAW]
    others = [mutant for mutant in running() if mutant.operation == RAW]
    return [*others, *siblings[::10]][first::step]


def named_right(some: Sequence[Mutant]) -> Iterator[Mutant]:
    for mutant in some:
        found = nearest(results_of(mutant), suspects(mutant.operation))
        if found is not None and found.name == mutant.name:
            yield mutant


def scripts_of(some: Sequence[Mutant]) -> dict[str, str]:
    written = {}
    for mutant in some:
        failed = [result for result in results_of(mutant) if result.verdict in FAILURES]
        if failed:
            place, shows = f"{PLACE}:{mutant.attribute}", shown_here(mutant.backend())
            result = failed[0]
            written[mutant.name] = script_for(result, tasks()[result.case], place, shows)
    return written


def run_bare(scripts: dict[str, str], folder: Path) -> dict[str, int]:
    file = folder / "scripts.json"
    file.write_text(json.dumps(scripts))
    done = subprocess.run(
        [sys.executable, "-c", BARE, str(file)], capture_output=True, text=True, check=True
    )
    ended: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return ended


def require_names(some: Sequence[Mutant]) -> None:
    right = list(named_right(some))
    print(f"\nnearest mutant right: {len(right)} of {len(some)}")
    wrong = sorted({mutant.name for mutant in some} - {mutant.name for mutant in right})
    assert len(right) >= LEAST_SHARE * len(some), wrong


def require_scripts(some: Sequence[Mutant], folder: Path) -> None:
    scripts = scripts_of(some)
    assert max(script.count("\n") for script in scripts.values()) <= MOST_LINES
    ended = run_bare(scripts, folder)
    silent = sorted(name for name, code in ended.items() if code == 0)
    innocent = {
        mutant.name: scripts[mutant.name].replace(
            f"{PLACE}:{mutant.attribute}", f"{PLACE}:{INNOCENT[mutant.operation]}"
        )
        for mutant in some
        if mutant.name in scripts
    }
    assert all(scripts[name] != innocent[name] for name in scripts)
    accused = sorted(name for name, code in run_bare(innocent, folder).items() if code != 0)
    print(f"\nscripts that show the fault: {len(ended) - len(silent)} of {len(some)}")
    assert accused == []
    assert len(ended) - len(silent) >= LEAST_SHARE * len(some), silent


@pytest.mark.slow
def test_the_nearest_mutant_is_right_for_most_of_some() -> None:
    require_names(mutants(STEP))


@pytest.mark.slow
def test_scripts_show_some_faults_with_numpy_alone(tmp_path: Path) -> None:
    require_scripts(mutants(STEP), tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(PARTS))
def test_the_nearest_mutant_is_right_for_most(part: int) -> None:
    require_names(mutants(PARTS, part))


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(PARTS))
def test_scripts_show_the_faults_with_numpy_alone(part: int, tmp_path: Path) -> None:
    require_scripts(mutants(PARTS, part), tmp_path)
