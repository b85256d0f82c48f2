"""Numbers, rows and reasons in Markdown."""

from collections.abc import Iterable, Sequence

UNKNOWN = "-"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return a table whose columns line up in the source too.

    Parameters
    ----------
    head
        The names of the columns.
    rows
        Their cells.
    words
        How many columns stand to the left; those after them are numbers.
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * width for width in widths[:words]]
    rule += ["-" * (width - 1) + ":" for width in widths[words:]]
    return "\n".join([line(head), line(rule), *map(line, rows)])


def reasons(found: Iterable[tuple[str, str]]) -> str:
    """Return a line for each reason, with all that it holds for.

    Parameters
    ----------
    found
        A reason and what it holds for, such as a workload.
    """
    grouped: dict[str, list[str]] = {}
    for reason, name in found:
        grouped.setdefault(reason, []).append(name)
    return "\n".join(f"* {reason} ({', '.join(names)})" for reason, names in grouped.items())


def milliseconds(seconds: float | None) -> str:
    """Return a time with about three digits that matter."""
    if seconds is None:
        return UNKNOWN
    value = seconds * 1e3
    digits = next((digits for digits, least in ((0, 100), (1, 10), (2, 1)) if value >= least), 4)
    return f"{value:.{digits}f}"


def megabytes(count: int | None) -> str:
    """Return bytes as MB of 10^6."""
    return UNKNOWN if count is None else f"{count / 1e6:.1f}"


def gigabytes(count: float) -> str:
    """Return bytes as GB of 10^9."""
    return f"{count / 1e9:.1f}"


def share(part: float) -> str:
    """Return a part of 1 as a percentage."""
    return f"{100 * part:.0f}%"
