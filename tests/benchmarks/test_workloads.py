"""The benchmarks' workloads are problems that opspec takes."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from opspec import TensorSpec, ops

PLACE = Path(__file__).parents[2] / "benchmarks" / "workloads.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_workloads", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


WORKLOADS = _load().WORKLOADS


def test_there_are_thirteen_and_each_has_its_own_name() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS) == 13


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: str(workload.name))
def test_the_rules_accept_it(workload: Any) -> None:
    definition = ops.get("conv3d_transpose")
    attributes = definition.Attributes(
        strides=workload.strides, padding=workload.padding, dilations=workload.dilations
    )
    result = definition.infer(
        attributes,
        input=TensorSpec("float32", workload.input_shape),
        filters=TensorSpec("float32", workload.filters_shape),
        output_shape=workload.output_shape,
    )
    assert result.shape == workload.output_shape


def test_multiply_adds_of_one_tap_are_those_of_a_matrix_product() -> None:
    one_tap = next(workload for workload in WORKLOADS if workload.name == "k1s1")
    assert one_tap.multiply_adds == 32**3 * 64 * 64
