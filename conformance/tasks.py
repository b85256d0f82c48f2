"""What a run consists of: golden cases, the same cases in other forms, and properties.

The list is the same in every process, so that a task is known by its id alone.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

from opspec import ops
from opspec.conformance.call import Call
from opspec.conformance.case import Case, Golden, all_golden
from opspec.conformance.example import Example, example_of
from opspec.conformance.forms import FORMS, Form
from opspec.conformance.judging import (
    demand_of,
    form_identity,
    judge,
    judge_form,
    require_right,
)
from opspec.conformance.properties import ALL as PROPERTIES
from opspec.conformance.properties import Property, judge_property
from opspec.conformance.properties import identity as property_identity
from opspec.conformance.recast import Recast, recast
from opspec.conformance.report import CaseResult
from opspec.registry import Backend, Demand

SUITE = 1

MADE_LANES = ("exact", "bounded")
VALUE_LANES = (*MADE_LANES, "real")
EXAMPLES, QUICK_EXAMPLES = 80, 4
QUICK_ELEMENTS = 10_000


@dataclass(frozen=True)
class Task:
    """One thing to be judged.

    Parameters
    ----------
    identity
        Its id.
    lane, operation
        What it belongs to.
    since
        The version of the suite that brought it.
    quick
        Whether a quick run includes it.
    judge
        Judges a backend, under the name by which programs find it.
    demand
        What it needs of a backend, None if it has no say.
    arguments
        Of its call, where a failure of it can be shown by a program.
    form
        The form of its call, if it has one.
    bounded
        Whether its results may differ by rounding.
    """

    identity: str
    lane: str
    operation: str
    since: int
    quick: bool
    judge: Callable[[Backend, str], CaseResult]
    demand: Callable[[], Demand | None]
    arguments: Callable[[], dict[str, Any]] | None = None
    form: str | None = None
    bounded: bool = False

    @property
    def kernel(self) -> str:
        """The operation whose kernels compute it."""
        return ops.get(self.operation).kernel

    @property
    def products(self) -> int:
        """How many products it adds up."""
        demand = self.demand()
        return 0 if demand is None else demand.multiply_adds


def all_tasks(*, quick: bool = False) -> list[Task]:
    """Return every task, or those of a quick run, which tries fewer examples of each property."""
    examples = QUICK_EXAMPLES if quick else EXAMPLES
    tasks = [
        *_golden_tasks(),
        *_form_tasks(),
        *(_property_task(law, examples) for law in PROPERTIES),
    ]
    return [task for task in tasks if task.quick or not quick]


def _golden_tasks() -> list[Task]:
    return [_golden_task(golden, case) for golden in all_golden() for case in golden.file.cases]


def _golden_task(golden: Golden, case: Case) -> Task:
    computed = case.through == "call" and case.expected.rule is None
    valued = golden.file.lane in VALUE_LANES
    return Task(
        identity=golden.identity(case),
        lane=golden.file.lane,
        operation=golden.file.operation,
        since=case.since,
        quick=True,
        judge=lambda backend, name: judge(golden, case, backend),
        demand=lambda: demand_of(example_of(golden, case)) if computed else None,
        arguments=(lambda: golden.arguments(case)) if valued else None,
        bounded=case.expected.magnitude is not None,
    )


def _form_tasks() -> list[Task]:
    """Return each value case in each form.

    A quick run takes the first case of each lane, and what is small of those made of a case.
    """
    found = []
    for golden in all_golden():
        if golden.file.lane in VALUE_LANES:
            for number, case in enumerate(golden.file.cases):
                example = example_of(golden, case)
                found += [
                    _form_task(golden, case, form, example, form.judge, number == 0, form.name)
                    for form in FORMS
                ]
        if golden.file.lane in MADE_LANES:
            for case in golden.file.cases:
                found += [
                    _form_task(
                        golden, case, way, made, require_right, made.expected.size <= QUICK_ELEMENTS
                    )
                    for way, made in recast(golden)[case.name].values()
                ]
    return found


def _form_task(
    golden: Golden,
    case: Case,
    way: Form | Recast,
    example: Example,
    require: Callable[[Call], None],
    quick: bool,
    form: str | None = None,
) -> Task:
    return Task(
        identity=form_identity(golden, case, way.name),
        lane="form",
        operation=golden.file.operation,
        since=max(case.since, way.since),
        quick=quick,
        judge=lambda backend, _: judge_form(golden, case, example, backend, require, way.name),
        demand=lambda: demand_of(example),
        arguments=example.arguments,
        form=form,
        bounded=example.magnitude is not None,
    )


def _property_task(law: Property, examples: int) -> Task:
    return Task(
        identity=property_identity(law),
        lane="property",
        operation=law.operation,
        since=law.since,
        quick=True,
        judge=lambda backend, name: judge_property(law, backend, examples, name=name),
        demand=lambda: None,
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """The tasks of a run.

    Parameters
    ----------
    tasks
        What is run.
    suite
        The version of the suite.
    newer
        How many tasks were left out because they came after that version.
    """

    tasks: tuple[Task, ...]
    suite: int
    newer: int


def selected(
    *,
    pattern: str | None = None,
    quick: bool = False,
    suite: int | None = None,
    operations: Collection[str] = (),
) -> Selection:
    """Return the tasks of a run.

    Parameters
    ----------
    pattern
        Only tasks whose id contains this text.
    quick
        Only those of a quick run.
    suite
        Only those that this version of the suite had; None for the newest.
    operations
        Only those of operations that these kernels compute; by default of all.

    Raises
    ------
    ValueError
        If there is no such version.
    """
    wanted = SUITE if suite is None else suite
    if not 1 <= wanted <= SUITE:
        raise ValueError(
            f"there is no version {wanted} of the suite; this opspec has versions 1 to {SUITE}"
        )
    found = [
        task
        for task in all_tasks(quick=quick)
        if (pattern is None or pattern in task.identity)
        and (not operations or task.kernel in operations)
    ]
    kept = tuple(task for task in found if task.since <= wanted)
    return Selection(kept, wanted, len(found) - len(kept))


@cache
def tasks_by_identity(*, quick: bool) -> dict[str, Task]:
    """Return every task by its id."""
    return {task.identity: task for task in all_tasks(quick=quick)}
