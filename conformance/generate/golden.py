"""How the golden files are made, and made again to see that they are still the same.

Operands come from a recorded seed; expected values from the oracles, never from a backend.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isqrt, prod
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from opspec.conformance import case as golden_case
from opspec.conformance.case import FORMAT, Case, CaseFile, Golden, Pedigree
from opspec.conformance.generate import rule_cases
from opspec.conformance.generate.oracles import LEAST, DisagreementError, consult
from opspec.conformance.generate.specs import Spec, value_specs
from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.conformance.oracle import direct_sum, exact_sum
from opspec.dtypes import numpy_dtype

SEED = 20261202
GENERATOR = "opspec.conformance.generate.golden"
REAL_SOURCE = (
    "the three Conv3DBackpropInputV2 layers of the frozen 3-D U-Net in the Python package deepbrain "
    "0.1, on volume 0 of example4d.nii.gz in the Python package nibabel, resized to 128^3; cropped "
    "activations; tf_float32 and tf_float64 are TensorFlow 2.21's answers"
)
# Up to here every whole number is a float32, so that float32 sums are exact in any order.
LARGEST_EXACT = 2**24

Array = np.ndarray[Any, Any]

FOLDERS = {
    "Conv3DBackpropInputV2": "conv3d_backprop_input_v2",
    "conv3d_transpose": "conv3d_transpose",
}
OPERANDS = {
    "Conv3DBackpropInputV2": ("input_sizes", "filter", "out_backprop"),
    "conv3d_transpose": ("output_shape", "filters", "input"),
}


@dataclass
class Built:
    """A lane of one operation while it is being made."""

    operation: str
    lane: str
    cases: list[dict[str, Any]] = field(default_factory=list)
    tensors: dict[str, Array] = field(default_factory=dict)
    source: str | None = None
    licence: str | None = None


def build_all(tensorflow: TensorFlowChild | None, real: Path) -> Iterator[Built]:
    """Make every lane of every operation.

    Parameters
    ----------
    tensorflow
        A running TensorFlow, to be asked as well; None to do without.
    real
        The file of real layers, which is taken over as it is.
    """
    for operation in FOLDERS:
        for lane in ("exact", "bounded"):
            built = Built(operation, lane)
            for spec in value_specs():
                if (spec.public, spec.lane) == (operation, lane):
                    _add_value_case(built, spec, tensorflow)
            yield built
        yield _accepted(operation, tensorflow)
        yield _rejected(operation)
    yield _real(real, tensorflow)


def write(built: Built, folder: Path, versions: Mapping[str, str]) -> None:
    """Write a lane's pair of files."""
    for case in built.cases:
        _refuse_orphan(built, case)
    folder.mkdir(parents=True, exist_ok=True)
    payload = safetensors.numpy.save(built.tensors)
    pedigree = Pedigree(
        generator=GENERATOR,
        seed=SEED,
        versions=dict(versions),
        payload_sha256=hashlib.sha256(payload).hexdigest(),
        source=built.source,
        licence=built.licence,
    )
    file = CaseFile(
        format=FORMAT,
        operation=built.operation,
        lane=built.lane,  # type: ignore[arg-type]  # the model checks it
        pedigree=pedigree,
        cases=[Case.model_validate(case) for case in built.cases],
    )
    text = json.dumps(file.model_dump(exclude_unset=True), indent=1)
    (folder / f"{built.lane}.json").write_text(text + "\n", "utf-8")
    (folder / f"{built.lane}.safetensors").write_bytes(payload)


def differences(built: Built, golden: Golden) -> list[str]:
    """Say how a lane made anew differs from the golden one, in values or in words."""
    found = []
    then = {case.name: case for case in golden.file.cases}
    now = {case["name"]: Case.model_validate(case) for case in built.cases}
    for name in then.keys() ^ now.keys():
        when = "in the golden file" if name in then else "in what the generator makes"
        found.append(f"{golden.folder}/{built.lane}/{name} is only {when}")
    for name in then.keys() & now.keys():
        unasked = {"oracles": []}
        if then[name].model_copy(update=unasked) != now[name].model_copy(update=unasked):
            found.append(f"{golden.folder}/{built.lane}/{name} is described differently")
    for name in built.tensors.keys() | golden.tensors.keys():
        if not _is_same(name, built.tensors, golden.tensors):
            found.append(f"{golden.folder}/{built.lane}: tensor {name} differs")
    return sorted(found)


def _is_same(name: str, now: Mapping[str, Array], then: Mapping[str, Array]) -> bool:
    """Compare bits; float64 sums, which another processor may add in another order, by the bound."""
    one, other = now.get(name), then.get(name)
    if one is None or other is None or (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.tobytes() == other.tobytes():
        return True
    case, _, part = name.rpartition(".")
    magnitude = then.get(f"{case}.magnitude")
    if magnitude is None or part not in ("result", "magnitude"):
        return False
    unit = 2.0**-53 if part == "result" else 2.0**-24
    return bool((np.abs(one - other) <= 8 * unit * magnitude).all())


def _add_value_case(built: Built, spec: Spec, tensorflow: TensorFlowChild | None) -> None:
    problem = _problem(spec)
    if spec.lane == "bounded":
        expected, magnitude = direct_sum(**problem)
    else:
        expected, magnitude = _exact(problem), None
    try:
        agreed = consult(problem, expected, magnitude, tensorflow)
    except DisagreementError as error:
        raise DisagreementError(f"{spec.public} {spec.lane}/{spec.name}: {error}") from error
    arguments = _arguments(spec, problem, built.tensors)
    outcome = {"result": f"{spec.name}.result"}
    with np.errstate(over="ignore"):
        kept = expected if magnitude is not None else expected.astype(numpy_dtype(spec.dtype))
    built.tensors[outcome["result"]] = kept
    if magnitude is not None:
        outcome["magnitude"] = f"{spec.name}.magnitude"
        built.tensors[outcome["magnitude"]] = magnitude.astype(np.float32)
    built.cases.append(
        {
            "name": spec.name,
            "shows": spec.shows,
            "arguments": arguments,
            "expected": outcome,
            "oracles": agreed,
        }
    )


def _exact(problem: Mapping[str, Any]) -> Array:
    """Return the exact result: in integers, or with IEEE's infinities and NaN."""
    operands = (problem["filter"], problem["out_backprop"])
    if not all(np.isfinite(operand.astype(np.float64)).all() for operand in operands):
        return direct_sum(**problem)[0]
    wide = {name: np.abs(problem[name].astype(np.float64)) for name in ("filter", "out_backprop")}
    if exact_sum(**{**problem, **wide}).max(initial=0) > LARGEST_EXACT:
        raise DisagreementError("float32 sums of these operands depend on their order")
    return exact_sum(**problem).astype(np.float64)


def _problem(spec: Spec) -> dict[str, Any]:
    """Return the canonical arguments of Conv3DBackpropInputV2 that a spec stands for."""
    windows = tuple(
        _window_count(*numbers, spec.padding)
        for numbers in zip(spec.size, spec.kernel, spec.stride, spec.dilation, strict=True)
    )
    rng = np.random.default_rng([SEED, *spec.name.encode(), *spec.public.encode()])
    data = _operand(spec, rng, (spec.batch, *windows, spec.contracted), "data")
    taps = _operand(spec, rng, (*spec.kernel, spec.made, spec.contracted), "filter")
    order = [0, 1, 2, 3, 4] if spec.data_format == "NDHWC" else [0, 4, 1, 2, 3]
    return {
        "input_sizes": [(spec.batch, *spec.size, spec.made)[axis] for axis in order],
        "filter": taps,
        "out_backprop": np.ascontiguousarray(data.transpose(order)),
        "strides": [(1, *spec.stride, 1)[axis] for axis in order],
        "padding": spec.padding,
        "data_format": spec.data_format,
        "dilations": [(1, *spec.dilation, 1)[axis] for axis in order],
    }


def _window_count(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    if padding == "SAME":
        return -(-size // stride)
    return max((size - (kernel - 1) * dilation - 1) // stride + 1, 0)


def _operand(spec: Spec, rng: np.random.Generator, shape: tuple[int, ...], role: str) -> Array:
    """Make an operand: zero-mean, or whole numbers that are all different as far as they can be."""
    dtype = numpy_dtype(spec.dtype)
    count = prod(shape)
    if spec.lane == "bounded":
        return rng.standard_normal(shape).astype(dtype)
    terms = max(spec.contracted * prod(spec.kernel), 1)
    most = isqrt(LARGEST_EXACT // terms)
    largest = min(most, {"bfloat16": 100, "float16": 30}.get(spec.dtype, most))
    numbers = np.arange(count) % largest + 1
    signs = rng.choice([-1, 1], count)
    values = (rng.permutation(numbers) * signs).astype(dtype)
    if role in spec.special:
        values[0] = spec.special[role]
    return values.reshape(shape)


def _arguments(
    spec: Spec, problem: Mapping[str, Any], tensors: dict[str, Array]
) -> dict[str, dict[str, Any]]:
    """Write the call down in the public function's words; operands go into the payload."""
    sizes, taps, data = OPERANDS[spec.public]
    written: dict[str, dict[str, Any]] = {sizes: {"value": problem["input_sizes"]}}
    for operand, value in ((taps, problem["filter"]), (data, problem["out_backprop"])):
        tensors[f"{spec.name}.{operand}"] = value
        written[operand] = {"tensor": f"{spec.name}.{operand}"}
    for attribute in ("strides", "padding", "data_format", "dilations"):
        written[attribute] = {"value": spec.spelled.get(attribute, problem[attribute])}
    return written


def _accepted(operation: str, tensorflow: TensorFlowChild | None) -> Built:
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
        if rule_case.through == "call":
            expected, agreed = _accepted_result(built, label, arguments, tensorflow)
        built.cases.append(
            {
                "name": label,
                "shows": "a call that just keeps the rule",
                "rule": f"{operation}.{label}",
                "through": rule_case.through,
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
    expected = _exact(problem)
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


def _rejected(operation: str) -> Built:
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
    tensors[tensor] = np.where(numbers % 3 == 0, -numbers, numbers).astype(dtype).reshape(written["fill"])
    return {"tensor": tensor}


def _zeroed(written: Mapping[str, Any]) -> dict[str, Any]:
    """Turn ``{"fill": shape}`` into zeros: what is refused needs no values."""
    if "fill" not in written:
        return dict(written)
    return {"zeros": written["fill"], "dtype": written.get("dtype", "float32")}


def _real(file: Path, tensorflow: TensorFlowChild | None) -> Built:
    """Take over the real layers; TensorFlow's float64 answer is theirs, the direct sum agrees."""
    given = golden_case.read_tensors(file.read_bytes())
    built = Built("conv3d_transpose", "real", source=REAL_SOURCE, licence="MIT")
    built.tensors = dict(given)
    for layer in sorted({name.partition(".")[0] for name in given}):
        data, taps = given[f"{layer}.input"], given[f"{layer}.filters"]
        expected = given[f"{layer}.tf_float64"]
        problem = {
            "input_sizes": list(expected.shape),
            "filter": taps,
            "out_backprop": data,
            "strides": [1, 2, 2, 2, 1],
            "padding": "SAME",
            "data_format": "NDHWC",
            "dilations": [1] * 5,
        }
        magnitude = direct_sum(**problem)[1]
        agreed = consult(problem, expected, magnitude, tensorflow)
        built.tensors[f"{layer}.magnitude"] = magnitude.astype(np.float32)
        built.cases.append(
            {
                "name": layer,
                "shows": f"up-convolution {list(data.shape)} -> {list(expected.shape)}",
                "arguments": {
                    "input": {"tensor": f"{layer}.input"},
                    "filters": {"tensor": f"{layer}.filters"},
                    "output_shape": {"value": list(expected.shape)},
                    "strides": {"value": 2},
                },
                "expected": {
                    "result": f"{layer}.tf_float64",
                    "magnitude": f"{layer}.magnitude",
                },
                "oracles": ["tensorflow-2.21-recorded", *agreed],
            }
        )
    return built


def _refuse_orphan(built: Built, case: Mapping[str, Any]) -> None:
    """Refuse values that fewer than two independent sources vouch for."""
    if "result" in case["expected"] and len(case["oracles"]) < LEAST:
        name = f"{built.operation}/{built.lane}/{case['name']}"
        raise DisagreementError(f"{name}: only {case['oracles']} vouch for it")
