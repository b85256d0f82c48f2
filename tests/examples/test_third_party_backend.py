"""The example of a third-party backend is right, small, and declares only what it does."""

import importlib.util
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from opspec import nn, raw_ops
from opspec.conformance.oracle import exact_sum
from opspec.geometry import output_size
from opspec.registry import Backend, UnsupportedByBackend

SOURCE = Path(__file__).parents[2] / "examples" / "third_party_backend" / "opspec_plain.py"


def _load() -> Backend:
    spec = importlib.util.spec_from_file_location("example_opspec_plain", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    backend: Backend = module.backend
    return backend


PLAIN = _load()


def _random_problem(seed: int, dtype: str) -> dict[str, Any]:
    """Draw a problem on small whole numbers; extents of 0 and taps that land nowhere included."""
    draw = np.random.default_rng(seed)
    padding = ("SAME", "VALID")[seed % 2]
    input, kernel, stride, dilation = (
        draw.integers(low, high, 3).tolist() for low, high in ((0, 8), (1, 5), (1, 6), (1, 4))
    )
    output = [output_size(*d, padding) for d in zip(input, kernel, stride, dilation, strict=True)]
    batch, made, contracted = (int(draw.integers(low, 4)) for low in (0, 1, 0))
    return {
        "input_sizes": [batch, *input, made],
        "filter": draw.integers(-9, 10, (*kernel, made, contracted)).astype(dtype),
        "out_backprop": draw.integers(-9, 10, (batch, *output, contracted)).astype(dtype),
        "strides": [1, *stride, 1],
        "padding": padding,
        "data_format": "NDHWC",
        "dilations": [1, *dilation, 1],
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(150))
def test_small_integers_come_out_exact(seed: int, dtype: str) -> None:
    problem = _random_problem(seed, dtype)
    result = raw_ops.Conv3DBackpropInputV2(**problem, backend=PLAIN)
    assert result.dtype == dtype
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, exact_sum(**problem))


def test_operands_may_be_strided_and_read_only() -> None:
    problem = _random_problem(12, "float32")
    expected = exact_sum(**problem)
    for name in ("filter", "out_backprop"):
        backwards = problem[name][::-1].copy()[::-1]
        backwards.flags.writeable = False
        problem[name] = backwards
    result = raw_ops.Conv3DBackpropInputV2(**problem, backend=PLAIN)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.filterwarnings("error")
def test_infinity_times_zero_is_nan_without_a_warning() -> None:
    voxel = np.full((1, 1, 1, 1, 1), np.inf, np.float32)
    zero = np.zeros((1, 1, 1, 1, 1), np.float32)
    result = nn.conv3d_transpose(voxel, zero, [1, 1, 1, 2, 1], (1, 1, 2), backend=PLAIN)
    np.testing.assert_array_equal(result.ravel(), [np.nan, 0])


@pytest.mark.parametrize(
    ("dtype", "data_format", "reason"),
    [("float32", "NCDHW", "data_format NCDHW"), ("float16", "NDHWC", "dtype float16")],
)
def test_what_it_does_not_declare_is_refused(
    dtype: str, data_format: Literal["NDHWC", "NCDHW"], reason: str
) -> None:
    ones = np.ones((1, 1, 1, 1, 1), dtype)
    with pytest.raises(UnsupportedByBackend, match=f"'plain' does not take .* {reason}"):
        nn.conv3d_transpose(ones, ones, [1] * 5, 1, data_format=data_format, backend=PLAIN)


def test_it_has_at_most_25_lines() -> None:
    assert len(SOURCE.read_text().splitlines()) <= 25
