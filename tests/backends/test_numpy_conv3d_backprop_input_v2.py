"""The NumPy kernel against exact integer sums, with its boxes and slabs cut to every size."""

import tracemalloc
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opspec
from opspec.backends.numpy import conv3d_backprop_input_v2 as kernel
from opspec.conformance.oracle import direct_sum, exact_sum
from opspec.conformance.tolerance import require_bounded

DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


def random_problem(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([20261202, seed])
    size, kernel_size, stride, dilation = (
        rng.integers(low, high, 3) for low, high in ((0, 8), (1, 5), (1, 5), (1, 4))
    )
    padding = str(rng.choice(["SAME", "VALID"]))
    span = (kernel_size - 1) * dilation + 1
    windows = (
        -(-size // stride) if padding == "SAME" else np.maximum((size - span) // stride + 1, 0)
    )
    batch, contracted, made = rng.integers(0, 4), rng.integers(0, 5), rng.integers(1, 20)
    dtype = DTYPES[rng.integers(4)]
    order = [0, 1, 2, 3, 4] if rng.random() < 0.5 else [0, 4, 1, 2, 3]
    taps = rng.integers(-2, 3, (*kernel_size, made, contracted))
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


@pytest.mark.parametrize("room", [2**23, 300, 8])
@pytest.mark.parametrize("few_channels", [0, 8, 100])
def test_random_problems_are_exact_however_they_are_cut(
    room: int, few_channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "PRODUCTS_OF_ALL_TAPS", room)
    monkeypatch.setattr(kernel, "PRODUCTS_OF_ONE_TAP", room)
    monkeypatch.setattr(kernel, "SLAB", room)
    monkeypatch.setattr(kernel, "FEW_CHANNELS", few_channels)
    for seed in range(60):
        problem = random_problem(seed)
        result = opspec.raw_ops.Conv3DBackpropInputV2(**problem, backend="numpy")
        assert result.dtype == problem["filter"].dtype
        np.testing.assert_array_equal(result.astype(np.int64), exact_sum(**problem))


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("rows", [True, False])
def test_every_arrangement_of_the_products_is_exact(
    together: bool, rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_taps_go_together", lambda _: together)
    monkeypatch.setattr(kernel, "_channels_are_rows", lambda _: rows)
    for seed in range(60, 140):
        problem = random_problem(seed)
        result = opspec.raw_ops.Conv3DBackpropInputV2(**problem, backend="numpy")
        np.testing.assert_array_equal(result.astype(np.int64), exact_sum(**problem))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_rounded_once(dtype: type) -> None:
    terms = 4096
    ones: Any = np.ones((1, 1, 1, 1, terms), dtype)
    data = ones.copy()
    data[..., 0] = 0.5
    result = opspec.nn.conv3d_transpose(data, ones, [1, 1, 1, 1, 1], 1, backend="numpy")
    # 4095.5 lies between two neighbours in either dtype; summed in it, 1s would be lost from 2048
    # (float16) or 256 (bfloat16) on.
    assert float(result.ravel()[0]) == 4096


def test_zero_mean_float32_data_is_within_the_bound() -> None:
    rng = np.random.default_rng(3)
    problem: dict[str, Any] = {
        "input_sizes": [1, 6, 7, 5, 4],
        "filter": rng.standard_normal((3, 2, 3, 4, 64)).astype(np.float32),
        "out_backprop": rng.standard_normal((1, 3, 7, 5, 64)).astype(np.float32),
        "strides": [1, 2, 1, 1, 1],
        "padding": "SAME",
        "data_format": "NDHWC",
        "dilations": [1, 1, 1, 1, 1],
    }
    result = opspec.raw_ops.Conv3DBackpropInputV2(**problem, backend="numpy")
    require_bounded(result, *direct_sum(**problem), "NDHWC")


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_temporary_memory_is_bounded(dtype: type, data_format: Any) -> None:
    data_shape, made = (2, 24, 40, 40, 16), 24
    result_shape = (2, 48, 80, 80, made)
    if data_format == "NCDHW":
        data_shape, result_shape = (2, 16, 24, 40, 40), (2, made, 48, 80, 80)
    data: Any = np.ones(data_shape, dtype)
    filters: Any = np.ones((4, 4, 4, made, 16), dtype)
    result_bytes = prod(result_shape) * np.dtype(dtype).itemsize
    tracemalloc.start()
    try:
        opspec.nn.conv3d_transpose(
            data, filters, result_shape, 2, data_format=data_format, backend="numpy"
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # All products of this call at once would be 460 MB.
    assert peak - result_bytes < 64 * 2**20
