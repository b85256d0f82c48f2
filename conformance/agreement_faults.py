"""What can be wrong with a call: each function here damages arguments in place, at random.

Not every damage is a fault: a size may stay legal, a layout may fit by luck. That is wanted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from opspec.dtypes import FLOATING, numpy_dtype

Array: TypeAlias = np.ndarray[Any, Any]
Arguments: TypeAlias = dict[str, Any]
Rng: TypeAlias = np.random.Generator
T = TypeVar("T")


@dataclass(frozen=True)
class OperandNames:
    """What an operation calls its operands."""

    sizes: str
    filter: str
    data: str


NAMES = {
    "conv3d_transpose": OperandNames("output_shape", "filters", "input"),
    "Conv3DBackpropInputV2": OperandNames("input_sizes", "filter", "out_backprop"),
}


def pick(rng: Rng, choices: Sequence[T]) -> T:
    """Return one of the choices, itself (NumPy's own choice would make an array of them)."""
    return choices[int(rng.integers(len(choices)))]


def steps_entry(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
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


def steps_count(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give another number of strides or dilations."""
    which = pick(rng, ("strides", "dilations"))
    steps = _listed(arguments.get(which))
    arguments[which] = pick(rng, (steps[:-1], [*steps, 1], [], [1], [1, 1], [1] * 3, [1] * 4))


def steps_whole(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
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


def steps_of_batch_or_channels(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Step over the batch or the channels, or use the other data format's order."""
    which = pick(rng, ("strides", "dilations"))
    steps = _listed(arguments.get(which))
    five = [1, *(steps if len(steps) == 3 else steps[1:4]), 1][:5]
    arguments[which] = pick(rng, ([2, *five[1:]], [*five[:4], 2], [1, 1, *five[1:4]], five))


def padding_value(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give another padding."""
    wrong = ("same", "valid", "Same", "EXPLICIT", "", " SAME", None, 1, True, b"SAME", ["SAME"])
    arguments["padding"] = pick(rng, ("SAME", "VALID", *wrong))


def data_format_value(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give another data format, the operands as they are."""
    wrong = ("ndhwc", "ncdhw", "NHWC", "NCHW", "NCDHW_VECT_C", "", None, 1, b"NDHWC", ["NDHWC"])
    arguments["data_format"] = pick(rng, ("NDHWC", "NCDHW", "NCDHW", *wrong))


def sizes_entry(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Replace one size by something doubtful."""
    sizes: list[Any] = list(_sizes(arguments[names.sizes]))
    at = int(rng.integers(len(sizes)))
    value = int(sizes[at])
    doubtful = (
        *(0, -1, -2, value + 1, value - 1, 2 * value, 2**31, 2**40, 2**63, np.uint8(value)),
        *(float(value), value + 0.5, np.float32(value), bool(value), np.bool_(True)),
        *(str(value), None, [value]),
    )
    sizes[at] = pick(rng, doubtful)
    arguments[names.sizes] = pick(rng, (list, tuple))(sizes)


def sizes_step(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Move one size a little; it may stay legal."""
    sizes = _sizes(arguments[names.sizes])
    sizes[int(rng.integers(len(sizes)))] += int(pick(rng, (-2, -1, 1, 2, 3)))
    spellings = (sizes, np.array(sizes, np.int32), np.array(sizes, np.int64))
    arguments[names.sizes] = pick(rng, spellings)


def sizes_count(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give another number of sizes."""
    sizes = _sizes(arguments[names.sizes])
    arguments[names.sizes] = pick(
        rng, (sizes[:4], sizes[1:4], [*sizes, 1], [], np.array(sizes[:4]), np.array([], np.int32))
    )


def sizes_whole(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give sizes as something that is no vector of integers."""
    sizes = np.array(_sizes(arguments[names.sizes]))
    arguments[names.sizes] = pick(
        rng,
        (
            *(None, 5, "1", int(sizes[1]), True, np.int64(2), [sizes.tolist()], sizes[None]),
            *(sizes.astype("f4"), sizes.astype("f8"), sizes + 0.5, sizes.astype("?")),
            *(sizes.astype("u1"), sizes.astype("i2"), sizes.astype("u8"), sizes.astype("U")),
            *(sizes.astype(float).tolist(), sizes.astype(object), [str(s) for s in sizes]),
        ),
    )


def sizes_beyond_32_bits(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Add a multiple of 2**32 to one size, which is gone if somebody takes 32 bits of it."""
    sizes = _sizes(arguments[names.sizes])
    sizes[int(rng.integers(len(sizes)))] += 2 ** int(pick(rng, (32, 33, 40)))
    arguments[names.sizes] = pick(rng, (np.array(sizes, np.int64), sizes))


def astronomic_result(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Ask for a result beyond all memory, all sizes in accord with the strides."""
    dtype = numpy_dtype(pick(rng, FLOATING))
    stride = 2 ** int(pick(rng, (20, 22, 30)))
    arguments |= {
        names.data: np.ones((1, 1, 1, 1, 1), dtype),
        names.filter: np.ones((1, 1, 1, 1, 1), dtype),
        names.sizes: np.array([1, stride, stride, stride, 1], np.int64),
        "strides": [1, stride, stride, stride, 1],
        "padding": "SAME",
        "data_format": "NDHWC",
        "dilations": [1, 1, 1, 1, 1],
    }


def channels_of_sizes(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Ask for other channels than the filter makes: often a multiple, as a grouped filter has."""
    sizes = _sizes(arguments[names.sizes])
    axis = 1 if arguments.get("data_format") == "NCDHW" else 4
    sizes[axis] = sizes[axis] * 2 if rng.random() < 0.7 else int(rng.integers(1, 6))
    arguments[names.sizes] = sizes


def extent_of_operand(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Lengthen or shorten one axis of an operand, at times to nothing."""
    which = pick(rng, (names.filter, names.data))
    array = _as_array(arguments[which])
    axis = int(rng.integers(array.ndim)) if array.ndim else 0
    length = array.shape[axis] if array.ndim else 1
    # Nothing left of an axis is what TensorFlow may die of: seldom, and of the filter's least.
    wanted = length + 1 if rng.random() < 0.5 else max(length - 1, int(rng.random() < 0.8))
    grown = np.concatenate([np.atleast_1d(array)] * 2, axis)
    arguments[which] = np.take(grown, range(min(wanted, grown.shape[axis])), axis)


def rank_of_operand(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Drop or add an axis of an operand."""
    which = pick(rng, (names.filter, names.data))
    array = _as_array(arguments[which])
    ranks: list[Any] = [array[None], array[..., None], array.reshape(-1), array.sum(), 1.0]
    arguments[which] = pick(rng, [*ranks, array[0]] if array.ndim and len(array) else ranks)


def swapped_axes(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Swap the filter's channel axes, or bring the data into the other layout."""
    if rng.random() < 0.5:
        filter = _as_array(arguments[names.filter])
        arguments[names.filter] = filter.swapaxes(-1, -2) if filter.ndim > 1 else filter
        return
    data = _as_array(arguments[names.data])
    arguments[names.data] = np.moveaxis(data, 1, -1) if data.ndim > 1 else data


def dtype_of_one(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give one operand another of the four dtypes."""
    which = pick(rng, (names.filter, names.data))
    with np.errstate(over="ignore", invalid="ignore"):
        other = _as_array(arguments[which]).astype(numpy_dtype(pick(rng, FLOATING)))
    arguments[which] = other


def dtype_of_both(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give both operands, or one, a dtype that no convolution has."""
    dtype = pick(rng, ("i4", "i8", "u1", "?", "c8", "O", "U3", "i2", "g"))
    alone = pick(rng, (None, None, names.filter, names.data))
    for which in (names.filter, names.data):
        if alone in (None, which):
            whole = np.abs(np.nan_to_num(_as_array(arguments[which]).astype("f4"), posinf=1))
            arguments[which] = whole.astype(dtype)


def operand_whole(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give an operand as something that is no array of numbers."""
    which = pick(rng, (names.filter, names.data))
    nested = _as_array(arguments[which]).tolist()
    ragged = [nested, 1.0]
    arguments[which] = pick(rng, (None, "filter", 1, 1j, [], ragged, [None], ["1"], [[[[[1j]]]]]))


def name_value(rng: Rng, names: OperandNames, arguments: Arguments) -> None:
    """Give a name that is no text."""
    arguments["name"] = pick(rng, (7, 1.5, ["a"], b"layer", True))


def _listed(steps: Any) -> list[Any]:
    """Return strides or dilations as a list that can be damaged."""
    scalar = not isinstance(steps, (list, tuple, range)) and np.ndim(steps) == 0
    found: list[Any] = [steps] * 3 if scalar else list(steps)
    usable = all(isinstance(step, (int, np.integer)) and 0 <= step < 100 for step in found)
    return [int(step) for step in found] if found and usable else [1, 1, 1]


def _sizes(sizes: Any) -> list[int]:
    """Return the sizes; some of the right form if an earlier damage left none."""
    try:
        found = [int(size) for size in sizes]
    except (TypeError, ValueError):
        found = []
    usable = len(found) == 5 and all(0 <= size < 2**20 for size in found)
    return found if usable else [1, 2, 2, 2, 1]


def _as_array(operand: Any) -> Array:
    try:
        array = np.asarray(operand)
    except ValueError:
        return np.zeros((1, 1, 1, 1, 1))
    return array if array.dtype.kind in "fV" or array.dtype.name in FLOATING else np.zeros((1, 1))


FAULTS: tuple[Callable[[Rng, OperandNames, Arguments], None], ...] = (
    *(steps_entry, steps_entry, steps_count, steps_whole, steps_of_batch_or_channels),
    *(padding_value, data_format_value),
    *(sizes_entry, sizes_entry, sizes_step, sizes_step, sizes_count, sizes_whole),
    *(sizes_beyond_32_bits, astronomic_result, channels_of_sizes, channels_of_sizes),
    *(extent_of_operand, extent_of_operand, rank_of_operand, swapped_axes),
    *(dtype_of_one, dtype_of_both, operand_whole, name_value),
)
