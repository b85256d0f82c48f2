"""The run fails backends that do nothing, too little, or anything wrong."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opspec.backends.numpy import backend as numpy_backend
from opspec.conformance.case import all_golden
from opspec.conformance.report import Report, Verdict
from opspec.conformance.runner import check
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.geometry import DATA_FORMATS, ConvGeometry
from opspec.registry import Backend, Capabilities

OPERATION = "Conv3DBackpropInputV2"
ALL = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)

Array = np.ndarray[Any, Any]
Kernel = Callable[[ConvGeometry, Array, Array], Any]
right = numpy_backend.kernel(OPERATION)


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
    assert numpy_backend.capabilities == ALL
    cases = sum(len(lane.file.cases) for lane in all_golden())
    assert of(report, Verdict.PASS) == len(report.results) == cases


def test_a_backend_without_kernels_fails() -> None:
    report = check(planted(None))
    assert not report.ok
    assert report.executed == 0
    assert "no case was executed" in report.objections
    assert of(report, Verdict.UNDECLARED_UNSUPPORTED) > 100


def test_a_backend_that_declares_nothing_fails() -> None:
    nothing = Capabilities(operations=(), dtypes=(), data_formats=())
    report = check(planted(None, nothing))
    assert not report.ok
    assert "no case was executed" in report.objections


def test_a_backend_that_raises_for_everything_fails() -> None:
    def raises(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        raise NotImplementedError("not yet")

    report = check(planted(raises))
    assert not report.ok
    assert report.executed == 0
    assert of(report, Verdict.UNDECLARED_UNSUPPORTED) > 100


def zeros(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    return np.zeros(geometry.input_shape, numpy_dtype(geometry.dtype))


def written_into(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result: Array = right(geometry, filter, out_backprop)
    filter[...] = 0
    return result


def handed_back(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result: Array = right(geometry, filter, out_backprop)
    if result.shape == out_backprop.shape:
        out_backprop[...] = result
        return out_backprop
    return result


def one_step_off(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result: Array = right(geometry, filter, out_backprop)
    above: Array = np.nextafter(result, result.dtype.type(np.inf), dtype=result.dtype)
    return above


def with_windows(**changes: Callable[[Any], Any]) -> Kernel:
    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        windows = [
            replace(w, **{name: change(w) for name, change in changes.items()})
            for w in geometry.windows
        ]
        shifted = replace(geometry, windows=(windows[0], windows[1], windows[2]))
        result: Array = right(shifted, filter, out_backprop)
        return result

    return kernel


def on_operands(filter_change: Callable[[Array], Array]) -> Kernel:
    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        changed = np.ascontiguousarray(filter_change(filter))
        result: Array = right(geometry, changed.reshape(filter.shape), out_backprop)
        return result

    return kernel


def low_precision(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    bits = filter.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    result: Array = right(geometry, bits.view(np.float32).astype(filter.dtype), out_backprop)
    return result


def rounded_twice(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result = zeros(geometry, filter, out_backprop)
    for channel in range(geometry.out_channels):
        part = replace(geometry, out_channels=1)
        axis = geometry.data_format.index("C")
        data = np.take(out_backprop, [channel], axis)
        result = (result + right(part, filter[..., channel : channel + 1], data)).astype(
            result.dtype
        )
    return result


WRONG: dict[str, Kernel] = {
    "zeros": zeros,
    "writes into an operand": written_into,
    "hands an operand back": handed_back,
    "one rounding step off": one_step_off,
    "SAME padding on the wrong side": with_windows(before=lambda w: w.after),
    "padding one too many": with_windows(before=lambda w: w.before + 1),
    "no padding": with_windows(before=lambda w: 0),
    "no dilation": with_windows(dilation=lambda w: 1),
    "flipped filter": on_operands(lambda f: f[::-1, ::-1, ::-1]),
    "flipped depth": on_operands(lambda f: f[::-1]),
    "swapped spatial axes": on_operands(lambda f: f.transpose(1, 0, 2, 3, 4)),
    "swapped channels": on_operands(lambda f: f.swapaxes(3, 4)),
    "reversed channels": on_operands(lambda f: f[..., ::-1]),
    "a filter of 10 bits": low_precision,
    "every partial sum rounded": rounded_twice,
    "float64 result": lambda g, f, o: right(g, f, o).astype(np.float64),
    "Fortran order": lambda g, f, o: np.asfortranarray(right(g, f, o)),
    "a list": lambda g, f, o: right(g, f, o).tolist(),
    "transposed": lambda g, f, o: right(g, f, o).T,
    "batch reversed": lambda g, f, o: np.ascontiguousarray(right(g, f, o)[::-1]),
    "first batch entry repeated": lambda g, f, o: np.ascontiguousarray(
        np.repeat(right(g, f, o)[:1], g.batch, axis=0) if g.batch else right(g, f, o)
    ),
    "scaled by 1.0005": lambda g, f, o: (right(g, f, o) * np.float32(1.0005)).astype(f.dtype),
    "infinities lost": lambda g, f, o: np.nan_to_num(right(g, f, o), nan=np.nan),
    "NaN lost": lambda g, f, o: np.where(np.isnan(r := right(g, f, o)), 0, r).astype(f.dtype),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_kernel_fails(fault: str) -> None:
    report = check(planted(WRONG[fault]))
    assert of(report, Verdict.FAIL) > 0
    assert not report.ok


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
    report = check(planted_with_out(fill))
    reasons = [result.reason for result in report.results if result.verdict == Verdict.FAIL]
    assert reasons
    assert all(words in reason for reason in reasons)
    assert not report.ok
    assert check(planted_with_out(fills_it)).ok


def test_a_right_kernel_passes_through_the_same_planting() -> None:
    assert check(planted(right)).ok


def test_less_than_declared_is_not_enough() -> None:
    report = check(planted(right), pattern="float32")
    assert report.ok
    assert report.partial
    whole = replace_partial(report)
    assert not whole.ok
    assert any("declared but not executed" in text for text in whole.objections)


def replace_partial(report: Report) -> Report:
    """The same results, had they been a whole run."""
    return replace(report, partial=False)


def test_a_pattern_that_matches_nothing_fails() -> None:
    report = check(planted(right), pattern="no such case")
    assert not report.ok
    assert report.objections == ("no case was executed",)


def test_refusals_alone_are_no_proof_of_a_backend() -> None:
    report = check(planted(right), pattern="/reject/")
    assert of(report, Verdict.PASS) == len(report.results) == 66
    assert not report.ok


def test_what_is_not_declared_and_does_not_work_is_unsupported() -> None:
    def single(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        if geometry.dtype != "float32" or geometry.data_format != "NDHWC":
            raise NotImplementedError
        return right(geometry, filter, out_backprop)  # type: ignore[no-any-return]  # untyped

    few = replace(ALL, dtypes=("float32",), data_formats=("NDHWC",))
    report = check(planted(single, few), strict=True)
    assert report.ok
    assert of(report, Verdict.UNSUPPORTED) > 20
    reasons = {r.reason for r in report.results if r.verdict == Verdict.UNSUPPORTED}
    assert any("dtype float64" in reason for reason in reasons)
    assert any("data_format NCDHW" in reason for reason in reasons)


def test_what_works_without_being_declared_is_a_warning_and_strictly_a_failure() -> None:
    few = replace(ALL, dtypes=("float32",))
    loose, strict = check(planted(right, few)), check(planted(right, few), strict=True)
    assert of(loose, Verdict.WORKS_BUT_UNDECLARED) > 20
    assert loose.ok
    assert not strict.ok


def test_what_is_declared_and_no_case_needs_is_named() -> None:
    more = replace(ALL, dtypes=(*FLOATING, "int8"))
    report = check(planted(right, more))
    assert not report.ok
    assert any("int8" in text for text in report.objections)


def test_an_unavailable_backend_fails_with_its_reason() -> None:
    backend = Backend(
        name="away",
        arrays="numpy.ndarray",
        capabilities=ALL,
        unavailable=lambda: "no such device; install one",
    )
    report = check(backend)
    assert report.objections == ("cannot run here: no such device; install one",)


def test_progress_is_told_after_every_case() -> None:
    seen: list[tuple[int, int]] = []
    check("numpy", pattern="/accept/", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(n, 66) for n in range(1, 67)]
