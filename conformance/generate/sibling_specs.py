"""Value cases of the two siblings, Conv3D and Conv3DBackpropFilterV2: those of the others again.

The same shapes, attributes and special values, except where they are about what only the gradient
by the input does. `contracted` and `made` are the channels of the large and of the small side.
"""

from collections.abc import Iterator
from dataclasses import replace

from opspec.conformance.generate.shape_specs import shape_specs
from opspec.conformance.generate.special_specs import special_specs
from opspec.conformance.generate.specs import DTYPES, Spec
from opspec.conformance.generate.value_specs import value_specs

SIBLINGS = ("Conv3D", "Conv3DBackpropFilterV2")
# A filter without channels of the large side is refused, and sums of large terms depend on their
# order. The others kill no mutant here that a smaller case does not kill, or take too much room.
LEFT_OUT = (
    "zero-contraction",
    "bfloat16-overflows",
    "55-million",
    "thin-result",
    "float16-products",
    "inf-between",
    "minus-inf",
    "ncdhw-valid-float32",
    "one-made-channel-ncdhw",
    "same-size-",
    "zero-meets",
)
LARGE = ("many-channels", "few-positions")
# Made for sums over taps and channels; those of the filter's gradient are over positions.
ONLY_CONV3D = ("float16-overflows", "13824-terms")


def sibling_specs() -> list[Spec]:
    """Return the cases of both siblings."""
    return [spec for operation in SIBLINGS for spec in _of(operation)]


def _of(operation: str) -> Iterator[Spec]:
    for spec in (*shape_specs(), *value_specs(), *special_specs()):
        if spec.lane == "accept" or spec.name.startswith(LEFT_OUT):
            continue
        # The bound does not see one of so many terms of bfloat16; equal bits do.
        if spec.name.startswith("13824") and (spec.lane == "exact") != (spec.dtype == "bfloat16"):
            continue
        if spec.name.startswith(LARGE) and spec.dtype + spec.data_format != "float32NDHWC":
            continue
        if spec.name.startswith(ONLY_CONV3D) and operation != "Conv3D":
            continue
        yield replace(spec, public=operation)
    if operation != "Conv3D":
        yield from _many_positions(operation)
    yield Spec(
        name="no-made-channels",
        shows="an empty result of the right shape and dtype",
        made=0,
        public=operation,
    )


def _many_positions(operation: str) -> Iterator[Spec]:
    for dtype in DTYPES:
        yield Spec(
            name=f"13824-positions-{dtype}",
            shows="24 x 24 x 24 positions in each sum: lower precision inside shows",
            lane="bounded",
            size=(24, 24, 24),
            kernel=(2, 1, 3),
            stride=(1, 1, 1),
            batch=1,
            contracted=2,
            made=1,
            dtype=dtype,
            public=operation,
        )
