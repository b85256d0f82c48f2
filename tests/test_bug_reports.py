"""Calls from public bug reports about these operations, each with its right outcome.

Many of them crash, hang, wrap or answer garbage in TensorFlow 2.21. `data/bug_reports.json` says
how its arguments and expectations are written. Where it leaves two outcomes open, or differs from
docs/semantics.md, `SETTLED` says what that document decides.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opspec
from opspec.errors import OpError
from opspec.explanation import public_function
from opspec.rule import TensorSpec

DATA = json.loads((Path(__file__).parent / "data" / "bug_reports.json").read_text("utf-8"))
CASES = {case["id"]: case for case in DATA["cases"]}
NAMES = {
    "conv3d_transpose": "conv3d_transpose",
    "conv3d_backprop_input_v2": "Conv3DBackpropInputV2",
}

SETTLED: dict[str, dict[str, Any]] = {
    # Any integer array is as good as a list of integers (§2).
    "C051": {"as": "C048"},
    # A filter without taps is refused (§3.3).
    "C162": {"error_about": "filter"},
    # VALID with a size below the filter's span has 0 windows, never a negative number (§1).
    "C165": {"shape": [1, 1, 1, 1, 1], "all": 0},
    # Lists take the dtype of the array beside them (§3.10), as in TensorFlow 2.21, which answered:
    "C168": {
        "shape": [1, 8, 8, 8, 2],
        "dtype": "float32",
        "n_nan": 0,
        "n_inf": 0,
        "sha256_f64": "509055be84dca0be",
    },
}

RUNNABLE = [case for case in CASES.values() if not case.get("no_run")]
TOO_LARGE = [case for case in CASES.values() if case.get("no_run")]


def filled(spec: dict[str, Any], seed: int | None) -> np.ndarray[Any, Any]:
    count = int(np.prod(spec["shape"]))
    index = np.arange(count)
    fill = spec["fill"]
    values: Any
    if fill == "mod_x" or fill.endswith("_first"):
        values = ((7 * index + 3) % 11 - 5).astype(np.float64)
        if fill.endswith("_first"):
            values[0] = float(fill.removesuffix("_first"))
    elif fill == "mod_w":
        values = (5 * index + 2) % 7 - 3
    elif fill == "ramp":
        values = index + 1
    elif fill in ("ones", "zeros"):
        values = np.full(count, int(fill == "ones"))
    elif fill.startswith("const:"):
        values = np.full(count, float(fill.removeprefix("const:")))
    elif fill == "one_hot0":
        values = (index == 0).astype(int)
    else:
        assert fill in ("normal", "normal+1")
        assert seed is not None
        rng = np.random.default_rng(seed + (fill == "normal+1"))
        values = rng.standard_normal(count).astype(np.float32)
    dtype = ml_dtypes.bfloat16 if spec["dtype"] == "bfloat16" else spec["dtype"]
    return laid_out(values.astype(dtype).reshape(spec["shape"]), spec.get("layout"))


def laid_out(array: np.ndarray[Any, Any], layout: str | None) -> np.ndarray[Any, Any]:
    if layout == "strided":
        bigger = np.repeat(array, 2, axis=-1)
        return bigger[..., ::2]
    if layout == "reversed":
        return np.ascontiguousarray(array[::-1, ::-1, ::-1])[::-1, ::-1, ::-1]
    if layout == "readonly":
        array.flags.writeable = False
    if layout == "byteswapped":
        return array.astype(array.dtype.newbyteorder())
    return array


def argument(written: Any, seed: int | None) -> Any:
    if not isinstance(written, dict):
        return written
    if "shape" in written:
        return filled(written, seed)
    if "complex_empty" in written:
        return np.array([], np.complex128)
    if "py" in written:
        return written["py"]
    return np.array(written.get("np", written.get("tensor")), written["dtype"])


def called(case: dict[str, Any]) -> Any:
    arguments = {name: argument(given, case["seed"]) for name, given in case["args"].items()}
    return public_function(opspec.ops.get(NAMES[case["op"]]))(**arguments)


def expectation(case: dict[str, Any]) -> dict[str, Any]:
    settled = SETTLED.get(case["id"], case["expect"])
    if "as" in settled:
        return dict(CASES[settled["as"]]["expect"])
    return dict(settled)


def test_the_table_of_reports_is_complete() -> None:
    assert len(CASES) == 117
    assert len(TOO_LARGE) == 2
    assert SETTLED.keys() <= CASES.keys()


@pytest.mark.parametrize("case", RUNNABLE, ids=lambda case: case["id"])
def test_a_reported_call_has_the_right_outcome(case: dict[str, Any]) -> None:
    expect = expectation(case)
    if "error_about" in expect:
        with pytest.raises(OpError) as caught:
            called(case)
        wanted = expect["error_about"].partition(" (")[0].split("|")
        assert any(name in str(caught.value) for name in wanted)
        assert caught.value.argument in case["args"]
        return
    result = called(case)
    assert list(result.shape) == expect["shape"]
    assert_values(result, expect)


def assert_values(result: np.ndarray[Any, Any], expect: dict[str, Any]) -> None:
    values = result.astype(np.float64).ravel()
    if "all" in expect:
        assert (values == expect["all"]).all()
    if "dtype" in expect:
        assert result.dtype == np.dtype(
            ml_dtypes.bfloat16 if expect["dtype"] == "bfloat16" else expect["dtype"]
        ).newbyteorder("=")
        assert int(np.isnan(values).sum()) == expect["n_nan"]
        assert int(np.isinf(values).sum()) == expect["n_inf"]
    if "sha256_f64" in expect:
        # -0 and 0 are one value; the recorded digests have 0.
        digest = hashlib.sha256((values + 0.0).tobytes()).hexdigest()
        assert digest[:16] == expect["sha256_f64"]
    for index, value in expect.get("points", ()):
        assert abs(values[index] - value) <= 1e-4 * expect["max_abs"]
    if "points" in expect:
        assert np.abs(values).sum() == pytest.approx(expect["abs_sum"], rel=1e-5)


@pytest.mark.parametrize("case", TOO_LARGE, ids=lambda case: case["id"])
def test_a_reported_call_too_large_to_run_is_planned(case: dict[str, Any]) -> None:
    definition = opspec.ops.get(NAMES[case["op"]])
    arguments = case["args"]
    fields = definition.Attributes.model_fields
    attributes = definition.Attributes(**{k: v for k, v in arguments.items() if k in fields})
    inferred = definition.infer(
        attributes,
        input=TensorSpec("float32", tuple(arguments["input"]["shape"])),
        filters=TensorSpec("float32", tuple(arguments["filters"]["shape"])),
        output_shape=arguments["output_shape"]["py"],
    )
    assert list(inferred.shape) == case["expect"]["shape"]
