"""Which known wrong kernel fails as a backend does: "looks like SAME padding on the wrong side".

Both are run on a few of the tasks that the backend failed and a few that it passed. A mutant with
the same wrong result, bit for bit, has most in common with it; one that fails and passes the same
tasks with other results has something in common.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest

from opspec import ops
from opspec.conformance.mutants import Mutant, all_mutants
from opspec.conformance.report import EXECUTED, FAILURES, CaseResult, Verdict
from opspec.conformance.tasks import VALUE_LANES, Task
from opspec.registry import Backend

FAILED_PROBES, PASSED_PROBES = 16, 32
SAME_RESULT, SAME_TASK = 1.0, 0.3
# With less than this in common, which takes some results that are the same, it would mislead.
LEAST_IN_COMMON = 0.4
# Suspects that stay, at least, after each round, in which all are asked one more task.
STAYING = (60, 40, 30, 20, 12, 8)


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
    failed = {ops.get(r.operation).kernel for r in results if r.verdict in FAILURES}
    suspects = [Suspect(each, tasks) for each in all_mutants() if each.operation in failed]
    mutant = nearest(results, suspects)
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
            # It is not run here, so that only failures speak for or against it.
            passed = result.verdict == Verdict.PASS
            return SAME_RESULT if passed else float(self.mutant.ends in result.reason)
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
            self.outcomes[case] = self.tasks[case].judge(self.backend, self.mutant.name)
        return self.outcomes[case]


def nearest(results: Sequence[CaseResult], suspects: Sequence[Suspect]) -> Mutant | None:
    """Return the mutant that has most in common with a run, or None if none has much."""
    failed = _spread((r for r in results if r.verdict in FAILURES), FAILED_PROBES)
    passed = _spread((r for r in results if r.verdict == Verdict.PASS), PASSED_PROBES)
    if not failed:
        return None
    left = list(suspects)
    asked: list[CaseResult] = []
    for number, probe in enumerate(_alternating(failed, passed)):
        asked.append(probe)
        left.sort(key=lambda suspect: suspect.common(asked), reverse=True)
        last = left[: STAYING[min(number, len(STAYING) - 1)]][-1]
        left = [suspect for suspect in left if suspect.common(asked) >= last.common(asked)]
    whole = [r for r in results if r.lane in VALUE_LANES and r.verdict in EXECUTED] + failed
    like = [suspect for suspect in left if suspect.common(failed) >= LEAST_IN_COMMON]
    best = max(like, key=lambda suspect: suspect.common(whole), default=None)
    return None if best is None else best.mutant


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
            kind = " ".join((result.lane, result.demand.dtype, *result.features))
            kinds.setdefault(kind, []).append((result.demand.multiply_adds, result))
    for alike in kinds.values():
        alike.sort(key=lambda pair: pair[0])
    # In an order that mixes lanes, dtypes and features, always the same.
    mixed = sorted(kinds, key=lambda kind: hashlib.sha256(kind.encode()).digest())
    rounds = zip_longest(*(kinds[kind] for kind in mixed))
    chosen = (pair[1] for together in rounds for pair in together if pair is not None)
    return list(islice(chosen, most))
