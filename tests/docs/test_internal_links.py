"""Links that lead nowhere are found, in whatever tag they stand."""

from pathlib import Path

import pytest
from internal_links import broken_links

PAGE = '<a href="{}">x</a><p id="here">y</p>'


@pytest.mark.parametrize(
    ("link", "broken"),
    [
        ("other.html", False),
        ("other.html#there", False),
        ("#here", False),
        ("https://example.org/nothing", False),
        ("folder/deep.html", False),
        ("missing.html", True),
        ("other.html#nowhere", True),
        ("#nowhere", True),
        ("../outside.html", True),
    ],
)
def test_a_link_is_judged(tmp_path: Path, link: str, broken: bool) -> None:
    site = tmp_path / "site"
    (site / "folder").mkdir(parents=True)
    (tmp_path / "outside.html").write_text("", "utf-8")
    (site / "other.html").write_text('<h1 id="there">z</h1>', "utf-8")
    (site / "folder" / "deep.html").write_text('<a href="../other.html">up</a>', "utf-8")
    (site / "page.html").write_text(PAGE.format(link), "utf-8")
    assert list(broken_links(site)) == ([f"page.html: {link}"] if broken else [])


def test_frames_images_and_scripts_are_links(tmp_path: Path) -> None:
    tags = '<iframe src="a.html"></iframe><img src="b.png"><script src="c.js"></script>'
    (tmp_path / "page.html").write_text(tags, "utf-8")
    assert len(list(broken_links(tmp_path))) == 3
