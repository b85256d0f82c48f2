"""What a run measured, as `bench.json` has it, and the few figures that all readers of it need."""

import statistics
from dataclasses import dataclass, field
from pathlib import Path

from peers import OURS
from pydantic import TypeAdapter
from workload import Workload


@dataclass(slots=True)
class Timing:
    """One peer on one workload; times are seconds of one call, one figure for each round.

    Parameters
    ----------
    problem
        Why there are no times, or None.
    disagrees
        Whether the reason is that its result is not the others'.
    medians, least, processor
        Of each round: the median and the least call, and the mean processor time of its process.
    first
        The first call with this shape.
    built
        What the library did with the operands before it, its own copies included.
    peak_bytes
        The most memory that a later call took, its result included.
    """

    problem: str | None = None
    disagrees: bool = False
    medians: list[float] = field(default_factory=list)
    least: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    first: float | None = None
    built: float | None = None
    peak_bytes: int | None = None

    @property
    def counts(self) -> bool:
        """Whether it was timed and its result is right."""
        return self.problem is None and bool(self.medians)

    @property
    def median(self) -> float:
        """Median over the rounds of their medians."""
        return statistics.median(self.medians)

    @property
    def minimum(self) -> float:
        """The least call of all."""
        return min(self.least)

    @property
    def processor_time(self) -> float:
        """Median over the rounds of a call's processor time."""
        return statistics.median(self.processor)


@dataclass(slots=True)
class Problem:
    """One workload and every peer's times on it.

    Parameters
    ----------
    workload
        The problem.
    useful_multiply_adds, moved_bytes
        What it costs at least: multiplications that land inside the result; the operands and the
        result once.
    timings
        By peer.
    skipped
        Why nobody was timed, or None.
    checked
        How many peers' results were compared.
    """

    workload: Workload
    useful_multiply_adds: int
    moved_bytes: int
    timings: dict[str, Timing] = field(default_factory=dict)
    skipped: str | None = None
    checked: int = 0

    @classmethod
    def of(cls, workload: Workload) -> "Problem":
        """Return the problem with nothing measured yet."""
        moved = workload.operand_bytes + workload.result_bytes
        return cls(workload, workload.useful_multiply_adds, moved)

    def peers(self) -> dict[str, Timing]:
        """Return the timings that count, without those of this project."""
        return {
            name: timing
            for name, timing in self.timings.items()
            if timing.counts and name not in OURS
        }


@dataclass(slots=True)
class Start:
    """How a peer's process began.

    Parameters
    ----------
    absent
        Why the peer is missing, or None.
    versions
        Of the distributions that matter.
    import_s
        Seconds to import the library.
    cold_s, cold_workload
        The first call of all in the process, and which it was.
    """

    absent: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    import_s: float | None = None
    cold_s: float | None = None
    cold_workload: str | None = None


@dataclass(slots=True)
class Roofs:
    """What the machine itself can do, with the run's number of threads.

    Parameters
    ----------
    flops
        Floating-point operations in a second.
    flops_by
        How that was measured.
    bytes
        Bytes that a large copy reads and writes in a second.
    """

    flops: float
    flops_by: str
    bytes: float

    def seconds(self, problem: Problem) -> tuple[float, str]:
        """Return the least time that a float32 problem can take, and what limits it."""
        compute = 2 * problem.useful_multiply_adds / self.flops
        memory = problem.moved_bytes / self.bytes
        return (compute, "compute") if compute >= memory else (memory, "memory")


@dataclass(slots=True)
class Run:
    """All that was measured with one number of threads.

    Parameters
    ----------
    threads
        How many each peer was given.
    roofs
        What the machine can do; None where that failed, with the reason in `no_roofs`.
    starts
        By peer.
    problems
        In the order in which they were measured.
    """

    threads: int
    roofs: Roofs | None = None
    no_roofs: str | None = None
    starts: dict[str, Start] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def lead(self) -> str | None:
        """Return the fastest kind of backend of this project that was timed, or None."""
        timed = {
            name
            for problem in self.problems
            for name, each in problem.timings.items()
            if each.counts
        }
        return next((name for name in OURS if name in timed), None)


@dataclass(slots=True)
class Bench:
    """One whole run.

    Parameters
    ----------
    machine
        What it ran on.
    started
        When, as ISO 8601.
    command
        What was asked for.
    load
        The load average before and after.
    environment
        Variables that change what the libraries do.
    runs
        One for each number of threads.
    interrupted
        Whether it was ended before it was done.
    """

    machine: str
    started: str
    command: list[str]
    load: list[tuple[float, float, float]] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False

    def disagreements(self) -> list[str]:
        """Return a line for each result that is not the others'."""
        return [
            f"{run.threads} threads, {problem.workload.name}: {name} {timing.problem}"
            for run in self.runs
            for problem in run.problems
            for name, timing in problem.timings.items()
            if timing.disagrees
        ]

    def timed(self) -> bool:
        """Whether anything at all was timed."""
        return any(
            timing.counts
            for run in self.runs
            for problem in run.problems
            for timing in problem.timings.values()
        )


_BENCH = TypeAdapter(Bench)


def written(bench: Bench) -> bytes:
    """Return the run as JSON."""
    return _BENCH.dump_json(bench, indent=1)


def read(file: Path) -> Bench:
    """Return the run that a file of `written` holds."""
    return _BENCH.validate_json(file.read_bytes())
