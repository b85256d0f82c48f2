"""The lanes "accept" and "reject": a call just within and one just beyond every rule."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from opspec.conformance import case as golden_case
from opspec.conformance.case import FOLDERS
from opspec.conformance.generate import rule_cases, rule_cases_conv3d, rule_cases_filter
from opspec.conformance.generate.built import (
    SIZES,
    SPELLED,
    Array,
    Built,
    arrays_of,
    exact_result,
    raw_operation,
)
from opspec.conformance.generate.oracles import consult
from opspec.conformance.generate.rule_case import RuleTable
from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.dtypes import numpy_dtype

TABLES: dict[str, RuleTable] = {
    **rule_cases.TABLES,
    "conv3d": rule_cases_conv3d.TABLE,
    "conv3d_backprop_filter_v2": rule_cases_filter.TABLE,
}


def accepted(operation: str, tensorflow: TensorFlowChild | None) -> Built:
    """Make the calls that just keep each rule; the oracles say what they return."""
    built = Built(operation, "accept")
    table = TABLES[FOLDERS[operation]]
    for rule_case in table.rules:
        label = table.translated(rule_case.rule)
        whole = rule_case.through == "attributes"
        given = rule_case.accept if whole else table.merged(rule_case.accept)
        arguments = {
            table.translated(name): _filled(label, name, value, built.tensors)
            for name, value in given.items()
        }
        expected: dict[str, Any] = {}
        agreed: list[str] = []
        through = rule_case.accept_through or rule_case.through
        if through != "attributes":
            problem = _canonical(built, arguments)
            sizes: list[int] = next((problem[name] for name in SIZES if name in problem), [])
            if through == "infer" or 0 in sizes:
                # Nothing to compute, or sizes that no oracle should loop over.
                expected = {"shape": sizes}
            else:
                expected, agreed = _accepted_result(built, label, problem, tensorflow)
        built.cases.append(
            {
                "name": label,
                "shows": "a call that just keeps the rule",
                "rule": f"{operation}.{label}",
                "through": through,
                "arguments": arguments,
                "expected": expected,
                "oracles": agreed,
            }
        )
    return built


def _accepted_result(
    built: Built, label: str, problem: Mapping[str, Any], tensorflow: TensorFlowChild | None
) -> tuple[dict[str, Any], list[str]]:
    operation = raw_operation(built.operation)
    expected = exact_result(operation, problem)
    agreed = consult(operation, problem, expected, None, tensorflow)
    dtype = next(iter(arrays_of(problem).values())).dtype
    built.tensors[f"{label}.result"] = expected.astype(dtype)
    return {"result": f"{label}.result"}, agreed


def _canonical(built: Built, arguments: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a call as one of the raw operation."""
    values = {
        name: golden_case.Argument.model_validate(written).build(built.tensors)
        for name, written in arguments.items()
    }
    spelled = {raw: values[name] for raw, name in SPELLED[built.operation].items()}
    one, other = (name for name in spelled if name not in SIZES)
    return {
        **{name: [int(size) for size in spelled[name]] for name in spelled.keys() & set(SIZES)},
        one: _as_array(spelled[one], spelled[other]),
        other: _as_array(spelled[other], spelled[one]),
        "strides": values["strides"],
        "padding": values["padding"],
        "data_format": values.get("data_format", "NDHWC"),
        "dilations": values.get("dilations", [1] * 5),
    }


def _as_array(value: Any, beside: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    return np.array(value, beside.dtype if isinstance(beside, np.ndarray) else np.float32)


def rejected(operation: str) -> Built:
    """Make the calls that break each rule and none before it."""
    built = Built(operation, "reject")
    table = TABLES[FOLDERS[operation]]
    for rule_case in table.rules:
        label = table.translated(rule_case.rule)
        whole = rule_case.through == "attributes"
        given = rule_case.reject if whole else table.merged(rule_case.reject)
        built.cases.append(
            {
                "name": label,
                "shows": "a call that breaks the rule and none before it",
                "rule": f"{operation}.{label}",
                "through": rule_case.through,
                "arguments": {
                    table.translated(name): _zeroed(value) for name, value in given.items()
                },
                "expected": {"rule": f"{operation}.{label}"},
            }
        )
    return built


def _filled(
    label: str, name: str, written: Mapping[str, Any], tensors: dict[str, Array]
) -> dict[str, Any]:
    """Turn ``{"fill": shape}`` into a payload tensor of different whole numbers."""
    if "fill" not in written:
        return dict(written)
    role = {"{filter}": "filter", "{data}": "data"}.get(name, name)
    tensor = f"{label}.{role}"
    count = int(np.prod(written["fill"]))
    numbers = np.arange(count) % 30 + 1
    dtype = numpy_dtype(written.get("dtype", "float32"))
    tensors[tensor] = (
        np.where(numbers % 3 == 0, -numbers, numbers).astype(dtype).reshape(written["fill"])
    )
    return {"tensor": tensor}


def _zeroed(written: Mapping[str, Any]) -> dict[str, Any]:
    """Turn ``{"fill": shape}`` into zeros: what is refused needs no values."""
    if "fill" not in written:
        return dict(written)
    return {"zeros": written["fill"], "dtype": written.get("dtype", "float32")}
