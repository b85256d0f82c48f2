"""Gradients of opspec beside those of the real TensorFlow, first and second order, to the bit.

Run as ``python -m opspec.conformance.gradient_agreement`` where TensorFlow is installed. Problems
are random, their numbers whole and small, so that every sum is exact and any order of summing gives
one result. TensorFlow differentiates under XLA, which has every layout and dilation.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

import opspec
from opspec import ops
from opspec.conformance.agreement_calls import OPERATIONS, Problem, draw_problem
from opspec.definition import OpDefinition

Array: TypeAlias = np.ndarray[Any, Any]
Gradients: TypeAlias = Mapping[str, Array]

PROBLEMS = 20
SEED = 20261203
DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Sample:
    """A call, a gradient by its result, and gradients by the gradients by its operands.

    Parameters
    ----------
    definition
        The operation.
    operands
        Its arrays, by name.
    settings
        Its other arguments.
    gradient
        By the result.
    seconds
        By each operand's gradient, by name.
    """

    definition: OpDefinition
    operands: Gradients
    settings: Mapping[str, Any]
    gradient: Array
    seconds: Gradients


def make_sample(definition: OpDefinition, seed: int, index: int) -> Sample:
    """Make sample `index` of a seed."""
    rng = np.random.default_rng([seed, index])
    problem = draw_problem(rng)
    while 0 in (problem.batch, problem.contracted, *problem.small, *problem.large):
        problem = draw_problem(rng)
    dtype = DTYPES[index % 2]

    def drawn(shape: Sequence[int]) -> Array:
        return rng.integers(-3, 4, tuple(shape)).astype(dtype)

    sides = definition.operand_sides
    return Sample(
        definition,
        {name: drawn(problem.shape_of(side)) for name, side in sides.items()},
        _settings(definition, problem),
        drawn(problem.shape_of(definition.result_side)),
        {name: drawn(problem.shape_of(side)) for name, side in sides.items()},
    )


def our_gradients(sample: Sample, backend: str) -> tuple[Gradients, Gradients]:
    """Differentiate once and twice with opspec."""
    _, pullback = opspec.vjp(
        sample.definition.name, **sample.operands, **sample.settings, backend=backend
    )
    first, back = pullback.vjp(sample.gradient)
    return first, back(dict(sample.seconds))


def their_gradients(tensorflow: Any, sample: Sample) -> tuple[Gradients, Gradients]:
    """Differentiate once and twice with TensorFlow."""
    home, name = sample.definition.public.removeprefix("opspec.").split(":")
    function = getattr(getattr(tensorflow, home), name)
    seconds = list(sample.seconds.values())

    def traced(array: Array) -> Any:
        # From sizes that it knows it infers others, and there it mixes up the axes' dilations.
        return tensorflow.TensorSpec([None] * array.ndim, array.dtype)

    signature = (
        {name: traced(array) for name, array in sample.operands.items()},
        traced(sample.gradient),
    )

    @tensorflow.function(  # type: ignore[untyped-decorator]
        jit_compile=True, autograph=False, input_signature=signature
    )
    def differentiate(operands: dict[str, Any], gradient: Any) -> tuple[Any, Any]:
        with tensorflow.GradientTape() as outer:
            outer.watch([*operands.values(), gradient])
            with tensorflow.GradientTape() as inner:
                inner.watch(list(operands.values()))
                result = function(**operands, **sample.settings)
            first = inner.gradient(result, operands, output_gradients=gradient)
        places = {**operands, "gradient": gradient}
        second = outer.gradient(list(first.values()), places, output_gradients=seconds)
        return first, second

    found = differentiate(
        {name: tensorflow.constant(array) for name, array in sample.operands.items()},
        tensorflow.constant(sample.gradient),
    )
    first, second = ({name: one.numpy() for name, one in part.items()} for part in found)
    return first, second


def differences(ours: Gradients, theirs: Gradients) -> list[str]:
    """Say which gradients differ in a bit; every one of either side must be there."""
    if ours.keys() != theirs.keys():
        return [f"gradients by {sorted(ours)} beside {sorted(theirs)}"]
    return [
        f"the gradient by {name}"
        for name, array in ours.items()
        if array.dtype != theirs[name].dtype or not np.array_equal(array, theirs[name])
    ]


@dataclass
class Count:
    """How many gradients of each order were compared, and what was wrong with which."""

    first: int = 0
    second: int = 0
    wrong: list[str] = field(default_factory=list)


def compare(
    definition: OpDefinition,
    problems: int,
    seed: int,
    backends: Sequence[str],
    differentiate: Callable[[Sample], tuple[Gradients, Gradients]],
) -> Count:
    """Compare an operation's gradients on each backend with those that `differentiate` gives."""
    count = Count()
    for index in range(problems):
        sample = make_sample(definition, seed, index)
        theirs = differentiate(sample)
        for backend in backends:
            ours = our_gradients(sample, backend)
            count.first += len(theirs[0])
            count.second += len(theirs[1])
            count.wrong += [
                f"{definition.name}, problem {index}, {backend}, order {order}: {found}"
                for order in (1, 2)
                for found in differences(ours[order - 1], theirs[order - 1])
            ]
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and return the exit code: 0 only if there were gradients and all agree."""
    parser = argparse.ArgumentParser(prog="python -m opspec.conformance.gradient_agreement")
    parser.add_argument("--problems", type=int, default=PROBLEMS, help="how many an operation")
    parser.add_argument("--seed", type=int, default=SEED, help="which problems")
    parser.add_argument("--backends", nargs="+", default=["numpy"], help="of opspec")
    options = parser.parse_args(arguments)
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    import tensorflow

    tensorflow.get_logger().setLevel("ERROR")
    version = tensorflow.__version__
    print(f"opspec {opspec.__version__} beside TensorFlow {version}, seed {options.seed}")
    counts = []
    for name in OPERATIONS:
        differentiate = partial(their_gradients, tensorflow)
        count = compare(
            ops.get(name), options.problems, options.seed, options.backends, differentiate
        )
        counts.append(count)
        print(f"{name}: {count.first} of first order, {count.second} of second", flush=True)
    wrong = [one for count in counts for one in count.wrong]
    for one in wrong:
        print(f"FAILED: {one}")
    checked = sum(count.first + count.second for count in counts)
    on = ", ".join(options.backends)
    print(f"gradients checked against TensorFlow: {checked} on {on}, {len(wrong)} wrong")
    return 1 if wrong or not checked else 0


def _settings(definition: OpDefinition, problem: Problem) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "strides": problem.arranged(1, problem.strides, 1),
        "padding": problem.padding,
        "data_format": problem.data_format,
        "dilations": problem.arranged(1, problem.dilations, 1),
    }
    if definition.sizes is not None:
        settings[definition.sizes] = problem.shape_of(definition.result_side)
    return settings


if __name__ == "__main__":
    sys.exit(main())
