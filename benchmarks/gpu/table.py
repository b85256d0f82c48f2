"""The timings as a table of text."""

from typing import Any

HEAD = (
    "| workload | dtype | tier | µs | best torch µs | torch / ours | ours / floor | bound by "
    "| host µs | torch's host µs | best tier |"
)


def table(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table: a ratio of torch to ours above 1 means that ours is faster."""
    return "\n".join([HEAD, "|" + "---|" * HEAD.count(" | ") + "---|", *map(_line, rows)])


def _line(row: dict[str, Any]) -> str:
    device, host = row["device"], row["host"]
    torch = {name: seconds for name, seconds in device.items() if name.startswith("torch")}
    tiers = {name: s for name, s in device.items() if name not in torch and name != "cupy"}
    ours, best = device["cupy"], min(torch, key=torch.__getitem__, default=None)
    cells = [
        row["workload"],
        row["kind"],
        row["chosen"].removeprefix("tier ").partition(":")[0],
        f"{ours * 1e6:.1f}",
        "-" if best is None else f"{torch[best] * 1e6:.1f}",
        "-" if best is None else f"{torch[best] / ours:.2f}",
        f"{ours / row['floor']:.1f}",
        row["bound by"],
        f"{host['cupy'] * 1e6:.0f}",
        "-" if best is None else f"{host[best] * 1e6:.0f}",
        min(tiers, key=tiers.__getitem__) + (" WRONG" if row["wrong"] else ""),
    ]
    return "| " + " | ".join(cells) + " |"
