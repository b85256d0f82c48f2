"""What `import opspec` loads, what it offers, and that the signatures are TensorFlow's."""

import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

import opspec
from opspec.registry import (
    Backend,
    Candidate,
    Capabilities,
    Cost,
    Demand,
    Explanation,
    Piece,
    Warmth,
)

HEAVY = ("numba", "cupy", "pytest", "rich", "safetensors", "hypothesis", "tensorflow", "torch")


def loaded_by(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_opspec_loads_no_backend_and_nothing_heavy() -> None:
    loaded = loaded_by("import opspec")
    assert "opspec" in loaded
    assert not {name for name in loaded if name.startswith("opspec.backends")}
    assert not loaded & {*HEAVY}


def test_the_public_calls_load_no_backend_before_a_call() -> None:
    loaded = loaded_by("import opspec; opspec.nn, opspec.raw_ops, opspec.explain, opspec.ops")
    assert "opspec.nn" in loaded
    assert not {name for name in loaded if name.startswith(("opspec.backends", "opspec.conform"))}
    assert not loaded & {*HEAVY}


def test_a_small_call_loads_the_numpy_backend_only() -> None:
    code = (
        "import numpy as np, opspec; one = np.ones((1, 1, 1, 1, 1), np.float32)\n"
        "opspec.nn.conv3d_transpose(one, one, [1, 1, 1, 1, 1], 1)"
    )
    loaded = loaded_by(code)
    assert "opspec.backends.numpy.conv3d_backprop_input_v2" in loaded
    # Installed or not, Numba's backend is not even asked whether it could run.
    assert not loaded & {"numba", "llvmlite", "cupy", "pytest", "rich", "ml_dtypes"}


def test_a_backend_may_be_the_first_to_import_anything() -> None:
    code = (
        "from opspec.registry import Backend, Capabilities\n"
        "can = Capabilities(operations=(), dtypes=(), data_formats=())\n"
        "b = Backend('b', 'numpy.ndarray', can)\n"
        "@b.implements('Conv3DBackpropInputV2')\n"
        "def kernel(geometry, filter, out_backprop): ..."
    )
    assert "opspec.ops" in loaded_by(code)


@pytest.mark.parametrize(
    "name", ["opspec", "opspec.nn", "opspec.raw_ops", "opspec.registry", "opspec.errors"]
)
def test_the_public_names_are_sorted_and_there(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__all__ == sorted(module.__all__)
    for public in module.__all__:
        assert getattr(module, public) is not None
        assert public in dir(module)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tensorflow'"):
        opspec.tensorflow  # noqa: B018  # looking it up is the test


def test_types_are_shipped() -> None:
    assert (files("opspec") / "py.typed").is_file()


def test_the_v1_alias_is_the_same_callable() -> None:
    assert opspec.compat.v1.raw_ops.Conv3DBackpropInputV2 is opspec.raw_ops.Conv3DBackpropInputV2


def written(function: Callable[..., Any]) -> list[tuple[str, str, object]]:
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.kind.description, p.default) for p in parameters]


def test_the_signature_of_conv3d_transpose_is_tensorflows() -> None:
    missing, either, keyword = inspect.Parameter.empty, "positional or keyword", "keyword-only"
    assert written(opspec.nn.conv3d_transpose) == [
        ("input", either, missing),
        ("filters", either, missing),
        ("output_shape", either, missing),
        ("strides", either, missing),
        ("padding", either, "SAME"),
        ("data_format", either, "NDHWC"),
        ("dilations", either, None),
        ("name", either, None),
        ("out", keyword, None),
        ("backend", keyword, None),
    ]


def test_the_signature_of_the_raw_operation_is_tensorflows() -> None:
    missing, keyword = inspect.Parameter.empty, "keyword-only"
    assert written(opspec.raw_ops.Conv3DBackpropInputV2) == [
        ("input_sizes", keyword, missing),
        ("filter", keyword, missing),
        ("out_backprop", keyword, missing),
        ("strides", keyword, missing),
        ("padding", keyword, missing),
        ("data_format", keyword, "NDHWC"),
        ("dilations", keyword, (1, 1, 1, 1, 1)),
        ("name", keyword, None),
        ("out", keyword, None),
        ("backend", keyword, None),
    ]


@pytest.mark.parametrize(
    "public",
    [
        opspec.nn.conv3d_transpose,
        opspec.raw_ops.Conv3DBackpropInputV2,
        opspec.explain,
        opspec.thread_limit,
        opspec.use_backend,
        opspec.warmup,
        Backend,
        Candidate,
        Capabilities,
        Cost,
        Demand,
        Explanation,
        Piece,
        Warmth,
    ],
    ids=lambda public: public.__name__,
)
def test_public_docstrings_describe_every_parameter(public: Callable[..., Any]) -> None:
    text = inspect.getdoc(public)
    assert text is not None
    assert "Parameters\n----------" in text
    for name in inspect.signature(public).parameters:
        assert name in text
