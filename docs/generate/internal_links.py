"""Every link inside the built pages leads somewhere; Sphinx does not look at links in HTML."""

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINKS = {
    "a": "href",
    "link": "href",
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
}


class _Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if target := given.get(_LINKS.get(tag, "")):
            self.links.append(target)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}


def broken_links(folder: Path) -> Iterator[str]:
    """Yield each link of the pages in a folder that leads nowhere in it, as ``page: link``."""
    for page in sorted(folder.rglob("*.html")):
        for link in _read(page).links:
            if not _leads_somewhere(folder, page, link):
                yield f"{page.relative_to(folder)}: {link}"


def _leads_somewhere(folder: Path, page: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file() or not target.is_relative_to(folder.resolve()):
        return False
    if not parts.fragment or target.suffix != ".html":
        return True
    return unquote(parts.fragment) in _read(target).anchors


@cache
def _read(page: Path) -> _Page:
    read = _Page()
    read.feed(page.read_text("utf-8"))
    return read
