"""The Sphinx extension of this site: writes the generated pages first, checks all links last."""

from pathlib import Path

from internal_links import broken_links
from site_pages import write_pages
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

MOST_NAMED = 20


def setup(app: Sphinx) -> dict[str, bool]:
    """Have Sphinx call what is here."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir)))
    app.connect("build-finished", _check_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _check_links(app: Sphinx, failure: Exception | None) -> None:
    if failure is not None or app.builder.format != "html":
        return
    broken = list(broken_links(Path(app.outdir)))
    if broken:
        named = "\n".join(broken[:MOST_NAMED])
        raise ExtensionError(f"{len(broken)} links lead nowhere:\n{named}")
