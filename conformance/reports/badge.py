"""A badge: which suite was run and what became of it, as a small SVG picture.

A run that is not good is red, one that left cases out on purpose is no green one either.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from opspec.conformance.report import Report
from opspec.conformance.reports.account import all_is_well, outcome, suites
from opspec.conformance.reports.writing import write_whole

GREEN, AMBER, RED = "#1a7f37", "#8a5a00", "#b42318"
MARGIN = 16
# In Verdana at 11 pixels; near enough for the fonts that stand in for it.
NARROW, USUAL, WIDE = 4, 7, 10

SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/>\
<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" \
font-size="11"><text x="{middle_left}" y="14" textLength="{text_left}">{label}</text>\
<text x="{middle_right}" y="14" textLength="{text_right}">{message}</text></g>
</svg>
"""


def write(reports: Sequence[Report], file: Path) -> None:
    """Write a badge for all backends together into a file."""
    label = f"opspec suite {suites(reports)}" if reports else "opspec"
    write_whole(file, drawn(label, outcome(reports), _colour(reports)))


def drawn(label: str, message: str, colour: str) -> str:
    """Return the picture. Text is stretched to the width that was reckoned, whatever the font."""
    text_left, text_right = (_width(text) for text in (label, message))
    left, right = text_left + MARGIN, text_right + MARGIN
    return SVG.format(
        label=escape(label),
        message=escape(message),
        title=escape(f"{label}: {message}"),
        colour=colour,
        width=left + right,
        left=left,
        right=right,
        text_left=text_left,
        text_right=text_right,
        middle_left=left / 2,
        middle_right=left + right / 2,
    )


def _width(text: str) -> int:
    widths = {**dict.fromkeys("fijlrt ,.:", NARROW), **dict.fromkeys("mw", WIDE)}
    return sum(widths.get(letter, USUAL) for letter in text)


def _colour(reports: Sequence[Report]) -> str:
    if not all_is_well(reports):
        return RED
    return AMBER if any(report.partial for report in reports) else GREEN
