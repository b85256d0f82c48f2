"""What helps to find a fault: what it looks like, and a program that shows it."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

from opspec.conformance.nearest import with_resemblance
from opspec.conformance.report import FAILURES, CaseResult, Verdict
from opspec.conformance.script import Shows, failing_here, write
from opspec.conformance.tasks import Task
from opspec.registry import Backend


def diagnosed(
    results: Sequence[CaseResult], tasks: Sequence[Task], name: str, shows: Shows
) -> tuple[CaseResult, ...]:
    """Return the results of a run, its failures explained.

    Each has what it looks like; the first of each kind has a program.

    Parameters
    ----------
    results, tasks
        Of the run.
    name
        How a program finds the backend.
    shows
        Whether a program shows the fault.
    """
    if not any(result.verdict in FAILURES for result in results):
        return tuple(results)
    by_identity = {task.identity: task for task in tasks}
    explained, kinds = [], set()
    for result in with_resemblance(results, by_identity):
        task = by_identity[result.case]
        kind = (result.lane, task.form, result.verdict, result.looks_like)
        if result.verdict in FAILURES and task.arguments is not None and kind not in kinds:
            kinds.add(kind)
            explained.append(replace(result, script=script_for(result, task, name, shows)))
        else:
            explained.append(result)
    return tuple(explained)


def script_for(result: CaseResult, task: Task, name: str, shows: Shows) -> str:
    """Return a program that shows why a task failed."""
    arguments = task.arguments() if task.arguments else {}
    # Simpler operands are not tried where each trial would take until the time is up.
    found = (lambda script: False) if result.verdict == Verdict.TIMED_OUT else shows
    form = _form_of(result, task)
    return write(
        task.operation, arguments, backend=name, form=form, bounded=task.bounded, shows=found
    )


def _form_of(result: CaseResult, task: Task) -> str | None:
    if "the kernel wrote into" in result.reason or "the result shares" in result.reason:
        return "inputs-unchanged"
    return "out" if result.reason.startswith("with out=") else task.form


def shown_here(backend: Backend) -> Shows:
    """Return what runs a program in this process and says whether it fails in any way."""
    return failing_here(backend, Exception)


def shown_apart(timeout: float) -> Shows:
    """Return what runs a program in a process of its own and says whether it fails in any way."""

    def shows(script: str) -> bool:
        try:
            done = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0

    return shows
