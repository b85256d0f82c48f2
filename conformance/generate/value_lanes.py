"""The lanes "exact" and "bounded": shapes from the specs, operands from the seed."""

from collections.abc import Mapping
from math import isqrt, prod
from typing import Any

import numpy as np

from opspec.conformance.generate.built import (
    LARGEST_EXACT,
    SEED,
    SPELLED,
    Array,
    Built,
    DisagreementError,
    arrays_of,
    exact_result,
    raw_operation,
)
from opspec.conformance.generate.oracles import consult
from opspec.conformance.generate.specs import Spec
from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.conformance.oracle_siblings import DIRECT
from opspec.dtypes import numpy_dtype

# The operands of each raw operation in the order in which they are made: what the roles in a spec
# mean there.
ROLES = {
    "Conv3D": {"data": "input", "filter": "filter"},
    "Conv3DBackpropFilterV2": {"data": "input", "filter": "out_backprop"},
    "Conv3DBackpropInputV2": {"data": "out_backprop", "filter": "filter"},
}


def add_value_case(built: Built, spec: Spec, tensorflow: TensorFlowChild | None) -> None:
    """Make a case of a spec: operands, expected result, and who vouches for it."""
    operation = raw_operation(spec.public)
    problem = _problem(spec, operation)
    try:
        if spec.lane == "bounded":
            expected, magnitude = DIRECT[operation](**problem)
        else:
            expected, magnitude = exact_result(operation, problem), None
        agreed = consult(operation, problem, expected, magnitude, tensorflow)
    except DisagreementError as error:
        raise DisagreementError(f"{spec.public} {spec.lane}/{spec.name}: {error}") from error
    # Powers of two scale operands and sums exactly; the oracles have agreed on whole numbers.
    expected = np.ldexp(expected, sum(spec.exponents.values()))
    problem |= {
        operand: _scaled(problem[operand], spec.exponents.get(role, 0))
        for role, operand in ROLES[operation].items()
    }
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


def _problem(spec: Spec, operation: str) -> dict[str, Any]:
    """Return the arguments of the raw operation that a spec stands for."""
    windows = tuple(
        _window_count(*numbers, spec.padding)
        for numbers in zip(spec.size, spec.kernel, spec.stride, spec.dilation, strict=True)
    )
    # The gradient by the input sums over the small side's channels, the convolution over the other.
    spreads = operation == "Conv3DBackpropInputV2"
    large, small = (spec.made, spec.contracted) if spreads else (spec.contracted, spec.made)
    shapes = {
        "input": (spec.batch, *spec.size, large),
        "filter": (*spec.kernel, large, small),
        "out_backprop": (spec.batch, *windows, small),
    }
    terms = spec.contracted * prod(spec.kernel)
    if operation == "Conv3DBackpropFilterV2":
        terms = spec.batch * prod(windows)
    order = [0, 1, 2, 3, 4] if spec.data_format == "NDHWC" else [0, 4, 1, 2, 3]
    rng = np.random.default_rng([SEED, *spec.name.encode(), *spec.public.encode()])
    problem: dict[str, Any] = {}
    for role, operand in ROLES[operation].items():
        values = _operand(spec, rng, shapes[operand], role, terms)
        turned = values if operand == "filter" else values.transpose(order)
        problem[operand] = np.ascontiguousarray(turned)
    if operation == "Conv3DBackpropInputV2":
        problem["input_sizes"] = [shapes["input"][axis] for axis in order]
    if operation == "Conv3DBackpropFilterV2":
        problem["filter_sizes"] = list(shapes["filter"])
    return {
        **problem,
        "strides": [(1, *spec.stride, 1)[axis] for axis in order],
        "padding": spec.padding,
        "data_format": spec.data_format,
        "dilations": [(1, *spec.dilation, 1)[axis] for axis in order],
    }


def _window_count(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    if padding == "SAME":
        return -(-size // stride)
    return max((size - (kernel - 1) * dilation - 1) // stride + 1, 0)


def _operand(
    spec: Spec, rng: np.random.Generator, shape: tuple[int, ...], role: str, terms: int
) -> Array:
    """Make an operand: zero-mean, or whole numbers that are all different as far as they can be."""
    dtype = numpy_dtype(spec.dtype)
    count = prod(shape)
    if spec.lane == "bounded":
        normal: Array = rng.standard_normal(shape).astype(dtype)
        return normal
    most = isqrt(LARGEST_EXACT // max(terms, 1))
    largest = spec.largest or min(most, {"bfloat16": 100, "float16": 30}.get(spec.dtype, most))
    numbers = np.arange(count) % (largest - spec.smallest + 1) + spec.smallest
    signs = rng.choice([-1, 1], count)
    values: Array = (rng.permutation(numbers) * signs).astype(dtype)
    if role in spec.special:
        values[0] = spec.special[role]
    return values.reshape(shape)


def _scaled(values: Array, exponent: int) -> Array:
    wide = np.ldexp(values.astype(np.float64), exponent)
    scaled: Array = wide.astype(values.dtype)
    if not np.array_equal(scaled.astype(np.float64), wide, equal_nan=True):
        raise ValueError(f"2**{exponent} scales these values beyond their dtype")
    return scaled


def _arguments(
    spec: Spec, problem: Mapping[str, Any], tensors: dict[str, Array]
) -> dict[str, dict[str, Any]]:
    """Write the call down in the public function's words; operands go into the payload."""
    spelled = SPELLED[spec.public]
    operands = arrays_of(problem)
    written: dict[str, dict[str, Any]] = {}
    for argument, name in spelled.items():
        if argument in operands:
            tensors[f"{spec.name}.{name}"] = operands[argument]
            written[name] = {"tensor": f"{spec.name}.{name}"}
        else:
            written[name] = {"value": problem[argument]}
    for attribute in ("strides", "padding", "data_format", "dilations"):
        written[attribute] = {"value": spec.spelled.get(attribute, problem[attribute])}
    return written
