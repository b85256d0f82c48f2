"""What one useful multiplication costs as sizes grow one at a time: where a cliff is, it is seen.

The start is a 20x20x20 input with 16 to 16 channels, kernel 3 and stride 2; in the last panel 3 to
3 channels with kernel 16 and stride 4. No exit code depends on a time.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from compare import exit_code, measure_run
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator
from options import add_peers, begun, parser, say
from plot import COLOURS
from report import remarks
from results import Bench, Run, written
from tables import UNKNOWN, reasons, table
from workload import Workload

START = Workload(
    name="start",
    meaning="a decoder's layer of middling size",
    batch=1,
    spatial=(20, 20, 20),
    in_channels=16,
    out_channels=16,
    kernel=(3, 3, 3),
    strides=(2, 2, 2),
)
WIDE = replace(START, in_channels=3, out_channels=3, kernel=(16, 16, 16), strides=(4, 4, 4))
AXES = {
    "batch": (1, 2, 3, 4, 5, 6, 7, 8),
    "channels": (*range(1, 21), 23, 24, 25, 28, 31, 32, 33, 40, 47, 48, 49),
    "kernel": (*range(1, 12), 13, 16, 19, 23),
    "size": tuple(range(4, 33)),
    "wide": (8, 9, 10, 11, 12),
}
LABELS = {"wide": "size, with kernel 16, stride 4, 3 channels"}
OURS_COLOUR = "#2a7f4f"


def points(axes: Sequence[str] = tuple(AXES)) -> list[Workload]:
    """Return the workloads, each called by its axis and its place on it.

    Parameters
    ----------
    axes
        Which.
    """
    found = []
    for axis in axes:
        for value in AXES[axis]:
            cube = (value, value, value)
            match axis:
                case "batch":
                    point = replace(START, batch=value)
                case "channels":
                    point = replace(START, in_channels=value, out_channels=value)
                case "kernel":
                    point = replace(START, kernel=cube)
                case "size":
                    point = replace(START, spatial=cube)
                case _:
                    point = replace(WIDE, spatial=cube)
            found.append(replace(point, name=f"{axis}: {value}"))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure, write ``sweep.json``, ``sweep.md`` and ``sweep.png``, and return the exit code."""
    options = parser(__doc__, rounds=3, limit_s=10)
    add_peers(options, ["opspec-numba", "tensorflow"])
    options.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES), help="default all")
    given = options.parse_args(arguments)
    bench = begun("sweep.py", arguments)
    try:
        for threads in given.threads:
            bench.runs.append(Run(threads))
            say(f"{threads} threads")
            measure_run(bench.runs[-1], points(given.axes), given)
    except KeyboardInterrupt:
        bench.interrupted = True
    bench.load.append(os.getloadavg())
    write(bench, given.output)
    say(f"written to {given.output}: sweep.json, sweep.md, sweep.png")
    return exit_code(bench)


def curves(run: Run) -> dict[str, dict[str, dict[int, float]]]:
    """Return nanoseconds for each useful multiplication, by axis, by peer, by value.

    Parameters
    ----------
    run
        What was measured.
    """
    found: dict[str, dict[str, dict[int, float]]] = {axis: {} for axis in AXES}
    for problem in run.problems:
        axis, _, value = problem.workload.name.rpartition(": ")
        for peer, timing in problem.timings.items():
            if timing.counts:
                cost = timing.median / problem.useful_multiply_adds * 1e9
                found[axis].setdefault(peer, {})[int(value)] = cost
    return found


def write(bench: Bench, folder: Path) -> None:
    """Write the run into a folder, which is made.

    Parameters
    ----------
    bench
        The run.
    folder
        Where.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sweep.json").write_bytes(written(bench))
    (folder / "sweep.md").write_text(page(bench))
    draw(bench, folder / "sweep.png")


def page(bench: Bench) -> str:
    """Return the run as Markdown.

    Parameters
    ----------
    bench
        The run.
    """
    parts = ["# What one useful multiplication costs, in ns", bench.machine]
    if bench.interrupted:
        parts.append("**Interrupted: what follows is a part of it.**")
    for run in bench.runs:
        parts.append(f"## Threads: {run.threads}")
        parts += [f"{peer} is missing: {it.absent}" for peer, it in run.starts.items() if it.absent]
        for axis, by_peer in curves(run).items():
            if by_peer:
                parts.append(f"### {LABELS.get(axis, axis)}\n\n{_table(by_peer)}")
        parts.append(reasons(remarks(run)))
    parts.append("*Step* is the cost over that of the line above.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(by_peer: dict[str, dict[int, float]]) -> str:
    values = sorted({value for costs in by_peer.values() for value in costs})
    rows = []
    for place, value in enumerate(values):
        row = [str(value)]
        for costs in by_peer.values():
            cost, before = costs.get(value), costs.get(values[place - 1]) if place else None
            row.append(f"{cost:.4f}" if cost else UNKNOWN)
            row.append(f"{cost / before:.2f}" if cost and before else UNKNOWN)
        rows.append(row)
    head = ["value", *(name for peer in by_peer for name in (peer, "step"))]
    return table(head, rows)


def draw(bench: Bench, file: Path) -> None:
    """Draw one row of panels for each number of threads.

    Parameters
    ----------
    bench
        The run.
    file
        A PNG.
    """
    drawn = [curves(run) for run in bench.runs]
    columns = [axis for axis in AXES if any(found[axis] for found in drawn)] or list(AXES)
    rows = max(len(drawn), 1)
    size = (3.8 * len(columns) + 0.6, 3.6 * rows + 0.6)
    figure, places = plt.subplots(
        rows, len(columns), squeeze=False, figsize=size, layout="constrained"
    )
    for run, found, line in zip(bench.runs, drawn, places, strict=False):
        for axis, place in zip(columns, line, strict=True):
            _panel(place, axis, found[axis])
        line[0].set_ylabel(f"threads: {run.threads}\nns for a useful multiplication")
    figure.suptitle("conv3d_transpose: what one useful multiplication costs as sizes grow")
    figure.supxlabel(bench.machine, fontsize=7)
    figure.savefig(file, dpi=120)
    plt.close(figure)


def _panel(axes: Axes, axis: str, by_peer: dict[str, dict[int, float]]) -> None:
    for peer, costs in by_peer.items():
        colour = COLOURS.get(peer, OURS_COLOUR)
        axes.plot(list(costs), list(costs.values()), "o-", ms=3, lw=1, color=colour, label=peer)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_xlabel(LABELS.get(axis, axis))
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if by_peer:
        axes.legend(fontsize=7)


if __name__ == "__main__":
    sys.exit(main())
