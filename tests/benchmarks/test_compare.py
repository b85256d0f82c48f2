"""The comparison says who disagrees, who is missing and what was measured before Ctrl-C."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import compare
import pytest
import variants
from peer_link import PeerFailed, PeerLink
from results import Bench, Run, read

FOLDER = Path(compare.__file__).parent
PEER = """#!{python}
import os, signal, sys, time
sys.path.insert(0, {folder!r})
import peer_process
from peers.opspec_backend import OpspecBackend

class Stand_in(OpspecBackend):
    def prepared(self, operands):
        call, name = super().prepared(operands), operands.workload.name
        return lambda: {result}

peer_process.opened = lambda name, threads: Stand_in("numpy")
sys.exit(peer_process.main(sys.argv[2:]))
"""
RIGHT = "call()"
WRONG = "call() + 0.01"
INTERRUPTING = """call() if name == "tiny" else (
    os.kill(os.getppid(), signal.SIGINT), time.sleep(60))"""
SLOW = "time.sleep(60)"
DYING = "os._exit(3)"

Compare = Callable[..., tuple[int, Bench, str]]


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[[str, str], str]:
    """A program that says it is Python and is a peer whose results are an expression's."""

    def written(library: str, result: str) -> str:
        program = tmp_path / library
        program.write_text(PEER.format(python=sys.executable, folder=str(FOLDER), result=result))
        program.chmod(0o755)
        return f"{library}={program}"

    return written


@pytest.fixture
def run_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in: Callable[[str, str], str]
) -> Compare:
    def nothing(run: Run, python: str) -> None:
        run.no_roofs = "not measured in tests"

    monkeypatch.setattr(compare, "measure_roofs", nothing)

    def run(*options: str, **stand_ins: str) -> tuple[int, Bench, str]:
        arguments = ["--threads", "1", "--rounds", "1", "--output", str(tmp_path / "out")]
        for library, result in stand_ins.items():
            arguments += ["--python", stand_in(library, result)]
        code = compare.main([*arguments, *options])
        folder = tmp_path / "out"
        assert (folder / "bench.png").read_bytes().startswith(b"\x89PNG")
        return code, read(folder / "bench.json"), (folder / "bench.md").read_text()

    return run


def test_peers_that_agree_are_timed(run_compare: Compare) -> None:
    code, bench, page = run_compare(
        *("--workloads", "tiny", "--peers", "opspec-numpy", "torch"), torch=RIGHT
    )
    assert code == 0
    (problem,) = bench.runs[0].problems
    assert problem.checked == 2
    assert all(timing.counts for timing in problem.timings.values())
    assert bench.runs[0].starts["torch"].cold_workload == "tiny"
    assert "Geometric mean over 1 workloads" in page
    assert "missing:" not in page


def test_a_peer_that_disagrees_is_not_timed_and_fails_the_run(
    run_compare: Compare, capsys: pytest.CaptureFixture[str]
) -> None:
    peers = ("opspec-numpy", "torch", "onnxruntime")
    code, bench, page = run_compare(
        "--workloads", "tiny", "--peers", *peers, torch=RIGHT, onnxruntime=WRONG
    )
    assert code == 1
    timings = bench.runs[0].problems[0].timings
    assert timings["onnxruntime"].disagrees
    assert not timings["onnxruntime"].medians
    assert timings["torch"].counts
    assert "DISAGREEMENT: 1 threads, tiny: onnxruntime" in capsys.readouterr().err
    assert "RESULTS DISAGREE" in page


def test_a_missing_peer_is_named_with_its_reason(run_compare: Compare) -> None:
    peers = ("opspec-numpy", "torch", "openvino")
    code, bench, page = run_compare(
        *("--workloads", "tiny", "--peers", *peers, "--python", "openvino=/nonexistent/python"),
        torch=RIGHT,
    )
    assert code == 0
    assert "does not start" in str(bench.runs[0].starts["openvino"].absent)
    assert "missing: openvino" in page
    assert "/nonexistent/python does not start: No such file or directory" in page


def test_a_library_that_is_not_installed_is_said(tmp_path: Path) -> None:
    program = tmp_path / "bare"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(FOLDER)!r})\n"
        "import peer_process\nsys.modules['torch'] = None\n"
        "sys.exit(peer_process.main(sys.argv[2:]))\n"
    )
    program.chmod(0o755)
    link = PeerLink("torch", str(program), 1)
    link.close()
    assert "torch" in link.hello["absent"]


@pytest.mark.parametrize(
    ("result", "reason"), [(SLOW, "took more than 1 s"), (DYING, "(exit code 3)")]
)
def test_a_peer_that_hangs_or_dies_is_ended_and_started_again(
    run_compare: Compare, result: str, reason: str
) -> None:
    peers = ("opspec-numpy", "torch")
    workloads = ("tiny", "torch48400")
    code, bench, page = run_compare(
        *("--peers", *peers, "--workloads", *workloads, "--limit", "1"),
        torch=f'call() if name == "torch48400" else {result}',
    )
    assert code == 0
    tiny, later = bench.runs[0].problems
    assert reason in str(tiny.timings["torch"].problem)
    assert reason in page
    assert tiny.timings["opspec-numpy"].counts
    assert later.timings["torch"].counts


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """Heed Ctrl-C as in a terminal: programs that a shell starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_ends_the_run_and_keeps_what_was_measured(run_compare: Compare) -> None:
    workloads = ("tiny", "k1s1", "torch48400")
    code, bench, page = run_compare(
        "--workloads", *workloads, "--peers", "opspec-numpy", "torch", torch=INTERRUPTING
    )
    assert code == 130
    assert bench.interrupted
    tiny, interrupted = bench.runs[0].problems
    assert tiny.timings["torch"].counts
    assert interrupted.workload.name == "k1s1"
    assert not interrupted.timings["torch"].counts
    assert "Interrupted" in page


def test_a_workload_that_does_not_fit_is_skipped_and_said(run_compare: Compare) -> None:
    code, bench, page = run_compare(
        *("--workloads", "tiny", "torch95271_b", "--peers", "opspec-numpy"),
        *("--max-bytes", "1e6"),
    )
    assert code == 0
    assert bench.runs[0].problems[1].skipped
    assert "everybody: skipped, it may need" in page
    assert "compared with nobody's (tiny)" in page


def test_a_run_in_which_nothing_is_timed_fails(run_compare: Compare) -> None:
    code, _, _ = run_compare("--workloads", "tiny", "--peers", "torch", torch="1 / 0")
    assert code == 1


def test_an_unknown_workload_is_a_wrong_use() -> None:
    with pytest.raises(SystemExit, match="2"):
        compare.main(["--workloads", "nosuch"])


def test_a_process_that_talks_nonsense_is_a_failed_peer(tmp_path: Path) -> None:
    program = tmp_path / "nonsense"
    program.write_text("#!/bin/sh\necho hello\necho the reason >&2\nexit 4\n")
    program.chmod(0o755)
    with pytest.raises(PeerFailed, match=r"exit code 4.*the reason"):
        PeerLink("torch", str(program), 1)


def test_variants_go_on_after_one_that_kills_the_process(
    tmp_path: Path, stand_in: Callable[[str, str], str]
) -> None:
    place = stand_in("opspec", 'call() if operands.input.dtype != "float64" else os._exit(3)')
    options = ("--threads", "1", "--rounds", "1", "--workloads", "tiny", "torch48400")
    assert variants.main([*options, "--output", str(tmp_path), "--python", place]) == 0
    page = (tmp_path / "variants.md").read_text()
    assert "* float64: its process ended" in page
    assert "(tiny, torch48400)" in page
    assert "* out=: its process has ended (tiny, torch48400)" in page
