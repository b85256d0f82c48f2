"""Writes the pages that are made from definitions and records."""

from pathlib import Path

import behaviour
from operation_page import operation_page
from page_text import page_name, table

from opspec import ops


def write_pages(docs: Path) -> None:
    """Write the pages that are made from definitions and records, where they have changed."""
    folder = docs / "operations"
    folder.mkdir(exist_ok=True)
    pages = {
        folder / f"{page_name(one)}.md": operation_page(one) for one in map(ops.get, ops.names())
    }
    pages[folder / "index.md"] = _index()
    pages[docs / "behaviour.md"] = behaviour.page()
    for stale in set(folder.glob("*.md")) - pages.keys():
        stale.unlink()
    for place, text in pages.items():
        if not place.is_file() or place.read_text("utf-8") != text:
            place.write_text(text, "utf-8")


def _index() -> str:
    definitions = [ops.get(name) for name in ops.names()]
    rows = [
        (f"[{one.name}]({page_name(one)}.md)", f"`{one.public.replace(':', '.')}`", one.summary)
        for one in definitions
    ]
    listed = [page_name(one) for one in definitions]
    return "\n".join(
        [
            "# Operations",
            "",
            "Each page is made from the operation's definition when the site is built;",
            "`opspec show` prints the same.",
            "",
            table(("operation", "call", "what it is"), rows),
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *listed,
            "```",
            "",
        ]
    )
