"""The Numba kernels, each forced onto problems of every kind, against independent sums."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opspec
from opspec.backends.numba.target import AVX2, AVX512, NEON, PORTABLE, Target, host
from opspec.conformance.oracle import direct_sum, exact_sum
from opspec.conformance.report import Verdict
from opspec.conformance.runner import check
from opspec.conformance.tasks import all_tasks
from opspec.conformance.tolerance import require_bounded
from opspec.geometry import ConvGeometry, Window

numba = pytest.importorskip("numba", reason="numba is not installed; it comes with opspec[numba]")

from opspec.backends.numba import conv3d_backprop_input_v2 as entry  # noqa: E402
from opspec.backends.numba import in_tasks, kernels, ways  # noqa: E402

OPERATION = "Conv3DBackpropInputV2"
DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
WAYS = ("direct", "dots", "gather", "scatter")


@pytest.fixture
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Send every problem the way that the test asks for."""
    way: str = request.param
    monkeypatch.setattr(ways, "TINY", 2**62 if way == "direct" else 0)
    monkeypatch.setattr(ways, "scatters", lambda geometry, target: way == "scatter")
    monkeypatch.setattr(ways, "few_positions", lambda geometry: way == "dots")
    monkeypatch.setattr(ways, "panels_overflow", lambda geometry, target: way == "dots")
    monkeypatch.setattr(ways, "WORTH_THREADS", 0)
    monkeypatch.setattr(ways, "WORTH_SCATTERING", 0)
    monkeypatch.setattr(in_tasks, "WORTH_PACKING", 0)
    ways.way_for.cache_clear()
    yield way
    ways.way_for.cache_clear()


def problem(seed: int, dtypes: tuple[Any, ...], data_formats: tuple[str, ...]) -> dict[str, Any]:
    rng = np.random.default_rng([20261203, seed])
    size, kernel, stride, dilation = (
        rng.integers(low, high, 3) for low, high in ((1, 14), (1, 6), (1, 5), (1, 4))
    )
    padding = str(rng.choice(["SAME", "VALID"]))
    span = (kernel - 1) * dilation + 1
    windows = (
        -(-size // stride) if padding == "SAME" else np.maximum((size - span) // stride + 1, 0)
    )
    batch, contracted, made = rng.integers(1, 4), rng.integers(0, 40), rng.integers(1, 40)
    dtype = dtypes[rng.integers(len(dtypes))]
    order = [0, 1, 2, 3, 4] if rng.choice(data_formats) == "NDHWC" else [0, 4, 1, 2, 3]
    taps = rng.integers(-2, 3, (*kernel, made, contracted))
    data = rng.integers(-2, 3, (batch, *windows, contracted))
    return {
        "input_sizes": [int((batch, *size, made)[axis]) for axis in order],
        "filter": taps.astype(dtype),
        "out_backprop": np.ascontiguousarray(data.transpose(order)).astype(dtype),
        "strides": [int((1, *stride, 1)[axis]) for axis in order],
        "padding": padding,
        "data_format": "NDHWC" if order[1] == 1 else "NCDHW",
        "dilations": [int((1, *dilation, 1)[axis]) for axis in order],
    }


def compiled(way: str) -> Any:
    """Return the kernel of a way for float32, channels last."""
    if way == "dots":
        return kernels.dots(host(), "float32")
    return getattr(kernels, way)(host(), "float32", False)


def computed(given: dict[str, Any]) -> Any:
    """Compute into memory full of NaN, so that what is not written shows."""
    out = np.full(given["input_sizes"], np.nan, given["filter"].dtype)
    opspec.raw_ops.Conv3DBackpropInputV2(**given, out=out, backend="numba")
    return out


@pytest.mark.parametrize("forced", WAYS, indirect=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_random_problems_are_exact(forced: str, dtype: Any, data_format: str) -> None:
    for seed in range(50):
        given = problem(seed, (dtype,), (data_format,))
        with opspec.thread_limit(1 + seed % 3):
            result = computed(given)
        np.testing.assert_array_equal(result.astype(np.float64), exact_sum(**given))


@pytest.mark.parametrize("forced", ["gather", "scatter"], indirect=True)
@pytest.mark.parametrize("idle", [[2], [1, 2], [0, 1, 2], [0], [0, 2]])
@pytest.mark.parametrize("length", [1, 6])
def test_dimensions_in_which_nothing_happens_are_joined_rightly(
    forced: str, idle: list[int], length: int
) -> None:
    for seed in range(10):
        rng = np.random.default_rng([seed, length])
        size, kernel, stride = (
            rng.integers(low, high, 3) for low, high in ((1, 9), (1, 5), (1, 4))
        )
        size[idle], kernel[idle], stride[idle] = length, 1, 1
        windows = -(-size // stride)
        made, contracted = (int(channels) for channels in rng.integers(1, 20, 2))
        given: dict[str, Any] = {
            "input_sizes": [2, *map(int, size), made],
            "filter": rng.integers(-2, 3, (*kernel, made, contracted)).astype(np.float32),
            "out_backprop": rng.integers(-2, 3, (2, *windows, contracted)).astype(np.float32),
            "strides": [1, *map(int, stride), 1],
            "padding": "SAME",
            "data_format": "NDHWC",
            "dilations": [1, 1, 1, 1, 1],
        }
        np.testing.assert_array_equal(computed(given), exact_sum(**given))


@pytest.mark.slow
@pytest.mark.parametrize("forced", WAYS, indirect=True)
@pytest.mark.parametrize("target", [PORTABLE, NEON, AVX512], ids=lambda target: target.name)
def test_other_cpus_kernels_are_exact_too(
    forced: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    # LLVM expresses wide vectors by narrower ones where the CPU has no wide ones.
    monkeypatch.setattr(entry, "host", lambda: target)
    dtypes = DTYPES[:1] + DTYPES[2:3] if target is PORTABLE else DTYPES[2:3]
    for seed in range(100, 140):
        given = problem(seed, dtypes, ("NDHWC", "NCDHW"))
        np.testing.assert_array_equal(computed(given).astype(np.float64), exact_sum(**given))


@pytest.mark.parametrize("forced", WAYS, indirect=True)
def test_each_way_passes_the_whole_suite(forced: str) -> None:
    report = check("numba", strict=True)
    assert report.ok, [result for result in report.results if result.verdict.value == "fail"]
    ran = {result.case for result in report.results if result.verdict == Verdict.PASS}
    own = (task for task in all_tasks() if task.kernel == OPERATION)
    assert ran >= {task.identity for task in own}


@pytest.mark.parametrize("forced", ["dots", "gather", "scatter"], indirect=True)
@pytest.mark.parametrize("made", [1, 2, 5, 16, 24])
def test_long_sums_of_zero_mean_data_are_within_the_bound(forced: str, made: int) -> None:
    rng = np.random.default_rng(made)
    given: dict[str, Any] = {
        "input_sizes": [2, 6, 7, 9, made],
        "filter": rng.standard_normal((3, 2, 4, made, 100)).astype(np.float32),
        "out_backprop": rng.standard_normal((2, 3, 7, 5, 100)).astype(np.float32),
        "strides": [1, 2, 1, 2, 1],
        "padding": "SAME",
        "data_format": "NDHWC",
        "dilations": [1, 1, 1, 1, 1],
    }
    require_bounded(computed(given), *direct_sum(**given), "NDHWC")


@pytest.mark.parametrize("forced", WAYS, indirect=True)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", ["filter", "out_backprop"])
@pytest.mark.parametrize("seed", range(200, 212))
def test_nan_and_infinity_go_where_their_taps_go(
    forced: str, special: float, operand: str, seed: int
) -> None:
    seeds = range(seed, seed + 10_000, 100)
    tried = (problem(each, (np.float32,), ("NDHWC", "NCDHW")) for each in seeds)
    given = next(one for one in tried if one["out_backprop"].size)
    flat = given[operand].reshape(-1)
    flat[seed % flat.size] = special
    with np.errstate(invalid="ignore"):
        expected, _ = direct_sum(**given)
    np.testing.assert_array_equal(computed(given), expected.astype(np.float32))


@pytest.mark.parametrize("forced", WAYS, indirect=True)
def test_subnormals_are_kept(forced: str) -> None:
    given = problem(300, (np.float32,), ("NDHWC",))
    expected = exact_sum(**given) * 2.0**-149
    given["filter"] = given["filter"] * np.float32(2.0**-149)
    assert np.any(expected)
    np.testing.assert_array_equal(computed(given), expected.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("forced", WAYS, indirect=True)
def test_half_precision_is_rounded_once(forced: str, dtype: type) -> None:
    terms = 4096
    ones: Any = np.ones((1, 1, 1, 1, terms), dtype)
    data = ones.copy()
    data[..., 0] = 0.5
    result = opspec.nn.conv3d_transpose(data, ones, [1, 1, 1, 1, 1], 1, backend="numba")
    assert float(result.ravel()[0]) == 4096


def test_empty_sums_are_positive_zeros() -> None:
    empty = np.ones((2, 2, 2, 3, 0), np.float32)
    data = np.ones((1, 2, 2, 2, 0), np.float32)
    out = np.full((1, 4, 4, 4, 3), np.nan, np.float32)
    opspec.nn.conv3d_transpose(data, empty, out.shape, 2, out=out, backend="numba")
    assert not np.any(out)
    assert not np.any(np.signbit(out))


@pytest.mark.parametrize("start", [4, 16, 32, 60, 64])
def test_large_results_may_begin_anywhere_in_memory(start: int) -> None:
    rng = np.random.default_rng(5)
    data = rng.integers(-2, 3, (1, 20, 20, 20, 2)).astype(np.float32)
    filters = rng.integers(-2, 3, (2, 2, 2, 32, 2)).astype(np.float32)
    shape = (1, 40, 40, 40, 32)
    expected = opspec.nn.conv3d_transpose(data, filters, shape, 2, backend="numpy")
    room = np.empty(expected.nbytes + 192, np.uint8)
    first = -room.ctypes.data % 64 + start
    out = room[first : first + expected.nbytes].view(np.float32).reshape(shape)
    opspec.nn.conv3d_transpose(data, filters, shape, 2, out=out, backend="numba")
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("forced", ["direct"], indirect=True)
def test_arrays_that_may_not_be_written_compile_nothing_anew(forced: str) -> None:
    given = problem(500, (np.float32,), ("NDHWC",))
    expected = computed(given)
    compiled_for = len(kernels.direct(host(), 4).signatures)
    for operand in ("filter", "out_backprop"):
        given[operand].setflags(write=False)
        np.testing.assert_array_equal(computed(given), expected)
    assert len(kernels.direct(host(), 4).signatures) == compiled_for


@pytest.mark.parametrize("forced", ["dots", "gather", "scatter"], indirect=True)
def test_one_compiled_kernel_takes_all_problems(forced: str) -> None:
    for seed in range(400, 430):
        computed(problem(seed, (np.float32,), ("NDHWC",)))
    assert len(compiled(forced).signatures) == 1


@pytest.mark.parametrize(
    ("size", "made", "expected"), [(32, 1, "scatter"), (32, 64, "gather"), (8, 64, "dots")]
)
def test_the_way_depends_on_made_channels_and_positions(
    size: int, made: int, expected: str
) -> None:
    window = Window.fitted(size, 4, 2, 1, "SAME")
    geometry = ConvGeometry(1, made, 64, (window, window, window), "NDHWC", "float32")
    way: Any = ways.way_for(geometry, host())
    assert way.kernel is compiled(expected)


@pytest.mark.parametrize(
    ("dilation", "dtype", "expected"),
    [
        (1, "float32", "gather"),
        (2, "float32", "dots"),
        (1, "float16", "dots"),
        (1, "bfloat16", "gather"),
    ],
)
def test_a_filter_that_overflows_the_cache_is_read_as_it_lies(
    dilation: int, dtype: str, expected: str
) -> None:
    window = Window.fitted(8, 4, 2, dilation, "SAME")
    geometry = ConvGeometry(8, 256, 512, (window, window, window), "NDHWC", dtype)
    way: Any = ways.way_for(geometry, AVX2)
    kernel = getattr(way, "inner", way).kernel
    assert (kernel is kernels.dots(AVX2, dtype)) == (expected == "dots")


@pytest.mark.parametrize("forced", WAYS, indirect=True)
@pytest.mark.filterwarnings("error")
def test_overflow_is_no_reason_to_warn(forced: str) -> None:
    data = np.full((1, 2, 2, 2, 8), 60000, np.float16)
    filters = np.full((3, 3, 3, 4, 8), 60000, np.float16)
    result = opspec.nn.conv3d_transpose(data, filters, [1, 4, 4, 4, 4], 2, backend="numba")
    assert np.isposinf(result).all()
