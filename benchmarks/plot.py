"""How many times each peer takes as long as we do: one bar for each workload, to its best peer."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from ratios import Comparison, comparisons, geometric_mean
from results import Bench, Run

ROW_INCHES = 0.27
PANEL_INCHES = 7.5
WINS, LOSES = "#4c9f70", "#c8553d"
COLOURS = {
    "opspec-numpy": "#7f7f7f",
    "tensorflow": "#ff7f0e",
    "torch": "#8c3b2e",
    "torch-channels-last": "#d6272b",
    "onnxruntime": "#1f6fb4",
    "openvino": "#7b55a8",
}


def plot(bench: Bench, file: Path) -> None:
    """Draw one panel for each number of threads.

    Parameters
    ----------
    bench
        What was measured. Without any comparison the picture says so.
    file
        A PNG.
    """
    panels = []
    for run in bench.runs:
        lead = run.lead()
        found = comparisons(run, lead) if lead else {}
        if lead and found:
            panels.append((run, lead, found))
    rows = max((len(found) for _, _, found in panels), default=4)
    figure, axes = plt.subplots(
        1,
        max(len(panels), 1),
        squeeze=False,
        figsize=(PANEL_INCHES * max(len(panels), 1), ROW_INCHES * rows + 2),
        layout="constrained",
    )
    for place, (run, lead, found) in zip(axes[0], panels, strict=False):
        _panel(place, run, lead, found)
    if not panels:
        axes[0][0].set_axis_off()
        axes[0][0].text(0.5, 0.5, "nothing to compare", ha="center", va="center")
    _legend(figure, axes[0])
    title = "conv3d_transpose: how many times our time the others take"
    figure.suptitle(f"{title}\n{bench.machine}", fontsize=9)
    figure.savefig(file, dpi=130)
    plt.close(figure)


def _legend(figure: Figure, panels: Iterable[Axes]) -> None:
    # Every panel has the same dots, so there is one legend, where it hides none of them.
    handles = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    if handles:
        artists, labels = list(handles.values()), list(handles)
        figure.legend(artists, labels, loc="outside lower center", ncols=6, fontsize=8)


def _panel(axes: Axes, run: Run, lead: str, found: dict[str, Comparison]) -> None:
    names = list(found)
    ratios = [found[name].by_median for name in names]
    rows = range(len(names))
    colours = [WINS if ratio >= 1 else LOSES for ratio in ratios]
    # Bars begin at 1, so that their length is how much we win or lose by.
    axes.barh(rows, [ratio - 1 for ratio in ratios], left=1, color=colours, alpha=0.55, height=0.7)
    _dots(axes, run, lead, found)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    labels = [f"{name}  {ratio:.2f}" for name, ratio in zip(names, ratios, strict=True)]
    axes.set_yticks(rows, labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_ylim(len(names) - 0.4, -0.6)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.5), max(high, 4))
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    threads = "1 thread" if run.threads == 1 else f"{run.threads} threads"
    axes.set_title(
        f"{threads}, {lead}: geometric mean {geometric_mean(ratios):.2f}× the best peer's speed",
        fontsize=10,
    )


def _dots(axes: Axes, run: Run, lead: str, found: dict[str, Comparison]) -> None:
    rows = {name: row for row, name in enumerate(found)}
    for peer, colour in COLOURS.items():
        points = [
            (timing.median / found[problem.workload.name].ours.median, rows[problem.workload.name])
            for problem in run.problems
            if problem.workload.name in found
            for name, timing in problem.timings.items()
            if name == peer != lead and timing.counts
        ]
        if points:
            marker = "D" if peer == "opspec-numpy" else "o"
            across, down = zip(*points, strict=True)
            axes.scatter(across, down, s=22, color=colour, marker=marker, label=peer)
