"""A run as a page that a person reads: `python benchmarks/report.py DIR` writes it anew.

It reads ``bench.json`` in the folder and writes ``bench.md`` and ``bench.png`` beside it.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from peers import OURS
from plot import plot
from ratios import Comparison, comparisons, geometric_mean
from results import Bench, Problem, Run, Timing, read, written
from tables import gigabytes, megabytes, milliseconds, reasons, share, table

MULTIPLIED_IN_FLOAT32 = ("float16", "bfloat16", "float32")
# More processor time than the threads can have taken; a little more is the clocks' doing.
MOST_BUSY = 1.3
LEGEND = """\
* **Ratio**: the best peer's time over ours, medians over the rounds of each round's median; above 1
  we win. *By least* compares the least calls, *by CPU* the processor time of the whole process,
  each with its own best peer. Differences below a fifth mean nothing on a shared machine.
* **GFLOP/s** counts two operations for each multiplication that lands inside the result, and no
  other; *of peak* is its part of the measured peak.
* **Limit**: whether the least time is set by the multiplications or by reading the operands and
  writing the result once, and how much of that least time is in ours.
* **Memory** is the most that a later call took beyond the operands, the result (in brackets)
  included. *First* is the first call with this shape, in a process that has made other calls.
* Every peer's result exists for NumPy to read when its time ends, in the layout that it likes best;
  operands are in that layout beforehand, and the weights of onnxruntime and openvino are constants.
"""


def page(bench: Bench) -> str:
    """Return the page.

    Parameters
    ----------
    bench
        What was measured.
    """
    parts = [_head(bench)]
    for run in bench.runs:
        parts.append(f"## {_threads(run)}\n\n{_machine(run)}")
        parts += [_against_peers(run, backend) for backend in OURS]
        parts += [_all_times(run), _peers(run), _remarks(run)]
    parts.append(f"## How to read it\n\n{LEGEND}")
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _head(bench: Bench) -> str:
    lines = ["# opspec against other libraries: conv3d_transpose", ""]
    if bench.interrupted:
        lines += ["**Interrupted: what follows is a part of it.**", ""]
    disagreements = bench.disagreements()
    if disagreements:
        lines += ["**RESULTS DISAGREE; these times are not counted:**", ""]
        lines += [f"* {line}" for line in disagreements] + [""]
    loads = " and ".join(" ".join(f"{each:.2f}" for each in load) for load in bench.load)
    lines += [f"{bench.machine}; {bench.started}; load average before and after: {loads}", ""]
    lines += [f"    {' '.join(bench.command)}"]
    if bench.environment:
        settings = " ".join(f"{name}={value}" for name, value in bench.environment.items())
        lines += ["", f"Set from outside: {settings}"]
    return "\n".join(lines)


def _threads(run: Run) -> str:
    return "1 thread" if run.threads == 1 else f"{run.threads} threads"


def _machine(run: Run) -> str:
    if run.roofs is None:
        return f"What the machine can do is not known: {run.no_roofs}"
    return (
        f"Peak, by {run.roofs.flops_by}: {run.roofs.flops / 1e9:.0f} GFLOP/s. "
        f"Memory, by a large copy: {gigabytes(run.roofs.bytes)} GB/s."
    )


def _against_peers(run: Run, backend: str) -> str:
    found = comparisons(run, backend)
    timed = [problem for problem in run.problems if _time_of(problem, backend)]
    if not timed:
        return ""
    head = "workload,ours ms,best peer,its ms,ratio,by least,by CPU,CPU ms,GFLOP/s,of peak,limit"
    rows = [_row(run, problem, backend, found.get(problem.workload.name)) for problem in timed]
    lines = table([*head.split(","), "of roof", "memory MB", "first ms"], rows)
    return f"### {backend}\n\n{lines}\n\n{summary(found)}"


def summary(found: dict[str, Comparison]) -> str:
    """Say the geometric mean and the worst of a backend's comparisons.

    Parameters
    ----------
    found
        By workload.
    """
    if not found:
        return "No peer to compare with."
    worst = min(found, key=lambda name: found[name].by_median)
    lost = [name for name, comparison in found.items() if comparison.by_median < 1]
    median = geometric_mean(comparison.by_median for comparison in found.values())
    least = geometric_mean(comparison.by_minimum for comparison in found.values())
    processor = geometric_mean(comparison.by_processor for comparison in found.values())
    return (
        f"Geometric mean over {len(found)} workloads: **{median:.2f}** by medians, {least:.2f} by "
        f"least calls, {processor:.2f} by CPU time. Worst: {worst}, "
        f"{found[worst].by_median:.2f} ({found[worst].best}). "
        f"Below 1: {', '.join(lost) or 'none'}."
    )


def _time_of(problem: Problem, backend: str) -> Timing | None:
    timing = problem.timings.get(backend)
    return timing if timing and timing.counts else None


def _row(run: Run, problem: Problem, backend: str, found: Comparison | None) -> list[str]:
    timing = problem.timings[backend]
    peer = ["-"] * 5
    if found:
        ratios = (found.by_median, found.by_minimum, found.by_processor)
        peer = [found.best, milliseconds(found.best_median), *(f"{ratio:.2f}" for ratio in ratios)]
    rate = 2 * problem.useful_multiply_adds / timing.median
    roof = ["-"] * 3
    if run.roofs and problem.workload.dtype in MULTIPLIED_IN_FLOAT32:
        seconds, limit = run.roofs.seconds(problem)
        roof = [share(rate / run.roofs.flops), limit, share(seconds / timing.median)]
    result = megabytes(problem.workload.result_bytes)
    return [
        problem.workload.name,
        milliseconds(timing.median),
        *peer,
        milliseconds(timing.processor_time),
        f"{rate / 1e9:.1f}",
        *roof,
        f"{megabytes(timing.peak_bytes)} ({result})",
        milliseconds(timing.first),
    ]


def _all_times(run: Run) -> str:
    peers = [peer for peer, start in run.starts.items() if not start.absent]
    rows = []
    for problem in run.problems:
        timings = [_time_of(problem, peer) for peer in peers]
        cells = [
            "/".join(milliseconds(each) for each in (it.median, it.minimum, it.processor_time))
            if it
            else "-"
            for it in timings
        ]
        if any(timings):
            rows.append([problem.workload.name, *cells])
    if not rows:
        return ""
    return f"### All times, ms: median/least/CPU\n\n{table(['workload', *peers], rows)}"


def _peers(run: Run) -> str:
    rows = []
    for peer, start in run.starts.items():
        versions = ", ".join(f"{name} {version}" for name, version in start.versions.items())
        cold = f"{milliseconds(start.cold_s)} ({start.cold_workload})" if start.cold_s else "-"
        rows.append([peer, start.absent or versions, milliseconds(start.import_s), cold])
    head = ["peer", "version, or why it is missing", "import ms", "first call of the process ms"]
    return f"### Who took part\n\n{table(head, rows, words=2)}"


def _remarks(run: Run) -> str:
    lines = [reasons(remarks(run))]
    missing = [peer for peer, start in run.starts.items() if start.absent]
    if missing:
        lines.append(f"* missing: {', '.join(missing)}; why is in the table above")
    return "### Remarks\n\n" + ("\n".join(filter(None, lines)) or "Nothing is missing.")


def remarks(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what is not timed, not compared or not fair: a reason and a workload.

    Parameters
    ----------
    run
        What was measured.
    """
    for problem in run.problems:
        name = problem.workload.name
        for peer, timing in problem.timings.items():
            if timing.problem:
                yield f"{peer}: {timing.problem}", name
            elif timing.counts and timing.processor_time > MOST_BUSY * run.threads * timing.median:
                yield f"{peer}: kept more than the {_threads(run)} busy that it was given", name
        if problem.skipped:
            yield f"everybody: skipped, {problem.skipped}", name
        elif problem.checked == 1:
            yield "one peer only, so its result was compared with nobody's", name


def write(bench: Bench, folder: Path) -> None:
    """Write ``bench.json``, ``bench.md`` and ``bench.png``.

    Parameters
    ----------
    bench
        What was measured.
    folder
        Where; it is made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # The JSON first: it is what cannot be made again.
    (folder / "bench.json").write_bytes(written(bench))
    (folder / "bench.md").write_text(page(bench))
    plot(bench, folder / "bench.png")


def main(arguments: list[str] | None = None) -> int:
    """Write the page and the picture of a run again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    write(read(given.folder / "bench.json"), given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
