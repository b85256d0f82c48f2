"""The kill table: which case catches which mutant, and which case is there for nothing.

A case is small if it needs few products. It earns its place by killing a mutant that no smaller one
kills.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opspec.conformance.isolation import IsolatedBackend
from opspec.conformance.mutants import Mutant
from opspec.conformance.report import FAILURES, CaseResult
from opspec.conformance.tasks import MADE_LANES, VALUE_LANES, Task

# Long enough for any mutant that does end.
TIMEOUT = 5.0
PLACE = "opspec.conformance.mutants"

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Kill:
    """What became of one mutant.

    Parameters
    ----------
    mutant
        Which one.
    first
        The smallest case's result that killed it, None if it survived.
    """

    mutant: Mutant
    first: CaseResult | None


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks, those first that need the least."""
    # A form makes several calls, and a property searches among many problems: they are asked when
    # all else has not killed.
    turns = {**dict.fromkeys(VALUE_LANES, 0), "form": 1, "property": 3}
    asked = [task for task in tasks if task.lane in turns]

    def turn(task: Task) -> tuple[int, int, str]:
        return turns[task.lane] + (task.form is not None), task.products, task.identity

    return sorted(asked, key=turn)


def kill(mutant: Mutant, tasks: Sequence[Task]) -> Kill:
    """Run a mutant on tasks of its operation, in their order, until one kills it."""
    tasks = [task for task in tasks if task.kernel == mutant.operation]
    if not mutant.isolated:
        backend = mutant.backend()
        return Kill(mutant, _first_failure(tasks, lambda task: task.judge(backend, mutant.name)))
    place = f"{PLACE}:{mutant.attribute}"
    with IsolatedBackend(place, timeout=TIMEOUT) as isolated:
        return Kill(mutant, _first_failure(tasks, isolated.judge))


def _first_failure(tasks: Sequence[Task], judge: Callable[[Task], CaseResult]) -> CaseResult | None:
    return next((r for r in map(judge, tasks) if r.verdict in FAILURES), None)


def idle_cases(kills: Sequence[Kill], tasks: Sequence[Task]) -> list[Task]:
    """Return the made cases with values that kill nothing that no smaller one kills.

    Layers of real networks are there because they are real.
    """
    earning = {kill.first.case for kill in kills if kill.first is not None}
    made = [task for task in tasks if task.lane in MADE_LANES]
    return [task for task in made if task.identity not in earning]
