"""opspec's CPU backends against other libraries on conv3d_transpose, by turns in one run.

Each library runs in a process of its own. Results are compared first: one that differs from the
others' is not timed, and the exit code is 1. No exit code depends on a time.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from options import INTERRUPTED, add_peers, add_workloads, begun, parser, say, too_large
from peers import LIBRARIES
from report import write
from results import Bench, Problem, Run
from roofs import measure_roofs
from rounds import measure
from team import Team, interpreters
from workloads import Workload, chosen


def main(arguments: list[str] | None = None) -> int:
    """Measure, write what was measured, and return the exit code."""
    options = parser(__doc__, rounds=5, limit_s=60)
    add_workloads(options)
    add_peers(options, list(LIBRARIES))
    given = options.parse_args(arguments)
    try:
        workloads = chosen(given.workloads)
    except LookupError as error:
        options.error(str(error))
    bench = begun("compare.py", arguments)
    try:
        for threads in given.threads:
            bench.runs.append(Run(threads))
            say(f"{threads} threads")
            measure_run(bench.runs[-1], workloads, given)
    except KeyboardInterrupt:
        bench.interrupted = True
        say("interrupted; writing what there is")
    bench.load.append(os.getloadavg())
    write(bench, given.output)
    say(f"written to {given.output}: bench.json, bench.md, bench.png")
    return exit_code(bench)


def measure_run(run: Run, workloads: Sequence[Workload], given: argparse.Namespace) -> None:
    """Measure all workloads with one number of threads.

    Parameters
    ----------
    run
        Where to write what is measured.
    workloads
        The problems.
    given
        The options of `options.parser` and `options.add_peers`.
    """
    pythons = interpreters(dict(given.python), given.peers, sys.executable)
    ours = dict(given.python).get("opspec", sys.executable)
    measure_roofs(run, ours)
    with Team(run, pythons, given.limit, say) as team:
        for number, workload in enumerate(workloads, 1):
            say(f"[{number}/{len(workloads)}] {workload.name}")
            reason = too_large(workload, len(pythons), given.max_bytes)
            if reason:
                say(f"  skipped: {reason}")
                run.problems.append(Problem.of(workload))
                run.problems[-1].skipped = reason
            else:
                _show(measure(team, workload, given.rounds))
    # Once more at the end: what else the machine did may have been less.
    measure_roofs(run, ours)


def _show(problem: Problem) -> None:
    times = sorted((each.median, name) for name, each in problem.timings.items() if each.counts)
    say("  " + ", ".join(f"{name} {seconds * 1e3:.4g} ms" for seconds, name in times))


def exit_code(bench: Bench) -> int:
    """Say what went wrong, and return the exit code.

    Parameters
    ----------
    bench
        What was measured.
    """
    disagreements = bench.disagreements()
    for line in disagreements:
        say(f"DISAGREEMENT: {line}")
    if disagreements:
        return 1
    if bench.interrupted:
        return INTERRUPTED
    if not bench.timed():
        say("nothing was timed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
