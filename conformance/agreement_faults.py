"""What can be wrong with a call: each function here damages arguments in place, at random.

Not every damage is a fault: a size may stay legal, a layout may fit by luck. That is wanted.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from opspec.definition import OpDefinition
from opspec.dtypes import FLOATING, numpy_dtype

Array: TypeAlias = np.ndarray[Any, Any]
Arguments: TypeAlias = dict[str, Any]
Rng: TypeAlias = np.random.Generator
T = TypeVar("T")
Fault: TypeAlias = Callable[[Rng, OpDefinition, Arguments], None]


def pick(rng: Rng, choices: Sequence[T]) -> T:
    """Return one of the choices, itself (NumPy's own choice would make an array of them)."""
    return choices[int(rng.integers(len(choices)))]


def steps_entry(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Replace one stride or dilation by something doubtful."""
    which = pick(rng, ("strides", "dilations"))
    steps = _listed(arguments.get(which))
    at = int(rng.integers(len(steps)))
    value = steps[at]
    steps[at] = pick(
        rng,
        (
            *(0, -1, -2, value + 1, 2**31, 2**31 - 1, 2**40, 2**63, np.uint8(value)),
            *(float(value), value + 0.5, np.float32(value), float("nan")),
            *(True, False, np.bool_(True), str(value), "", None, [value]),
        ),
    )
    arguments[which] = pick(rng, (list, tuple))(steps)


def steps_count(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give another number of strides or dilations."""
    which = pick(rng, ("strides", "dilations"))
    steps = _listed(arguments.get(which))
    arguments[which] = pick(rng, (steps[:-1], [*steps, 1], [], [1], [1, 1], [1] * 3, [1] * 4))


def steps_whole(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give strides or dilations as something that is no list of integers."""
    which = pick(rng, ("strides", "dilations"))
    steps = _listed(arguments.get(which))
    first = steps[len(steps) // 2]
    arguments[which] = pick(
        rng,
        (
            *(0, -1, first, 2**31, 2**63, float(first), first + 0.5, np.float64(first), True),
            *("1", "SAME", b"1", None, np.array(first), np.array([steps]), np.array(steps, "f4")),
            *(np.array(steps, "u1"), np.array(steps, "?"), range(1, 4), [steps]),
        ),
    )


def steps_of_batch_or_channels(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Step over the batch or the channels, or use the other data format's order."""
    which = pick(rng, ("strides", "dilations"))
    steps = _listed(arguments.get(which))
    five = [1, *(steps if len(steps) == 3 else steps[1:4]), 1][:5]
    arguments[which] = pick(rng, ([2, *five[1:]], [*five[:4], 2], [1, 1, *five[1:4]], five))


def padding_value(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give another padding."""
    wrong = ("same", "valid", "Same", "EXPLICIT", "", " SAME", None, 1, True, b"SAME", ["SAME"])
    arguments["padding"] = pick(rng, ("SAME", "VALID", *wrong))


def data_format_value(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give another data format, the operands as they are."""
    wrong = ("ndhwc", "ncdhw", "NHWC", "NCHW", "NCDHW_VECT_C", "", None, 1, b"NDHWC", ["NDHWC"])
    arguments["data_format"] = pick(rng, ("NDHWC", "NCDHW", "NCDHW", *wrong))


def extent_of_operand(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Lengthen or shorten one axis of an operand, at times to nothing."""
    which = pick(rng, definition.kernel_operands)
    array = _as_array(arguments[which])
    axis = int(rng.integers(array.ndim)) if array.ndim else 0
    length = array.shape[axis] if array.ndim else 1
    # Nothing left of an axis is what TensorFlow may die of: seldom, and of the filter's least.
    wanted = length + 1 if rng.random() < 0.5 else max(length - 1, int(rng.random() < 0.8))
    grown = np.concatenate([np.atleast_1d(array)] * 2, axis)
    arguments[which] = np.take(grown, range(min(wanted, grown.shape[axis])), axis)


def rank_of_operand(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Drop or add an axis of an operand."""
    which = pick(rng, definition.kernel_operands)
    array = _as_array(arguments[which])
    ranks: list[Any] = [array[None], array[..., None], array.reshape(-1), array.sum(), 1.0]
    arguments[which] = pick(rng, [*ranks, array[0]] if array.ndim and len(array) else ranks)


def swapped_axes(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Swap the filter's channel axes, or bring other data into the other layout."""
    which = pick(rng, definition.kernel_operands)
    array = _as_array(arguments[which])
    if array.ndim < 2:
        return
    if definition.operand_sides[which] == "filter":
        arguments[which] = array.swapaxes(-1, -2)
    else:
        arguments[which] = np.moveaxis(array, 1, -1)


def dtype_of_one(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give one operand another of the four dtypes."""
    which = pick(rng, definition.kernel_operands)
    with np.errstate(over="ignore", invalid="ignore"):
        other = _as_array(arguments[which]).astype(numpy_dtype(pick(rng, FLOATING)))
    arguments[which] = other


def dtype_of_both(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give both operands, or one, a dtype that no convolution has."""
    dtype = pick(rng, ("i4", "i8", "u1", "?", "c8", "O", "U3", "i2", "g"))
    alone = pick(rng, (None, None, *definition.kernel_operands))
    for which in definition.kernel_operands:
        if alone in (None, which):
            whole = np.abs(np.nan_to_num(_as_array(arguments[which]).astype("f4"), posinf=1))
            arguments[which] = whole.astype(dtype)


def operand_whole(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give an operand as something that is no array of numbers."""
    which = pick(rng, definition.kernel_operands)
    nested = _as_array(arguments[which]).tolist()
    ragged = [nested, 1.0]
    arguments[which] = pick(rng, (None, "filter", 1, 1j, [], ragged, [None], ["1"], [[[[[1j]]]]]))


def name_value(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give a name that is no text."""
    arguments["name"] = pick(rng, (7, 1.5, ["a"], b"layer", True))


def _listed(steps: Any) -> list[Any]:
    """Return strides or dilations as a list that can be damaged."""
    scalar = not isinstance(steps, (list, tuple, range)) and np.ndim(steps) == 0
    found: list[Any] = [steps] * 3 if scalar else list(steps)
    usable = all(isinstance(step, (int, np.integer)) and 0 <= step < 100 for step in found)
    return [int(step) for step in found] if found and usable else [1, 1, 1]


def _as_array(operand: Any) -> Array:
    try:
        array = np.asarray(operand)
    except ValueError:
        return np.zeros((1, 1, 1, 1, 1))
    return array if array.dtype.kind in "fV" or array.dtype.name in FLOATING else np.zeros((1, 1))


FAULTS: tuple[Fault, ...] = (
    *(steps_entry, steps_entry, steps_count, steps_whole, steps_of_batch_or_channels),
    *(padding_value, data_format_value),
    *(extent_of_operand, extent_of_operand, rank_of_operand, swapped_axes),
    *(dtype_of_one, dtype_of_both, operand_whole, name_value),
)
