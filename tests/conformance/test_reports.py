"""Every kind of report shows every verdict, escapes what is foreign, and is red if nothing ran."""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import opspec
from opspec.conformance.report import FAILURES, CaseResult, Place, Report, Verdict
from opspec.conformance.reports import as_html, as_json, as_junit, badge, terminal
from opspec.conformance.reports.matrix import features_by_dtype, lanes_by_dtype
from opspec.registry import Demand

OPERATION = "Conv3DBackpropInputV2"
SCRIPT = 'import numpy as np\n\nif 1 < 2 and "a" != "b":\n    print(np.pi)'
NASTY = "<b>&\"'[bold]:smile:"
EXACT = Place(0, 1, 0, 3, 2, 2.0, 3.0, None, 17, 64)
BOUNDED = Place(1, 0, 0, 0, 0, 0.1, float("nan"), 167.25, 1, 64)


def demand(dtype: str = "float32", **changes: Any) -> Demand:
    plain = Demand(OPERATION, dtype, "NDHWC", False, False, "numpy.ndarray", 64)
    return replace(plain, **changes)


def case(number: int, verdict: Verdict, lane: str = "exact", **changes: Any) -> CaseResult:
    identity = f"conv3d_backprop_input_v2/{lane}/case-{number}"
    reason = "" if verdict == Verdict.PASS else f"reason number {number}"
    plain = CaseResult(identity, lane, OPERATION, verdict, reason, 0.25, demand(), ("SAME",))
    return replace(plain, **changes)


GOOD = Report(
    "good",
    (
        case(0, Verdict.PASS),
        case(1, Verdict.PASS, "form", features=("NDHWC", "VALID", "strided")),
        case(2, Verdict.PASS, "reject", demand=None),
    ),
    suite=1,
    seconds=1.5,
)
MIXED = Report(
    "mixed",
    (
        case(0, Verdict.PASS),
        case(1, Verdict.FAIL, place=EXACT, looks_like="flipped taps", script=SCRIPT),
        case(2, Verdict.FAIL, "bounded", place=BOUNDED, demand=demand("float64")),
        case(3, Verdict.CRASHED),
        case(4, Verdict.TIMED_OUT),
        case(5, Verdict.UNSUPPORTED, demand=demand("bfloat16")),
        case(6, Verdict.UNDECLARED_UNSUPPORTED, demand=demand(dilated=True)),
        case(7, Verdict.WORKS_BUT_UNDECLARED, demand=demand("float16")),
    ),
    suite=1,
    newer=12,
    uncovered=("empty tensors",),
    seconds=2.5,
)
EMPTY = Report("empty", (), suite=1)
ABSENT = Report("absent", (), suite=1, unavailable="cannot run here: no GPU")
RED: list[list[Report]] = [[], [EMPTY], [ABSENT], [GOOD, ABSENT], [MIXED]]
WRITERS = [as_json.write, as_junit.write, as_html.write, badge.write]
Writer = Callable[[Sequence[Report], Path], None]


def written(writer: Writer, reports: Sequence[Report], folder: Path) -> str:
    file = folder / "report"
    writer(reports, file)
    assert list(folder.iterdir()) == [file]
    return file.read_text("utf-8")


def printed(*reports: Report, width: int = 80, compare: bool = False) -> str:
    console = Console(file=StringIO(), width=width, highlight=False)
    if compare:
        terminal.compare(console, reports)
    else:
        for report in reports:
            terminal.show(console, report)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def unfolded(text: str) -> str:
    return " ".join(text.split())


def test_the_terminal_shows_every_verdict_within_80_columns() -> None:
    text = printed(MIXED)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    for result in MIXED.failures:
        assert f"{result.verdict}: {result.case}" in unfolded(text)
        apart = " --isolate" if result.verdict in (Verdict.CRASHED, Verdict.TIMED_OUT) else ""
        assert f"again: opspec check mixed{apart} -k {result.case}" in unfolded(text)
        assert result.reason in text
    assert "warning: conv3d_backprop_input_v2/exact/case-7: reason number 7" in unfolded(text)
    assert "suite 1, pinned; 12 newer cases left out. 5 of 8 cases executed, 2.5 s" in text
    assert "…" not in text
    assert text.split(" all ")[1].split("\n")[0].split() == ["1", "2", "1", "1", "1", "1", "1"]


def test_the_terminal_says_where_and_what_it_looks_like_and_how_to_see_it() -> None:
    text = unfolded(printed(MIXED))
    assert "element (n=0, d=1, h=0, w=3, c=2): 2, expected 3, the bits must match; 17 of 64" in text
    assert "(n=1, d=0, h=0, w=0, c=0): 0.1, expected nan, 167 units of the bound" in text
    assert "looks like: flipped taps" in text
    assert "\n    import numpy as np\n" in printed(MIXED)
    near = replace(EXACT, given=1.0, expected=1.0 + 2**-40)
    text = printed(replace(MIXED, results=(case(1, Verdict.FAIL, place=near),)))
    assert "1.0, expected 1.0000000000009095" in unfolded(text)
    known = case(1, Verdict.FAIL, reason="at (n=0, d=1, h=0, w=3, c=2): 2", place=EXACT)
    assert "first wrong element" not in printed(replace(MIXED, results=(known,)))


def test_of_failures_that_look_alike_one_comes_with_its_script_and_20_are_shown() -> None:
    alike = [case(n, Verdict.FAIL, looks_like="one", script=SCRIPT) for n in range(22)]
    text = printed(replace(MIXED, results=tuple(alike)))
    assert text.count("import numpy") == 1
    assert text.count("again: ") == 20
    assert "and 2 more" in text
    other = case(0, Verdict.FAIL, "form", looks_like="one", script=SCRIPT)
    assert printed(replace(MIXED, results=(*alike[:3], other))).count("import numpy") == 2


def test_a_long_command_is_broken_where_a_shell_goes_on_reading() -> None:
    name = "conv3d_backprop_input_v2/form/negative-stride/exact/dilated-ndhwc-same"
    text = printed(replace(MIXED, results=(case(0, Verdict.FAIL, case=name),)))
    assert f"  again: opspec check mixed \\\n    -k {name}\n" in text


def test_the_terminal_takes_foreign_text_as_it_is() -> None:
    loud = case(0, Verdict.FAIL, reason=f"{NASTY} \x1b[31mred", script="x[:heart:] = '[red]'")
    text = printed(Report(NASTY, (loud,), suite=1))
    assert f"{NASTY} [31mred" in text
    assert "    x[:heart:] = '[red]'" in text
    assert "\x1b" not in text


def test_strict_makes_what_works_but_is_undeclared_fail_everywhere(tmp_path: Path) -> None:
    surplus = case(7, Verdict.WORKS_BUT_UNDECLARED)
    lenient = replace(GOOD, results=(*GOOD.results, surplus))
    strict = replace(lenient, strict=True)
    assert "warning: " in printed(lenient)
    assert "works-but-undeclared: conv3d" in printed(strict)
    assert "1 failing" in written(badge.write, [strict], tmp_path)
    assert "3 passed" in written(badge.write, [lenient], tmp_path)
    assert "<failure" in written(as_junit.write, [strict], tmp_path)
    suite = ElementTree.fromstring(written(as_junit.write, [lenient], tmp_path))
    assert suite.get("failures") == "0"
    assert suite.findtext(".//system-out") == "warning: reason number 7"
    assert "✗ works-but-undeclared" in written(as_html.write, [strict], tmp_path)
    assert "! Works but is undeclared" in written(as_html.write, [lenient], tmp_path)


def test_backends_are_compared_side_by_side() -> None:
    text = printed(GOOD, MIXED, ABSENT, compare=True)
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "lane dtype good mixed" in rows
    assert "exact bfloat16 - not declared" in rows
    assert "float32 1/1 ok 1/5 FAIL" in rows
    assert "bounded float64 - 0/1 FAIL" in rows
    assert "reject - 1/1 ok -" in rows
    assert "all 3/3 ok 1/6 FAIL" in rows
    many = [replace(GOOD, backend=f"some_package.number{n}:backend") for n in range(9)]
    wide = printed(*many, compare=True)
    assert max(map(len, wide.splitlines())) <= 80
    assert wide.count("3/3 ok") == 9


def test_json_has_every_field(tmp_path: Path) -> None:
    content = json.loads(written(as_json.write, [MIXED, GOOD], tmp_path))
    assert content["opspec"] == opspec.__version__
    assert content["ok"] is False
    mixed = content["reports"][0]
    for field in Report.__dataclass_fields__:
        assert field in mixed
    assert mixed["newer"] == 12
    assert mixed["counts"]["fail"] == 2
    assert set(mixed["results"][1]) == set(CaseResult.__dataclass_fields__)
    assert mixed["results"][1]["script"] == SCRIPT
    assert mixed["results"][2]["place"]["expected"] == "nan"
    assert mixed["results"][5]["demand"]["dtype"] == "bfloat16"


def test_junit_counts_every_case_and_every_objection(tmp_path: Path) -> None:
    root = ElementTree.fromstring(written(as_junit.write, [GOOD, MIXED], tmp_path))
    good, mixed = root.findall("testsuite")
    counts = ("tests", "failures", "errors", "skipped")
    assert [good.get(name) for name in counts] == ["3", "0", "0", "0"]
    assert [mixed.get(name) for name in counts] == ["9", "4", "2", "1"]
    assert [root.get(name) for name in counts] == ["12", "4", "2", "1"]
    values = {p.get("name"): p.get("value") for p in mixed.iter("property")}
    assert values == {"opspec": opspec.__version__, "suite": "1", "newer": "12"}
    second = mixed.findall("testcase")[1]
    assert second.get("classname") == f"{OPERATION}.exact"
    assert second.get("name") == "conv3d_backprop_input_v2/exact/case-1"
    assert float(second.get("time") or 0) == 0.25
    failure = second.find("failure")
    assert failure is not None
    assert failure.get("message") == "fail: reason number 1"
    assert SCRIPT in (failure.text or "")
    last = mixed.findall("testcase")[-1]
    assert last.get("name") == "declared but not executed: empty tensors"
    assert {e.get("type") for e in mixed.iter("error")} == {"crashed", "timed-out"}


class Page(HTMLParser):
    """What a browser would make of a page: tags, attributes, and the text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("reports", [[MIXED], [GOOD, MIXED, ABSENT]])
def test_the_page_shows_everything_and_fetches_nothing(
    reports: list[Report], tmp_path: Path
) -> None:
    text = written(as_html.write, reports, tmp_path)
    page = Page(text)
    for result in MIXED.results:
        assert (result.verdict in FAILURES) == (f"✗ {result.verdict} {result.case}" in page.text)
        assert result.reason in page.text
    shown = ("○ not declared", "✗ 1/5", "Looks like: flipped taps", "167 units", SCRIPT)
    for words in (*shown, "declared but not executed: empty tensors"):
        assert words in page.text
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not {name for name, _ in page.attributes} & {"src", "srcset", "onclick", "onload"}
    assert all(value and value[0] == "#" for name, value in page.attributes if name == "href")
    for forbidden in ("http:", "https:", "url(", "@import"):
        assert forbidden not in text


def test_the_matrices_tell_wrong_right_undeclared_and_absent_apart() -> None:
    lanes = next(lanes_by_dtype([GOOD, MIXED]))
    assert lanes.columns == ("exact", "bounded", "reject", "form")
    states = {(row.group, row.backend): [c.state.value for c in row.cells] for row in lanes.rows}
    assert states["float32", "good"] == ["right", "empty", "empty", "right"]
    assert states["float32", "mixed"] == ["wrong", "empty", "empty", "empty"]
    assert states["bfloat16", "mixed"] == ["undeclared", "empty", "empty", "empty"]
    assert states["any dtype", "good"] == ["empty", "empty", "right", "empty"]
    features = features_by_dtype([GOOD, MIXED])
    groups = list(dict.fromkeys(row.group for row in features.rows))
    assert groups == ["NDHWC SAME", "NDHWC VALID", "dilated", "strided"]
    (dilated,) = [r for r in features.rows if (r.group, r.backend) == ("dilated", "mixed")]
    assert [(c.passed, c.executed) for c in dilated.cells] == [(0, 0), (0, 0), (0, 1), (0, 0)]


def test_the_page_says_when_and_with_what(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    as_html.write([GOOD], file, date=datetime(2031, 4, 5, 6, 7, tzinfo=UTC))
    text = Page(file.read_text("utf-8")).text
    assert "2031-04-05 06:07 UTC" in text
    assert f"opspec{opspec.__version__}" in "".join(text.split())
    assert "NDHWC VALID" in text
    assert "strided" in text


@pytest.mark.parametrize("writer", WRITERS)
def test_foreign_text_is_escaped_and_control_characters_do_no_harm(
    writer: Writer, tmp_path: Path
) -> None:
    nasty = "a\x00b\x1b[31m\ud800\ufffe]]></script><script>alert(1)</script>"
    result = case(0, Verdict.FAIL, reason=nasty, script=nasty, looks_like=nasty, case=NASTY)
    text = written(writer, [Report(NASTY + "\x07", (result,), suite=1)], tmp_path)
    if writer == as_html.write:
        page = Page(text)
        assert "script" not in page.tags
        assert NASTY in page.text
        assert page.text.count("ab[31m]]></script><script>alert(1)") == 4
    elif writer == as_json.write:
        assert json.loads(text)["reports"][0]["results"][0]["reason"] == nasty
    else:
        root = ElementTree.fromstring(text)
        assert writer != as_junit.write or root[0].get("name") == NASTY


@pytest.mark.parametrize("reports", RED)
def test_what_is_not_good_is_green_nowhere(reports: list[Report], tmp_path: Path) -> None:
    assert json.loads(written(as_json.write, reports, tmp_path))["ok"] is False
    root = ElementTree.fromstring(written(as_junit.write, reports, tmp_path))
    assert int(root.get("failures") or 0) == len(root.findall(".//failure")) > 0
    assert '<p class="banner wrong">' in written(as_html.write, reports, tmp_path)
    picture = written(badge.write, reports, tmp_path)
    assert badge.RED in picture
    assert badge.GREEN not in picture


def test_a_run_without_results_says_so(tmp_path: Path) -> None:
    assert "empty: no case was executed" in printed(EMPTY)
    assert "nothing ran" in written(badge.write, [EMPTY], tmp_path)
    assert "nothing ran" in written(as_html.write, [EMPTY], tmp_path)
    root = ElementTree.fromstring(written(as_junit.write, [EMPTY], tmp_path))
    assert [c.get("name") for c in root.iter("testcase")] == ["no case was executed"]


def test_the_badge_is_green_for_good_and_says_what_of_which_suite(tmp_path: Path) -> None:
    text = written(badge.write, [GOOD], tmp_path)
    root = ElementTree.fromstring(text)
    assert root.findtext("{*}title") == root.get("aria-label") == "opspec suite 1: 3 passed"
    assert badge.GREEN in text
    partial = written(badge.write, [replace(GOOD, partial=True)], tmp_path)
    assert "3 passed, partial" in partial
    assert badge.AMBER in partial
    assert "5 failing" in written(badge.write, [GOOD, MIXED], tmp_path)
    assert "incomplete" in written(badge.write, [GOOD, ABSENT], tmp_path)


@pytest.mark.parametrize("writer", WRITERS)
def test_what_breaks_off_leaves_the_old_report_and_nothing_else(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report"
    file.write_text("old", "utf-8")

    def stopped(part: Path, text: str, encoding: str) -> int:
        with part.open("w", encoding=encoding) as half:
            half.write(text[:10])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", stopped)
    with pytest.raises(KeyboardInterrupt):
        writer([GOOD], file)
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_text("utf-8") == "old"


def test_a_link_is_written_through_not_replaced(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    badge.write([GOOD], link)
    assert link.is_symlink()
    assert ElementTree.fromstring(target.read_text("utf-8")) is not None
