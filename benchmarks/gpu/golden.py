"""Every golden case, also in the other dtypes and layout, by each tier, into memory full of NaN."""

from collections import Counter
from typing import Any

from gpu.machines import Machine
from gpu.session import Budget
from opspec.conformance.report import FAILURES
from opspec.conformance.tasks import VALUE_LANES, Task, all_tasks
from opspec.registry import Backend

DRY_STEP = 25
MOST_SHOWN = 5


def golden(machine: Machine, budget: Budget) -> dict[str, Any]:
    """Judge each tier; raise if any case fails."""
    tasks = [task for task in all_tasks(quick=machine.dry) if _is_golden(task)]
    # The smallest first: if time runs out, most of them have run.
    tasks.sort(key=lambda task: task.products)
    if machine.dry:
        tasks = tasks[::DRY_STEP]
    tiers = {}
    with machine.poisoned():
        for number, (tier, backend) in enumerate(machine.backends.items()):
            share = budget.left / (len(machine.backends) - number)
            tiers[tier] = _judged(tasks, backend, tier, budget.part(share))
    failures = {tier: found["failures"] for tier, found in tiers.items() if found["failures"]}
    if failures:
        raise AssertionError(f"{failures} of {tiers}")
    return tiers


def _is_golden(task: Task) -> bool:
    made_anew = task.lane == "form" and task.form is None
    return task.lane in VALUE_LANES or made_anew


def _judged(tasks: list[Task], backend: Backend, tier: str, budget: Budget) -> dict[str, Any]:
    verdicts: Counter[str] = Counter()
    failures: list[str] = []
    for task in tasks:
        if budget.left < 0:
            verdicts["no time"] += 1
            continue
        result = task.judge(backend, tier)
        verdicts[result.verdict] += 1
        if result.verdict in FAILURES and len(failures) < MOST_SHOWN:
            failures.append(f"{result.case}: {result.reason[:300]}")
    return {"verdicts": dict(verdicts), "failures": failures}
