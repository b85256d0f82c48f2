"""The lanes "accept" and "reject": a call just within and one just beyond every rule."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from opspec.conformance import case as golden_case
from opspec.conformance.case import FOLDERS
from opspec.conformance.generate import rule_cases
from opspec.conformance.generate.built import OPERANDS, Array, Built, exact_result
from opspec.conformance.generate.oracles import consult
from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.dtypes import numpy_dtype


def accepted(operation: str, tensorflow: TensorFlowChild | None) -> Built:
    """Make the calls that just keep each rule; the oracles say what they return."""
    built = Built(operation, "accept")
    folder = FOLDERS[operation]
    for rule_case in rule_cases.RULES:
        label = rule_cases.translated(rule_case.rule, folder)
        given = rule_case.accept if rule_case.through == "attributes" else _merged(rule_case.accept)
        arguments = {
            rule_cases.translated(name, folder): _filled(label, name, value, built.tensors)
            for name, value in given.items()
        }
        expected: dict[str, Any] = {}
        agreed: list[str] = []
        through = rule_case.accept_through or rule_case.through
        if through != "attributes":
            expected, agreed = _accepted_result(built, label, arguments, tensorflow)
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
    built: Built,
    label: str,
    arguments: Mapping[str, dict[str, Any]],
    tensorflow: TensorFlowChild | None,
) -> tuple[dict[str, Any], list[str]]:
    problem = _canonical(built, arguments)
    if 0 in problem["input_sizes"]:
        # Nothing to compute, and sizes that no oracle should loop over.
        return {"shape": problem["input_sizes"]}, []
    expected = exact_result(problem)
    agreed = consult(problem, expected, None, tensorflow)
    built.tensors[f"{label}.result"] = expected.astype(problem["filter"].dtype)
    return {"result": f"{label}.result"}, agreed


def _canonical(built: Built, arguments: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    sizes, taps, data = OPERANDS[built.operation]
    values = {
        name: golden_case.Argument.model_validate(written).build(built.tensors)
        for name, written in arguments.items()
    }
    return {
        "input_sizes": [int(size) for size in values[sizes]],
        "filter": _as_array(values[taps], values[data]),
        "out_backprop": _as_array(values[data], values[taps]),
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
    folder = FOLDERS[operation]
    for rule_case in rule_cases.RULES:
        label = rule_cases.translated(rule_case.rule, folder)
        given = rule_case.reject if rule_case.through == "attributes" else _merged(rule_case.reject)
        built.cases.append(
            {
                "name": label,
                "shows": "a call that breaks the rule and none before it",
                "rule": f"{operation}.{label}",
                "through": rule_case.through,
                "arguments": {
                    rule_cases.translated(name, folder): _zeroed(value)
                    for name, value in given.items()
                },
                "expected": {"rule": f"{operation}.{label}"},
            }
        )
    return built


def _merged(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {**rule_cases.BASE, **changes}


def _filled(
    label: str, name: str, written: Mapping[str, Any], tensors: dict[str, Array]
) -> dict[str, Any]:
    """Turn ``{"fill": shape}`` into a payload tensor of different whole numbers."""
    if "fill" not in written:
        return dict(written)
    tensor = f"{label}.{'filter' if 'filter' in name else 'data'}"
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
