"""Which known wrong kernel fails as a backend does: "looks like SAME padding on the wrong side".

Both are run on a few of the tasks that the backend failed and a few that it passed. A mutant with
the same wrong result, bit for bit, has most in common with it; one that fails and passes the same
tasks with other results has something in common.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest

from opspec.conformance.mutants import Mutant, all_mutants
from opspec.conformance.report import FAILURES, CaseResult, Verdict
from opspec.conformance.tasks import Task
from opspec.registry import Backend

FAILED_PROBES, PASSED_PROBES = 16, 12
SAME_RESULT, SAME_TASK = 1.0, 0.3
# With less than this in common a resemblance would mislead.
LEAST_IN_COMMON = 0.25
# Suspects that stay after each round, in which all are asked one more task.
STAYING = (80, 50, 30, 20, 12, 8)


def with_resemblance(
    results: Sequence[CaseResult], tasks: Mapping[str, Task]
) -> tuple[CaseResult, ...]:
    """Return the results of a run, its failures with what all of them together look like.

    Parameters
    ----------
    results
        Of the whole run.
    tasks
        The tasks that were run, by their ids.
    """
    failed = _spread((r for r in results if r.verdict in FAILURES), FAILED_PROBES)
    passed = _spread((r for r in results if r.verdict == Verdict.PASS), PASSED_PROBES)
    mutant = nearest(failed, passed, tasks)
    if mutant is None:
        return tuple(results)
    return tuple(
        replace(r, looks_like=mutant.looks_like)
        if r.verdict in FAILURES and r.lane not in ("accept", "reject")
        else r
        for r in results
    )


@dataclass
class Suspect:
    """A mutant before the question whether it has a backend's fault.

    Parameters
    ----------
    mutant
        The mutant.
    tasks
        What it may be asked, by their ids.
    """

    mutant: Mutant
    tasks: Mapping[str, Task]
    backend: Backend | None = None
    outcomes: dict[str, CaseResult] = field(default_factory=dict)

    def agreement(self, result: CaseResult) -> float:
        """Return how much its outcome has in common with a backend's."""
        if self.mutant.ends is not None:
            passed = result.verdict == Verdict.PASS
            return SAME_TASK if passed else float(self.mutant.ends in result.reason)
        own = self._outcome(result.case)
        if (own.verdict in FAILURES) != (result.verdict in FAILURES):
            return 0.0
        same = own.verdict == result.verdict and own.fingerprint == result.fingerprint
        return SAME_RESULT if same else SAME_TASK

    def common(self, results: Sequence[CaseResult]) -> float:
        """Return how much of these outcomes it shares, from 0 to 1."""
        return sum(self.agreement(result) for result in results) / len(results)

    def _outcome(self, case: str) -> CaseResult:
        if self.backend is None:
            self.backend = self.mutant.backend()
        if case not in self.outcomes:
            self.outcomes[case] = self.tasks[case].judge(self.backend)
        return self.outcomes[case]


def nearest(
    failed: Sequence[CaseResult], passed: Sequence[CaseResult], tasks: Mapping[str, Task]
) -> Mutant | None:
    """Return the mutant that has most in common with these outcomes, or None if none has much."""
    if not failed:
        return None
    suspects = [Suspect(mutant, tasks) for mutant in all_mutants()]
    asked: list[CaseResult] = []
    for number, probe in enumerate(_alternating(failed, passed)):
        asked.append(probe)
        suspects.sort(key=lambda suspect: suspect.common(asked), reverse=True)
        suspects = suspects[: STAYING[min(number, len(STAYING) - 1)]]
    best = suspects[0]
    return best.mutant if best.common(failed) >= LEAST_IN_COMMON else None


def _alternating(
    failed: Sequence[CaseResult], passed: Sequence[CaseResult]
) -> Iterator[CaseResult]:
    """Yield two that failed, one that passed, and so on."""
    left, right = iter(failed), iter(passed)
    for first in left:
        yield first
        yield from islice(left, 1)
        yield from islice(right, 1)
    yield from right


def _spread(results: Iterable[CaseResult], most: int) -> list[CaseResult]:
    """Choose results of as many kinds as there are, the smallest of each first."""
    kinds: dict[str, list[tuple[int, CaseResult]]] = {}
    for result in results:
        if result.lane not in ("accept", "reject", "property") and result.demand is not None:
            kind = " ".join((result.lane, *result.features[-1:]))
            kinds.setdefault(kind, []).append((result.demand.multiply_adds, result))
    for kind in kinds.values():
        kind.sort(key=lambda pair: pair[0])
    rounds = zip_longest(*(kinds[kind] for kind in sorted(kinds)))
    chosen = (pair[1] for together in rounds for pair in together if pair is not None)
    return list(islice(chosen, most))
