"""Value cases about infinities, NaN, zeros and subnormal numbers."""

from typing import Any

from opspec.conformance.generate.specs import Spec


def special_specs() -> list[Spec]:
    """Return the cases about special values."""
    return [*_special_values(), *_subnormals()]


def _special_values() -> list[Spec]:
    common: dict[str, Any] = {
        "size": (5, 6, 3),
        "kernel": (2, 2, 1),
        "stride": (3, 2, 1),
        "padding": "VALID",
    }
    return [
        Spec(
            name="inf-stays-with-its-taps",
            shows="an infinite voxel reaches just the positions of its taps; 0 * inf is NaN",
            special={"data": float("inf"), "filter": 0.0},
            **common,
        ),
        Spec(
            name="zero-meets-an-infinite-tap",
            shows="0 * inf is NaN, whichever operand has the 0",
            special={"data": 0.0, "filter": float("inf")},
            **common,
        ),
        Spec(
            name="inf-between-dilated-taps",
            shows="an infinite voxel leaves places between dilated taps alone",
            special={"data": float("inf"), "filter": 2.0},
            size=(5, 6, 3),
            kernel=(2, 2, 1),
            stride=(1, 2, 1),
            dilation=(3, 3, 1),
        ),
        Spec(
            name="identity",
            shows="a result that equals the data is not the data's memory",
            special={"filter": 1.0},
            size=(3, 4, 2),
            kernel=(1, 1, 1),
            stride=(1, 1, 1),
            contracted=1,
            made=1,
        ),
        Spec(
            name="nan-in-the-filter",
            shows="a NaN tap reaches one position of each block, in one channel",
            special={"filter": float("nan")},
            **common,
        ),
        Spec(
            name="nan-in-bfloat16",
            shows="a NaN is still one when it is rounded",
            dtype="bfloat16",
            special={"data": float("nan")},
            **common,
        ),
        Spec(
            name="minus-inf-in-float64",
            shows="an infinity keeps its sign",
            dtype="float64",
            special={"data": float("-inf"), "filter": 2.0},
            **common,
        ),
        Spec(
            name="bfloat16-overflows-to-inf",
            shows="511 * 2**119, which float32 holds, is nearer to 2**128 than to any bfloat16",
            dtype="bfloat16",
            size=(4, 3, 6),
            kernel=(2, 1, 3),
            stride=(2, 1, 3),
            contracted=1,
            made=4,
            smallest=10,
            special={"data": 73.0, "filter": 7.0},
            exponents={"data": 119},
        ),
        Spec(
            name="float16-overflows-to-inf",
            shows="a sum beyond 65504 is inf, rounded once at the end",
            dtype="float16",
            special={"data": 60000.0, "filter": -3.0},
            **common,
        ),
    ]


def _subnormals() -> list[Spec]:
    """Multiples of the smallest number of a dtype: exact, unless something is flushed to zero."""
    smallest = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}
    return [
        Spec(
            name=f"subnormal-{role}-{dtype}",
            shows="an operand of multiples of the smallest number there is, none of them 0",
            size=(5, 3, 4),
            kernel=(2, 1, 3),
            stride=(1, 2, 1),
            dtype=dtype,
            exponents={role: exponent},
        )
        for role, (dtype, exponent) in zip(
            ("data", "filter", "data", "filter"), smallest.items(), strict=True
        )
    ]
