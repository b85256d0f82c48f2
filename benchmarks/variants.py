"""What opspec's own variants cost beside float32, NDHWC, undilated, with a fresh result.

All variants of a workload take turns in one process. A ratio is the variant's time over that of
the plain call, each by multiplication that lands inside the result; 1 is as fast.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from options import INTERRUPTED, add_workloads, begun, parser, say, too_large
from peers import OURS
from pydantic import TypeAdapter
from ratios import geometric_mean
from results import Bench, Run, Timing
from rounds import Contender, Contest
from tables import UNKNOWN, milliseconds, reasons, table
from team import Team, interpreters
from workloads import WORKLOADS, Workload, chosen

PLAIN = "plain"
VARIANTS = ("NCDHW", "float16", "bfloat16", "float64", "out=", "dilated")
TINY = "tiny"


@dataclass(slots=True)
class Row:
    """One workload's variants.

    Parameters
    ----------
    name
        The workload.
    useful
        By variant, multiplications that land inside the result.
    timings
        By variant.
    """

    name: str
    useful: dict[str, int]
    timings: dict[str, Timing] = field(default_factory=dict)

    def ratio(self, variant: str) -> float | None:
        """Return a variant's time over the plain call's, by useful multiplication."""
        timing, plain = self.timings.get(variant), self.timings.get(PLAIN)
        if timing is None or plain is None or not timing.counts or not plain.counts:
            return None
        time_each = timing.median / self.useful[variant]
        return time_each / (plain.median / self.useful[PLAIN])


@dataclass(slots=True)
class Variants:
    """What was measured.

    Parameters
    ----------
    bench
        The machine, and one run for each number of threads.
    backend
        Which of ours.
    rows
        One list for each run.
    """

    bench: Bench
    backend: str
    rows: list[list[Row]] = field(default_factory=list)


def contenders(peer: str, workload: Workload) -> dict[str, Contender]:
    """Return the variants of a workload by name.

    Parameters
    ----------
    peer
        One of `peers.OURS`.
    workload
        The problem; its own dtype, data format and dilations are put aside.
    """
    plain = replace(workload, data_format="NDHWC", dtype="float32", dilations=(1, 1, 1))
    if workload.padding == "VALID":
        # How far a filter reaches decides the size of the result, and it reaches farther dilated.
        plain = replace(plain, result_spatial=None)
    found = {
        PLAIN: Contender(peer, plain),
        "NCDHW": Contender(peer, replace(plain, data_format="NCDHW")),
        **{
            dtype: Contender(peer, replace(plain, dtype=dtype))
            for dtype in ("float16", "bfloat16", "float64")
        },
        "out=": Contender(peer, plain, out=True),
    }
    depth, height, width = (2 if taps > 1 else 1 for taps in workload.kernel)
    if (depth, height, width) != (1, 1, 1):
        found["dilated"] = Contender(peer, replace(plain, dilations=(depth, height, width)))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure, write ``variants.json`` and ``variants.md``, and return the exit code."""
    options = parser(__doc__, rounds=5, limit_s=60)
    add_workloads(options)
    options.add_argument("--backend", choices=OURS, help="default: the first that can run")
    given = options.parse_args(arguments)
    try:
        workloads = _with_tiny(chosen(given.workloads))
    except LookupError as error:
        options.error(str(error))
    bench = begun("variants.py", arguments)
    pythons = interpreters(
        dict(given.python), [given.backend] if given.backend else list(OURS), sys.executable
    )
    measured = Variants(bench, given.backend or "")
    try:
        for threads in given.threads:
            bench.runs.append(Run(threads))
            measured.rows.append([])
            with Team(bench.runs[-1], pythons, given.limit, say) as team:
                _measure(team, measured, workloads, given.rounds, given.max_bytes)
    except KeyboardInterrupt:
        bench.interrupted = True
    bench.load.append(os.getloadavg())
    write(measured, given.output)
    say(f"written to {given.output}: variants.json, variants.md")
    return INTERRUPTED if bench.interrupted else 0


def _with_tiny(workloads: tuple[Workload, ...]) -> tuple[Workload, ...]:
    """Return the workloads with the tiny one, whose time is the way to the kernel and back."""
    tiny = next(workload for workload in WORKLOADS if workload.name == TINY)
    return workloads if tiny in workloads else (*workloads, tiny)


def _measure(
    team: Team,
    measured: Variants,
    workloads: tuple[Workload, ...],
    rounds: int,
    most: float | None,
) -> None:
    team.start()
    peer = next((peer for peer in OURS if peer in team.present()), None)
    if peer is None:
        return
    measured.backend = peer
    for workload in workloads:
        say(f"{team.run.threads} threads, {peer}, {workload.name}")
        found = contenders(peer, workload)
        reason = too_large(workload, len(found), most)
        if reason:
            say(f"  skipped: {reason}")
            continue
        useful = {name: each.workload.useful_multiply_adds for name, each in found.items()}
        row = Row(workload.name, useful)
        measured.rows[-1].append(row)
        contest = Contest(team, found, row.timings)
        contest.prepare()
        contest.take_turns(rounds)
        contest.forget()
        team.start()


def write(measured: Variants, folder: Path) -> None:
    """Write the run into a folder, which is made.

    Parameters
    ----------
    measured
        The run.
    folder
        Where.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "variants.json").write_bytes(TypeAdapter(Variants).dump_json(measured, indent=1))
    (folder / "variants.md").write_text(page(measured))


def page(measured: Variants) -> str:
    """Return the run as Markdown.

    Parameters
    ----------
    measured
        The run.
    """
    bench = measured.bench
    parts = [f"# What variants cost: {measured.backend or 'no backend can run'}", bench.machine]
    if bench.interrupted:
        parts.append("**Interrupted: what follows is a part of it.**")
    for run, rows in zip(bench.runs, measured.rows, strict=False):
        parts.append(f"## Threads: {run.threads}")
        parts += [f"{peer} is missing: {it.absent}" for peer, it in run.starts.items() if it.absent]
        if rows:
            parts += [_ratios(rows), _latency(rows), _problems(rows)]
    parts.append(
        "A cell is the variant's time over the plain call's (float32, NDHWC, undilated, fresh "
        "result), by multiplication that lands inside the result: medians over the rounds."
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _ratios(rows: list[Row]) -> str:
    cells = []
    for row in rows:
        plain = row.timings.get(PLAIN, Timing())
        time = milliseconds(plain.median) if plain.counts else UNKNOWN
        cells.append([row.name, time, *(_cell(row.ratio(variant)) for variant in VARIANTS)])
    means = []
    for variant in VARIANTS:
        ratios = [ratio for row in rows if (ratio := row.ratio(variant))]
        means.append(_cell(geometric_mean(ratios) if ratios else None))
    cells.append(["geometric mean", UNKNOWN, *means])
    return table(["workload", "plain ms", *VARIANTS], cells)


def _cell(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else f"{ratio:.2f}"


def _latency(rows: list[Row]) -> str:
    timings: Mapping[str, Timing] = next((it.timings for it in rows if it.name == TINY), {})
    plain = timings.get(PLAIN)
    if plain is None or not plain.counts:
        return ""
    return (
        f"From the public call to the result of a tiny problem, its shape met before: "
        f"{plain.median * 1e6:.1f} µs (least {plain.minimum * 1e6:.1f})."
    )


def _problems(rows: list[Row]) -> str:
    return reasons(
        (f"{variant}: {timing.problem}", row.name)
        for row in rows
        for variant, timing in row.timings.items()
        if timing.problem
    )


if __name__ == "__main__":
    sys.exit(main())
