"""Who is faster, and by how much: a ratio above 1 means that this project is."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from results import Problem, Run, Timing


@dataclass(frozen=True, slots=True)
class Comparison:
    """One of our backends against the peers on one workload.

    Parameters
    ----------
    ours
        Our times.
    best
        The peer with the least median.
    best_median
        Its median, in seconds.
    by_median, by_minimum, by_processor
        The least of the peers' figures over ours: medians of the rounds, least calls, processor
        time. Each looks for its own best peer.
    """

    ours: Timing
    best: str
    best_median: float
    by_median: float
    by_minimum: float
    by_processor: float


def compared(problem: Problem, backend: str) -> Comparison | None:
    """Compare a backend with the best peers; None if it or every peer has no time.

    Parameters
    ----------
    problem
        What was measured.
    backend
        One of `peers.OURS`.
    """
    ours, peers = problem.timings.get(backend), problem.peers()
    if ours is None or not ours.counts or not peers:
        return None
    best = min(peers, key=lambda name: peers[name].median)
    return Comparison(
        ours=ours,
        best=best,
        best_median=peers[best].median,
        by_median=peers[best].median / ours.median,
        by_minimum=min(peer.minimum for peer in peers.values()) / ours.minimum,
        by_processor=min(peer.processor_time for peer in peers.values()) / ours.processor_time,
    )


def comparisons(run: Run, backend: str) -> dict[str, Comparison]:
    """Return a backend's comparisons by workload, without those that have none."""
    found = {problem.workload.name: compared(problem, backend) for problem in run.problems}
    return {name: comparison for name, comparison in found.items() if comparison}


def geometric_mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean of one or more positive numbers."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logarithms) / len(logarithms))
