"""What is made of golden cases, against the definition in exact integers.

The operands are brought to whole numbers by powers of two, which change no other bit.
"""

from typing import Any

import numpy as np
import pytest

from opspec import ops
from opspec.conformance.case import all_golden
from opspec.conformance.example import Example
from opspec.conformance.generate.built import SPELLED, arrays_of, raw_operation
from opspec.conformance.oracle_siblings import EXACT
from opspec.conformance.recast import RECASTS, recast
from opspec.conformance.tasks import MADE_LANES
from opspec.dtypes import numpy_dtype

# Data of float64 are multiples of this, whole numbers in all other dtypes.
FINEST = 28


def examples(way: str) -> list[tuple[str, Example]]:
    return [
        (case, made[way][1])
        for golden in all_golden()
        if golden.file.lane in MADE_LANES
        for case, made in recast(golden).items()
        if way in made
    ]


def exact(example: Example) -> Any:
    """Return the sums of an example as integers, times 2**FINEST; None where they are not such."""
    arguments = example.arguments()
    spelled = SPELLED[example.operation]
    given = {raw: arguments.pop(name) for raw, name in spelled.items()}
    wide = {raw: array.astype(np.float64) for raw, array in arrays_of(given).items()}
    # The one that a recast for float64 multiplies.
    last = ops.get(example.operation).kernel_operands[1]
    fine = next(raw for raw, name in spelled.items() if name == last)
    wide[fine] = np.ldexp(wide[fine], FINEST)
    for numbers in wide.values():
        finite = np.isfinite(numbers).all()
        if not finite or (numbers % 1).any() or np.abs(numbers).max(initial=0) > 2**50:
            return None
    return EXACT[raw_operation(example.operation)](**{**given, **wide}, **arguments)


@pytest.mark.parametrize("way", [way.name for way in RECASTS])
def test_what_is_expected_is_the_definitions(way: str) -> None:
    compared = 0
    for name, example in examples(way):
        if example.magnitude is not None or example.expected.size > 10_000:
            continue
        sums = exact(example)
        if sums is None:
            continue
        # Of so few bits that float64 holds them.
        assert (abs(sums) < 2**53).all(), name
        dtype = example.arguments()[ops.get(example.operation).kernel_operands[0]].dtype
        with np.errstate(over="ignore"):
            wanted = np.ldexp(sums.astype(np.float64), -FINEST).astype(dtype)
        assert example.expected.size == 0 or example.expected.dtype == dtype
        np.testing.assert_array_equal(example.expected.astype(dtype), wanted, err_msg=name)
        compared += 1
    assert compared >= 20


def test_every_bit_of_float64_is_used() -> None:
    long = 0
    for _, example in examples("in-float64"):
        with np.errstate(all="ignore"):
            short = example.expected.astype(np.float32).astype(np.float64)
        finite = np.isfinite(example.expected)
        long += bool((short != example.expected)[finite].any())
    assert long >= 20


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_operands_are_of_the_dtype_and_the_result_too(dtype: str) -> None:
    for _, example in examples(f"in-{dtype}-other-layout"):
        arguments = example.arguments()
        for name in ops.get(example.operation).kernel_operands:
            assert arguments[name].dtype == numpy_dtype(dtype)
        assert arguments["data_format"] in ("NDHWC", "NCDHW")


def test_a_bounded_case_changes_its_layout_only() -> None:
    bounded = [
        made
        for golden in all_golden()
        if golden.file.lane == "bounded"
        for made in recast(golden).values()
    ]
    assert bounded
    assert all(set(made) == {"in-other-layout"} for made in bounded)
