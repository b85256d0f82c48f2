"""What can be wrong with the sizes that an operation is asked for, as in `agreement_faults`."""

from typing import Any

import numpy as np

from opspec.conformance.agreement_faults import Arguments, Fault, Rng, pick
from opspec.definition import OpDefinition
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.geometry import channel_axis


def sizes_entry(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Replace one size by something doubtful."""
    name = _argument(definition)
    sizes: list[Any] = list(_sizes(arguments[name]))
    at = int(rng.integers(len(sizes)))
    value = int(sizes[at])
    doubtful = (
        *(0, -1, -2, value + 1, value - 1, 2 * value, 2**31, 2**40, 2**63, np.uint8(value)),
        *(float(value), value + 0.5, np.float32(value), bool(value), np.bool_(True)),
        *(str(value), None, [value]),
    )
    sizes[at] = pick(rng, doubtful)
    arguments[name] = pick(rng, (list, tuple))(sizes)


def sizes_step(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Move one size a little; it may stay legal."""
    name = _argument(definition)
    sizes = _sizes(arguments[name])
    sizes[int(rng.integers(len(sizes)))] += int(pick(rng, (-2, -1, 1, 2, 3)))
    spellings = (sizes, np.array(sizes, np.int32), np.array(sizes, np.int64))
    arguments[name] = pick(rng, spellings)


def sizes_count(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give another number of sizes."""
    name = _argument(definition)
    sizes = _sizes(arguments[name])
    arguments[name] = pick(
        rng, (sizes[:4], sizes[1:4], [*sizes, 1], [], np.array(sizes[:4]), np.array([], np.int32))
    )


def sizes_whole(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Give sizes as something that is no vector of integers."""
    name = _argument(definition)
    sizes = np.array(_sizes(arguments[name]))
    arguments[name] = pick(
        rng,
        (
            *(None, 5, "1", int(sizes[1]), True, np.int64(2), [sizes.tolist()], sizes[None]),
            *(sizes.astype("f4"), sizes.astype("f8"), sizes + 0.5, sizes.astype("?")),
            *(sizes.astype("u1"), sizes.astype("i2"), sizes.astype("u8"), sizes.astype("U")),
            *(sizes.astype(float).tolist(), sizes.astype(object), [str(s) for s in sizes]),
        ),
    )


def sizes_beyond_32_bits(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Add a multiple of 2**32 to one size, which is gone if somebody takes 32 bits of it."""
    name = _argument(definition)
    sizes = _sizes(arguments[name])
    sizes[int(rng.integers(len(sizes)))] += 2 ** int(pick(rng, (32, 33, 40)))
    arguments[name] = pick(rng, (np.array(sizes, np.int64), sizes))


def astronomic_result(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Ask for a result beyond all memory, all sizes in accord with the steps."""
    dtype = numpy_dtype(pick(rng, FLOATING))
    large = 2 ** int(pick(rng, (20, 22, 30)))
    single = np.ones((1, 1, 1, 1, 1), dtype)
    of_filter = definition.result_side == "filter"
    sizes = [large, large, large, 1, 1] if of_filter else [1, large, large, large, 1]
    arguments |= {
        **dict.fromkeys(definition.kernel_operands, single),
        _argument(definition): np.array(sizes, np.int64),
        "strides": [1, 1, 1, 1, 1] if of_filter else sizes,
        "padding": "SAME",
        "data_format": "NDHWC",
        "dilations": [1, 1, 1, 1, 1],
    }


def channels_of_sizes(rng: Rng, definition: OpDefinition, arguments: Arguments) -> None:
    """Ask for other channels than the filter makes: often a multiple, as a grouped filter has."""
    name = _argument(definition)
    sizes = _sizes(arguments[name])
    layout = "NCDHW" if arguments.get("data_format") == "NCDHW" else "NDHWC"
    axis = pick(rng, (3, 4)) if definition.result_side == "filter" else channel_axis(layout)
    sizes[axis] = sizes[axis] * 2 if rng.random() < 0.7 else int(rng.integers(1, 6))
    arguments[name] = sizes


def _argument(definition: OpDefinition) -> str:
    """Return the argument that holds the sizes of an operation that asks for them."""
    if definition.sizes is None:
        raise LookupError(f"{definition.name} is not asked for sizes")
    return definition.sizes


def _sizes(sizes: Any) -> list[int]:
    """Return the sizes; some of the right form if an earlier damage left none."""
    try:
        found = [int(size) for size in sizes]
    except (TypeError, ValueError):
        found = []
    usable = len(found) == 5 and all(0 <= size < 2**20 for size in found)
    return found if usable else [1, 2, 2, 2, 1]


SIZE_FAULTS: tuple[Fault, ...] = (
    *(sizes_entry, sizes_entry, sizes_step, sizes_step, sizes_count, sizes_whole),
    *(sizes_beyond_32_bits, astronomic_result, channels_of_sizes, channels_of_sizes),
)
