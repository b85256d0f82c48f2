"""The page, the picture and their figures, from a run that is written down in `bench.json`."""

import math
from pathlib import Path

import plot
import pytest
import report
import sweep
import variants
from agreement import disagreements, tolerance
from ratios import comparisons, geometric_mean
from results import Bench, Timing, read, written
from tables import milliseconds, table
from workloads import WORKLOADS

CANNED = Path(__file__).with_name("bench.json")
TINY = next(workload for workload in WORKLOADS if workload.name == "tiny")


@pytest.fixture
def bench() -> Bench:
    return read(CANNED)


def test_a_run_survives_being_written(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "again.json").write_bytes(written(bench))
    assert read(tmp_path / "again.json") == bench


def test_ratios_are_the_best_peer_over_ours(bench: Bench) -> None:
    found = comparisons(bench.runs[0], "opspec-numba")
    assert list(found) == ["k1s1", "tiny"]
    assert found["k1s1"].best == "torch"
    assert found["k1s1"].by_median == pytest.approx(2.0)
    assert found["k1s1"].by_minimum == pytest.approx(2.5)
    assert found["k1s1"].by_processor == pytest.approx(3.0)
    assert found["tiny"].by_median == pytest.approx(0.5)


def test_the_page_has_every_figure(bench: Bench) -> None:
    page = report.page(bench)
    section = page.partition("### opspec-numba")[2].splitlines()
    row = next(line for line in section if line.startswith("| k1s1"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [
        *("k1s1", "4.00", "torch", "8.00", "2.00", "2.50", "3.00", "4.00"),
        *("67.1", "67%", "compute", "67%", "9.0 (8.4)", "5.00"),
    ]
    assert "Geometric mean over 2 workloads: **1.00** by medians" in page
    assert "Worst: tiny, 0.50 (onnxruntime). Below 1: tiny." in page
    assert "tensorflow: refuses dilation on CPU (dil2_k3)" in page
    assert "missing: openvino" in page
    assert "ModuleNotFoundError: No module named 'openvino'" in page
    assert "Peak, by a loop of fused multiply-adds: 100 GFLOP/s" in page


def test_a_peer_that_takes_more_threads_than_it_was_given_is_said(bench: Bench) -> None:
    said = [reason for reason, _ in report.remarks(bench.runs[0])]
    # Its processor time is one and a half times its wall time, with one thread.
    assert "torch: kept more than the 1 thread busy that it was given" in said
    assert "opspec-numba: kept more than the 1 thread busy that it was given" not in said


def test_the_lead_is_a_backend_that_was_timed(bench: Bench) -> None:
    (run,) = bench.runs
    assert run.lead() == "opspec-numba"
    for problem in run.problems:
        problem.timings.pop("opspec-numba", None)
    assert run.lead() == "opspec-numpy"


def test_the_report_can_be_written_again(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_bytes(written(bench))
    assert report.main([str(tmp_path)]) == 0
    assert (tmp_path / "bench.md").read_text() == report.page(bench)
    assert (tmp_path / "bench.png").stat().st_size > 10_000


def test_a_run_with_nothing_in_it_is_still_drawn(bench: Bench, tmp_path: Path) -> None:
    bench.runs.clear()
    plot.plot(bench, tmp_path / "empty.png")
    sweep.draw(bench, tmp_path / "empty.png")
    assert report.page(bench)


def test_the_geometric_mean() -> None:
    assert geometric_mean([2.0, 0.5, 8.0]) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.3456, "12346"), (0.0456, "45.6"), (0.00456, "4.56"), (1.234e-5, "0.0123"), (None, "-")],
)
def test_times_have_the_digits_that_matter(seconds: float | None, text: str) -> None:
    assert milliseconds(seconds) == text


def test_columns_line_up() -> None:
    assert table(["name", "ms"], [["a", "1.00"], ["longer", "10.0"]]).splitlines() == [
        "| name   |   ms |",
        "| ------ | ---: |",
        "| a      | 1.00 |",
        "| longer | 10.0 |",
    ]


def _seen(value: float, shape: tuple[int, ...] = TINY.output_shape) -> dict[str, object]:
    return {"shape": shape, "sample": [1.0, value], "sum_of_absolutes": 100.0}


def test_the_one_that_differs_is_found() -> None:
    near = 2.0 + tolerance(TINY) / 2
    found = disagreements(TINY, {"a": _seen(2.0), "b": _seen(near), "c": _seen(2.1)})
    assert list(found) == ["c"]


def test_of_two_that_differ_both_are_named() -> None:
    assert list(disagreements(TINY, {"a": _seen(2.0), "b": _seen(2.1)})) == ["a", "b"]


def test_a_nan_and_a_wrong_shape_differ() -> None:
    shape = (1, 2, 3, 4, 5)
    found = disagreements(
        TINY,
        {"a": _seen(2.0), "b": _seen(2.0), "c": _seen(2.0, shape)},
    )
    assert found == {"c": f"its result has shape {shape}"}
    assert "a" in disagreements(TINY, {"a": _seen(math.nan), "b": _seen(2.0)})


def test_a_wrong_sum_differs() -> None:
    right, wrong = _seen(2.0), {**_seen(2.0), "sum_of_absolutes": 200.0}
    assert list(disagreements(TINY, {"a": right, "b": right, "c": wrong})) == ["c"]


def test_the_variants_page(bench: Bench) -> None:
    plain = Timing(medians=[0.002], least=[0.001], processor=[0.002])
    twice = Timing(medians=[0.004], least=[0.004], processor=[0.004])
    refused = Timing(problem="this version of opspec has no out=")
    row = variants.Row(
        "tiny",
        {"plain": 10, "dilated": 5, "float64": 10, "out=": 10},
        {"plain": plain, "dilated": twice, "float64": twice, "out=": refused},
    )
    page = variants.page(variants.Variants(bench, "opspec-numba", [[row]]))
    (line,) = [line for line in page.splitlines() if line.startswith("| tiny")]
    assert line.replace(" ", "") == "|tiny|2.00|-|-|-|2.00|-|4.00|"
    assert "2000.0 µs (least 1000.0)" in page
    assert "* out=: this version of opspec has no out= (tiny)" in page


def test_the_sweep_page_has_costs_and_steps(bench: Bench) -> None:
    (run,) = bench.runs
    first, second = run.problems[:2]
    points = {point.name: point for point in sweep.points()}
    for problem, name in ((first, "batch: 1"), (second, "batch: 2")):
        problem.workload = points[name]
        problem.useful_multiply_adds = points[name].useful_multiply_adds
    del run.problems[2:]
    page = sweep.page(bench)
    assert "### batch" in page
    assert "| 2     |" in page
