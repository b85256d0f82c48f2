"""What a check cannot show is said by every report; `--emulated` checks what stands in."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from opspec.backends.numpy.conv3d_backprop_input_v2 import conv3d_backprop_input_v2
from opspec.cli import main
from opspec.conformance.report import Report
from opspec.conformance.reports import as_html, as_json, as_junit, terminal
from opspec.conformance.runner import check
from opspec.registry import Backend, discovery

CAVEAT = "emulated: seen on a CPU & nowhere else"


@pytest.fixture(scope="module")
def report() -> Report:
    numpy = discovery.find("numpy").capabilities
    backend = Backend("played", "numpy.ndarray", numpy, caveat=CAVEAT)
    backend.implements("Conv3DBackpropInputV2")(conv3d_backprop_input_v2)
    return check(backend, pattern="exact/ndhwc-same-float32", quick=True)


def test_every_report_says_it(report: Report, tmp_path: Path) -> None:
    assert report.caveat == CAVEAT
    printed = io.StringIO()
    terminal.show(Console(file=printed, width=80), report)
    assert CAVEAT in printed.getvalue()
    assert as_json.described(report)["caveat"] == CAVEAT
    as_junit.write([report], tmp_path / "report.xml")
    as_html.write([report], tmp_path / "report.html")
    for file in ("report.xml", "report.html"):
        assert CAVEAT.replace("&", "&amp;") in (tmp_path / file).read_text("utf-8")


def test_a_backend_without_an_emulator_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "numpy", "--emulated"]) == 2
    assert "backend 'numpy' has no emulator: it declares no emulated=" in capsys.readouterr().err


def test_the_emulator_is_a_backend_that_can_be_found() -> None:
    place = discovery.find("cupy").emulated
    assert place is not None
    emulator = discovery.find(place)
    assert emulator.capabilities == discovery.find("cupy").capabilities
    assert emulator.caveat is not None
