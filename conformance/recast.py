"""The golden cases once more, in the other layout and in other dtypes.

A kernel is compiled anew for each dtype and layout, and each time something else can go wrong. The
values need no oracle again: the other layout transposes them, and the sums of an exact float32 case
are whole numbers below 2^24, from which those in any other dtype follow without another sum:

    float64             operands x and y, sum s  ->  x, y * (1 + 2^-28), s * (1 + 2^-28)
    float16, bfloat16   operands x and y, sum s  ->  x, y, and s rounded once

The factor takes all bits that float64 has, so that sums in float32 show.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from opspec import ops
from opspec.conformance.case import Golden
from opspec.conformance.example import Array, Example, example_of
from opspec.dtypes import numpy_dtype
from opspec.geometry import Side

INWARD, OUTWARD = (0, 4, 1, 2, 3), (0, 2, 3, 4, 1)
LONG = 1 + 2.0**-28


@dataclass(frozen=True, slots=True)
class Recast:
    """A way to make another case of a case.

    Parameters
    ----------
    name, shows
        Its name and what it is there to show.
    of
        Makes the other example, or None where its values would not be known exactly.
    since
        The version of the suite that brought it.
    """

    name: str
    shows: str
    of: Callable[[Example], Example | None]
    since: int = 1


def in_other_layout(example: Example) -> Example:
    """Return the example with its channels where the other data format has them."""
    definition = ops.get(example.operation)
    given = example.arguments()
    fields = definition.Attributes.model_fields
    attributes: Any = definition.Attributes(**{n: given[n] for n in fields if n in given})
    last = attributes.data_format == "NDHWC"
    order = INWARD if last else OUTWARD

    def moved(array: Array, side: Side) -> Array:
        # The filter's axes are the same in both data formats.
        return array if side == "filter" else np.ascontiguousarray(array.transpose(order))

    def arguments() -> dict[str, Any]:
        changed = example.arguments()
        for name in {"strides", "dilations"} & set(changed):
            changed[name] = [int(getattr(attributes, name)[axis]) for axis in order]
        if definition.sizes is not None and definition.result_side != "filter":
            changed[definition.sizes] = [int(changed[definition.sizes][axis]) for axis in order]
        for name, side in definition.operand_sides.items():
            changed[name] = moved(changed[name], side)
        return {**changed, "data_format": "NCDHW" if last else "NDHWC"}

    side = definition.result_side
    magnitude = None if example.magnitude is None else moved(example.magnitude, side)
    expected = moved(example.expected, side)
    return replace(example, arguments=arguments, expected=expected, magnitude=magnitude)


def in_dtype(dtype: str) -> Callable[[Example], Example | None]:
    """Return what computes an exact float32 case in another dtype."""
    kind = numpy_dtype(dtype)
    factor = LONG if dtype == "float64" else 1.0

    def of(example: Example) -> Example | None:
        one, other = ops.get(example.operation).kernel_operands

        def arguments() -> dict[str, Any]:
            changed = example.arguments()
            changed[one] = changed[one].astype(kind)
            changed[other] = (changed[other].astype(kind) * kind.type(factor)).astype(kind)
            return changed

        given = example.arguments()
        if example.magnitude is not None or given[one].dtype != np.float32:
            return None
        with np.errstate(all="ignore"):
            if not all(_holds(kind, given[name]) for name in (one, other)):
                return None
            expected = (example.expected.astype(np.float64) * factor).astype(kind)
        return replace(example, arguments=arguments, expected=expected)

    return of


def _holds(kind: np.dtype[Any], array: Array) -> bool:
    """Whether a dtype holds these numbers as they are."""
    return np.array_equal(array.astype(kind).astype(array.dtype), array, equal_nan=True)


def _both(dtype: str) -> Callable[[Example], Example | None]:
    def of(example: Example) -> Example | None:
        changed = in_dtype(dtype)(example)
        return None if changed is None else in_other_layout(changed)

    return of


def _all() -> Iterator[Recast]:
    yield Recast("in-other-layout", "the same in the other data format", in_other_layout)
    for dtype in ("float16", "bfloat16", "float64"):
        yield Recast(f"in-{dtype}", f"the same in {dtype}", in_dtype(dtype))
        yield Recast(
            f"in-{dtype}-other-layout",
            f"the same in {dtype} and the other data format",
            _both(dtype),
        )


RECASTS: tuple[Recast, ...] = tuple(_all())


@cache
def recast(golden: Golden) -> dict[str, dict[str, tuple[Recast, Example]]]:
    """Return, for each case of a lane, every recast that it has, by name."""
    found: dict[str, dict[str, tuple[Recast, Example]]] = {}
    for case in golden.file.cases:
        example = example_of(golden, case)
        made = ((way, way.of(example)) for way in RECASTS)
        found[case.name] = {way.name: (way, other) for way, other in made if other is not None}
    return found
