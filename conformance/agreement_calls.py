"""Random calls for the comparison with TensorFlow: valid ones in every spelling, and damaged ones.

Call i of a seed depends on nothing but the seed and i. What was damaged is not recorded: whoever
judges a call has only its arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opspec import ops
from opspec.conformance.agreement_faults import FAULTS, pick
from opspec.conformance.agreement_size_faults import SIZE_FAULTS
from opspec.definition import OpDefinition
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.geometry import Side

Array: TypeAlias = np.ndarray[Any, Any]

DAMAGED = 0.44
DAMAGED_TWICE = 0.06
LARGEST = 500

OPERATIONS = ("conv3d_transpose", "Conv3DBackpropInputV2", "Conv3D", "Conv3DBackpropFilterV2")


@dataclass(frozen=True)
class GeneratedCall:
    """A call as a caller would write it.

    Parameters
    ----------
    seed, index
        What it is made from again.
    op
        One of `OPERATIONS`.
    arguments
        The keyword arguments.
    """

    seed: int
    index: int
    op: str
    arguments: dict[str, Any]

    @property
    def definition(self) -> OpDefinition:
        """The operation."""
        return ops.get(self.op)

    def code(self) -> str:
        """Return a script that makes the call again, its arguments written out above."""
        lines = [f"# {name} = {_written(value)}" for name, value in self.arguments.items()]
        return "\n".join(
            [
                *lines,
                "import opspec",
                "from opspec.conformance.agreement_calls import make_call",
                f"call = make_call({self.seed}, {self.index})",
                f"{self.definition.public.replace(':', '.')}(**call.arguments, backend='numpy')",
            ]
        )


@dataclass(frozen=True)
class Problem:
    """A valid problem: extents per operand, steps per spatial dimension."""

    batch: int
    made: int
    contracted: int
    kernel: tuple[int, ...]
    small: tuple[int, ...]
    large: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str
    data_format: str
    dtype: str

    def shape_of(self, side: Side) -> list[int]:
        """Return the shape of one side."""
        if side == "filter":
            return [*self.kernel, self.made, self.contracted]
        if side == "input":
            return self.arranged(self.made, self.large, self.batch)
        return self.arranged(self.contracted, self.small, self.batch)

    def arranged(self, channels: int, spatial: Sequence[int], batch: int) -> list[int]:
        """Return five numbers in the data format's order."""
        if self.data_format == "NCDHW":
            return [batch, channels, *spatial]
        return [batch, *spatial, channels]


def make_call(seed: int, index: int) -> GeneratedCall:
    """Make call `index` of a seed."""
    rng = np.random.default_rng([seed, index])
    op = pick(rng, OPERATIONS)
    definition = ops.get(op)
    arguments = _spelled(rng, definition, draw_problem(rng))
    faults = FAULTS if definition.sizes is None else FAULTS + SIZE_FAULTS
    luck = rng.random()
    for _ in range((luck < DAMAGED) + (luck < DAMAGED_TWICE)):
        pick(rng, faults)(rng, definition, arguments)
    return GeneratedCall(seed, index, op, arguments)


def draw_problem(rng: np.random.Generator) -> Problem:
    """Draw extents until the result is small enough for the reference, which is slow."""
    while True:
        padding = pick(rng, ("SAME", "VALID"))
        dilated = rng.random() < 0.25
        # The same stride everywhere has spellings of its own.
        strides = [int(rng.integers(1, 5))] * 3 if rng.random() < 0.4 else rng.integers(1, 5, 3)
        axes = [_axis(rng, padding, dilated, int(stride)) for stride in strides]
        if rng.random() < 0.03:
            axes[rng.integers(3)] = _axis_without_positions(rng, padding)
        kernel, steps, dilations, small, large = zip(*axes, strict=True)
        if prod(large) <= LARGEST:
            break
    return Problem(
        batch=0 if rng.random() < 0.03 else int(rng.integers(1, 3)),
        made=int(rng.integers(1, 5)),
        # TensorFlow may die of this one.
        contracted=0 if rng.random() < 0.006 else int(rng.integers(1, 5)),
        kernel=kernel,
        small=small,
        large=large,
        strides=steps,
        dilations=dilations,
        padding=padding,
        data_format="NCDHW" if rng.random() < 0.3 else "NDHWC",
        dtype=pick(rng, FLOATING),
    )


def _axis(rng: np.random.Generator, padding: str, dilated: bool, stride: int) -> tuple[int, ...]:
    """Draw kernel, stride, dilation, small side and one of the large sides that belong to them."""
    kernel, small = (int(n) for n in rng.integers(1, (5, 4)))
    dilation = int(rng.integers(1, 4)) if dilated else 1
    most = small * stride
    if padding == "VALID":
        most += (kernel - 1) * dilation
    return kernel, stride, dilation, small, most - int(rng.integers(stride))


def _axis_without_positions(rng: np.random.Generator, padding: str) -> tuple[int, ...]:
    kernel, stride = (int(n) for n in rng.integers(1, 5, 2))
    large = 0
    # Most of the time what TensorFlow survives: it dies where the stride exceeds what is missing.
    if padding == "VALID" and kernel > 1:
        large = int(rng.integers(1, kernel)) if rng.random() < 0.3 else max(kernel - stride, 0)
        large = min(large, kernel - 1)
    return kernel, stride, 1, 0, large


def _spelled(
    rng: np.random.Generator, definition: OpDefinition, problem: Problem
) -> dict[str, Any]:
    """Write a problem as a caller might, one of many ways."""
    op, whole, plain = definition.name, rng.random() < 0.3, rng.random()
    arguments: dict[str, Any] = {}
    for place, (name, side) in enumerate(definition.operand_sides.items()):
        operand = _operand(rng, problem.shape_of(side), problem.dtype, whole)
        listed = 0.02 * place <= plain < 0.03 + 0.02 * place and operand.size > 0
        arguments[name] = operand.tolist() if listed else operand
    if definition.sizes is not None:
        arguments[definition.sizes] = _spelled_sizes(rng, problem.shape_of(definition.result_side))
    arguments["strides"] = _spelled_steps(rng, op, problem, problem.strides)
    if op != "conv3d_transpose" or problem.padding == "VALID" or rng.random() < 0.7:
        arguments["padding"] = problem.padding
    if problem.data_format == "NCDHW" or rng.random() < 0.5:
        arguments["data_format"] = problem.data_format
    elif op == "conv3d_transpose" and rng.random() < 0.2:
        arguments["data_format"] = None
    if problem.dilations != (1, 1, 1) or rng.random() < 0.3:
        arguments["dilations"] = _spelled_steps(rng, op, problem, problem.dilations)
    if rng.random() < 0.05:
        arguments["name"] = pick(rng, (None, "decoder", ""))
    return arguments


def _operand(rng: np.random.Generator, shape: list[int], dtype: str, whole: bool) -> Array:
    """Draw zero-mean or small whole numbers; now and then laid out unusually in memory."""
    drawn = rng.integers(-3, 4, shape) if whole else rng.standard_normal(shape)
    array: Array = drawn.astype(numpy_dtype(dtype))
    form, axis = rng.random(), int(rng.integers(5))
    if form < 0.04:
        return np.asfortranarray(array)
    if form < 0.08:
        return np.flip(np.ascontiguousarray(np.flip(array, axis)), axis)
    if form < 0.10:
        return array.astype(array.dtype.newbyteorder(">"))
    if form < 0.13:
        array.flags.writeable = False
    if form > 0.99 and array.size:
        spoilt = rng.integers(array.size, size=2)
        array.reshape(-1)[spoilt] = [np.inf, np.nan]
    return array


def _spelled_sizes(rng: np.random.Generator, sizes: list[int]) -> Any:
    spellings = (
        sizes,
        tuple(sizes),
        np.array(sizes, np.int32),
        np.array(sizes, np.int64),
        list(np.array(sizes, np.int64)),
    )
    return pick(rng, spellings)


def _spelled_steps(
    rng: np.random.Generator, op: str, problem: Problem, steps: tuple[int, ...]
) -> Any:
    five = problem.arranged(1, steps, 1)
    sequences = [five, tuple(five), np.array(five, np.int32), np.array(five, np.int64)]
    if op != "conv3d_transpose":
        # Arrays seldom: TensorFlow's raw ops take lists and tuples only.
        return pick(rng, sequences if rng.random() < 0.05 else sequences[:2])
    three = list(steps)
    spellings: list[Any] = [
        *sequences,
        three,
        tuple(three),
        np.array(three, np.int32),
        np.array(three, np.int64),
    ]
    if len(set(steps)) == 1:
        one = steps[0]
        spellings += [one, one, np.int64(one), [one], (one,), np.array([one]), np.int32(one)]
    if set(steps) == {1}:
        spellings += [None, None]
    return pick(rng, spellings)


def _written(value: object) -> str:
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"{value.dtype} array of shape {list(value.shape)}"
    written = " ".join(repr(value).split())
    return written if len(written) <= 120 else f"{written[:117]}..."
