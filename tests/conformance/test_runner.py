"""The run fails backends that do nothing, too little, or anything wrong."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opspec import ops
from opspec.backends.numpy import backend as numpy_backend
from opspec.conformance.case import all_golden
from opspec.conformance.forms import FORMS
from opspec.conformance.properties import ALL as PROPERTIES
from opspec.conformance.recast import recast
from opspec.conformance.report import Report, Verdict
from opspec.conformance.runner import check
from opspec.conformance.tasks import MADE_LANES, all_tasks
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.geometry import DATA_FORMATS, ConvGeometry
from opspec.registry import Backend, Capabilities, table

OPERATION = "Conv3DBackpropInputV2"
ALL = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)

Array = np.ndarray[Any, Any]
Kernel = Callable[[ConvGeometry, Array, Array], Any]
right = numpy_backend.kernel(OPERATION)


def quickly(backend: Backend, **more: Any) -> Report:
    return check(backend, quick=True, **more)


def planted(kernel: Kernel | None, capabilities: Capabilities = ALL) -> Backend:
    backend = Backend(name="planted", arrays="numpy.ndarray", capabilities=capabilities)
    if kernel is not None:

        @backend.implements(OPERATION)
        def conv3d(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Any:
            return kernel(geometry, filter, out_backprop)

    return backend


def of(report: Report, verdict: Verdict) -> int:
    return report.counts[verdict]


def test_the_numpy_backend_passes_everything_and_declares_everything() -> None:
    report = check("numpy")
    assert report.ok
    every = tuple(name for name in ops.names() if ops.get(name).kernel == name)
    assert numpy_backend.capabilities == replace(ALL, operations=every)
    assert of(report, Verdict.PASS) == len(report.results) == len(all_tasks())
    lanes = Counter(result.lane for result in report.results)
    assert sorted(lanes) == ["accept", "bounded", "exact", "form", "property", "real", "reject"]
    valued = lanes["exact"] + lanes["bounded"] + lanes["real"]
    made = [lane for lane in all_golden() if lane.file.lane in MADE_LANES]
    recasts = sum(len(ways) for lane in made for ways in recast(lane).values())
    assert recasts > 200
    assert lanes["form"] == valued * len(FORMS) + recasts
    assert lanes["property"] == len(PROPERTIES)


def test_a_quick_run_has_every_golden_case_and_something_of_every_lane() -> None:
    whole, quick = all_tasks(), all_tasks(quick=True)
    assert {task.lane for task in quick} == {task.lane for task in whole}
    golden = {task.identity for task in whole if task.lane not in ("form", "property")}
    assert golden <= {task.identity for task in quick} < {task.identity for task in whole}


def test_a_backend_without_kernels_fails() -> None:
    report = quickly(planted(None))
    assert not report.ok
    assert report.executed == 0
    assert "no case was executed" in report.objections
    assert of(report, Verdict.UNDECLARED_UNSUPPORTED) > 100


def test_a_backend_that_declares_nothing_fails() -> None:
    nothing = Capabilities(operations=(), dtypes=(), data_formats=())
    report = quickly(planted(None, nothing))
    assert not report.ok
    assert "no case was executed" in report.objections


def test_a_backend_that_raises_for_everything_fails() -> None:
    def raises(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        raise NotImplementedError("not yet")

    report = quickly(planted(raises))
    assert not report.ok
    assert report.executed == 0
    assert of(report, Verdict.UNDECLARED_UNSUPPORTED) > 100


def zeros(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    return np.zeros(geometry.input_shape, numpy_dtype(geometry.dtype))


def adds_to_what_it_finds(result: Array, out: Array) -> Array:
    out += result
    return out


def leaves_zeros_out(result: Array, out: Array) -> Array:
    np.copyto(out, result, where=result != 0)
    return out


def fills_and_returns_another(result: Array, out: Array) -> Array:
    out[...] = result
    return result


def ignores_it(result: Array, out: Array) -> Array:
    return result


def fills_it(result: Array, out: Array) -> Array:
    out[...] = result
    return out


def planted_with_out(fill: Callable[[Array, Array], Array]) -> Backend:
    backend = Backend(name="planted", arrays="numpy.ndarray", capabilities=ALL)

    @backend.implements(OPERATION)
    def conv3d(
        geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
    ) -> Array:
        result: Array = right(geometry, filter, out_backprop)
        return result if out is None else fill(result, out)

    return backend


@pytest.mark.parametrize(
    ("fill", "words"),
    [
        (adds_to_what_it_finds, "with out=: "),
        (leaves_zeros_out, "with out=: "),
        (fills_and_returns_another, "fill that array and return it"),
        (ignores_it, "fill that array and return it"),
    ],
)
def test_a_kernel_that_is_right_only_without_out_fails(
    fill: Callable[[Array, Array], Array], words: str
) -> None:
    report = quickly(planted_with_out(fill))
    reasons = [result.reason for result in report.results if result.verdict == Verdict.FAIL]
    assert reasons
    assert any(words in reason for reason in reasons)
    assert {r.lane for r in report.results if r.verdict == Verdict.FAIL} >= {"exact", "form"}
    assert not report.ok
    assert quickly(planted_with_out(fills_it)).ok


def test_a_right_kernel_passes_through_the_same_planting() -> None:
    assert quickly(planted(right)).ok


def test_less_than_declared_is_not_enough() -> None:
    report = quickly(planted(right), pattern="float32")
    assert report.ok
    assert report.partial
    whole = replace_partial(report)
    assert not whole.ok
    assert any("declared but not executed" in text for text in whole.objections)


def replace_partial(report: Report) -> Report:
    """The same results, had they been a whole run."""
    return replace(report, partial=False)


def test_a_pattern_that_matches_nothing_fails() -> None:
    report = quickly(planted(right), pattern="no such case")
    assert not report.ok
    assert report.objections == ("no case was executed",)


def test_refusals_alone_are_no_proof_of_a_backend() -> None:
    report = quickly(planted(right), pattern="/reject/")
    assert of(report, Verdict.PASS) == len(report.results) == 66
    assert not report.ok


def test_what_is_not_declared_and_does_not_work_is_unsupported() -> None:
    def single(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        if geometry.dtype != "float32" or geometry.data_format != "NDHWC":
            raise NotImplementedError
        return right(geometry, filter, out_backprop)  # type: ignore[no-any-return]  # untyped

    few = replace(ALL, dtypes=("float32",), data_formats=("NDHWC",))
    report = quickly(planted(single, few), strict=True)
    assert report.ok
    assert of(report, Verdict.UNSUPPORTED) > 20
    reasons = {r.reason for r in report.results if r.verdict == Verdict.UNSUPPORTED}
    assert any("dtype float64" in reason for reason in reasons)
    assert any("data_format NCDHW" in reason for reason in reasons)


def test_what_works_without_being_declared_is_a_warning_and_strictly_a_failure() -> None:
    few = replace(ALL, dtypes=("float32",))
    loose, strict = quickly(planted(right, few)), quickly(planted(right, few), strict=True)
    assert of(loose, Verdict.WORKS_BUT_UNDECLARED) > 20
    assert loose.ok
    assert not strict.ok


def test_what_is_declared_and_no_case_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # An operation may come to know a dtype before the suite has cases of it.
    monkeypatch.setitem(table._NAMES["dtypes"], "int8", None)
    more = replace(ALL, dtypes=(*FLOATING, "int8"))
    report = quickly(planted(right, more))
    assert not report.ok
    assert any("int8" in text for text in report.objections)


def test_an_unavailable_backend_fails_with_its_reason() -> None:
    backend = Backend(
        name="away",
        arrays="numpy.ndarray",
        capabilities=ALL,
        unavailable=lambda: "no such device; install one",
    )
    report = quickly(backend)
    assert report.objections == ("cannot run here: no such device; install one",)


def test_progress_is_told_after_every_case() -> None:
    seen: list[tuple[int, int]] = []
    check("numpy", pattern="/accept/", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(n, 131) for n in range(1, 132)]


TURNING = """
import ctypes, platform, sys
from dataclasses import replace
import numpy as np
from opspec.backends.numpy import backend as numpy_backend
from opspec.conformance.runner import check
from opspec.registry import Backend

OPERATION = "Conv3DBackpropInputV2"
UPWARD = 0x800 if platform.machine() == "x86_64" else 0x400000
capabilities = replace(numpy_backend.capabilities, operations=(OPERATION,))
backend = Backend("turning", "numpy.ndarray", capabilities)
right = numpy_backend.kernel(OPERATION)


@backend.implements(OPERATION)
def conv3d(geometry, filter, out_backprop):
    result = right(geometry, filter, out_backprop)
    ctypes.CDLL("libm.so.6").fesetround(UPWARD)
    return result


print(check(backend, pattern="input_v2/form/settings/exact/one-voxel").results[0].reason)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it names Linux's libm")
def test_another_direction_of_rounding_is_noticed() -> None:
    # In a process of its own, which nobody needs afterwards.
    done = subprocess.run([sys.executable, "-c", TURNING], capture_output=True, text=True)
    assert "the kernel changed how the processor rounds" in done.stdout, done.stderr
