"""The words that generated pages are put together from: names, links to sources, tables."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from opspec.definition import OpDefinition

_SEMANTICS = Path(__file__).parents[1] / "semantics.md"
_SECTION = re.compile(r"(?:docs/semantics\.md )?§(\d+)((?:\.\d+)*)")


def page_name(definition: OpDefinition) -> str:
    """Return the name of an operation's page, such as ``raw_ops.Conv3D``."""
    return definition.public.replace(":", ".").removeprefix("opspec.")


def section_link(source: str, root: str = "") -> str:
    """Return a rule's source with each section of the semantics as a link to it.

    Parameters
    ----------
    source
        Such as ``"TensorFlow reference pages; docs/semantics.md §3.8"``.
    root
        Where the pages lie, from the page that the link is on.

    Raises
    ------
    LookupError
        If the semantics has no such section.
    """

    def link(found: re.Match[str]) -> str:
        return f"[§{found[1]}{found[2]}]({root}semantics.md#{_sections()[found[1]]})"

    return _SECTION.sub(link, source)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", r"\|").split())


@cache
def _sections() -> dict[str, str]:
    """Return the anchor of each numbered section of the semantics."""
    headings = re.findall(r"^## (\d+)\. (.*)$", _SEMANTICS.read_text("utf-8"), re.MULTILINE)
    return {number: _slug(f"{number}. {title}") for number, title in headings}


def _slug(heading: str) -> str:
    """Return the anchor that MyST gives a heading, which is GitHub's."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
