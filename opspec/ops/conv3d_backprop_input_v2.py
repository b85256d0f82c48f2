"""The operation Conv3DBackpropInputV2: the gradient of a 3-D convolution by its input."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from opspec.attributes import AttributesModel
from opspec.convolution import Names, inferred_spec, lowered
from opspec.convolution_rules import operand_rules
from opspec.definition import OpDefinition, Operand
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS
from opspec.rules import INT32_MAX, known_integers
from opspec.step_rules import StepSpelling, attribute_rules

NAME = "Conv3DBackpropInputV2"
PAGE = "https://www.tensorflow.org/api_docs/python/tf/raw_ops/Conv3DBackpropInputV2"

LARGE = {
    "NDHWC": ("batch", "depth", "rows", "cols", "in_channels"),
    "NCDHW": ("batch", "in_channels", "depth", "rows", "cols"),
}
SMALL = {
    "NDHWC": ("batch", "out_depth", "out_rows", "out_cols", "out_channels"),
    "NCDHW": ("batch", "out_channels", "out_depth", "out_rows", "out_cols"),
}
FILTER = ("depth", "rows", "cols", "in_channels", "out_channels")

NAMES = Names(
    op=NAME,
    sizes="input_sizes",
    filter="filter",
    data="out_backprop",
    large="input_sizes",
    small="out_backprop",
    filter_dimensions=FILTER,
    layouts=LARGE,
    data_layouts=SMALL,
)

FiveSteps = Annotated[
    tuple[int, int, int, int, int],
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": INT32_MAX},
            "minItems": 5,
            "maxItems": 5,
        }
    ),
]


class Attributes(AttributesModel):
    """The attributes of Conv3DBackpropInputV2, all in the data format's order."""

    strides: FiveSteps = Field(
        description="Step of the window in each dimension; 1 for batch and channels."
    )
    padding: Literal["SAME", "VALID"] = Field(
        description="SAME gives every stride a window, VALID only windows that lie inside."
    )
    data_format: Literal["NDHWC", "NCDHW"] = Field(
        "NDHWC", description="Layout of out_backprop and of the result."
    )
    dilations: FiveSteps = Field(
        (1, 1, 1, 1, 1), description="Step between filter taps in each dimension."
    )

    rules = attribute_rules(
        NAME,
        required=("strides", "padding"),
        data_formats=DATA_FORMATS,
        steps=StepSpelling((5,), scalar=False, source="docs/semantics.md §3.8"),
    )

    @classmethod
    def canonical(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Turn strides and dilations into tuples of int."""
        return {
            **given,
            "strides": tuple(known_integers(given["strides"])),
            "dilations": tuple(known_integers(given["dilations"])),
        }


Conv3DBackpropInputV2 = OpDefinition(
    name=NAME,
    public="opspec.raw_ops:Conv3DBackpropInputV2",
    summary="The gradient of a 3-D convolution with respect to its input.",
    reference="""\
Spreads `out_backprop` back over the positions that a forward 3-D convolution read it from. With
position o of `out_backprop` and filter tap t, per spatial dimension,

    i = o * stride + t * dilation - before

and wherever 0 <= i < input_sizes in all three:

    result[n, i, c] += sum over j of out_backprop[n, o, j] * filter[t, c, j]

The filter is not flipped. A tap that lands outside is dropped; a position that no tap reaches is
exactly 0. `before` is 0 for VALID; for SAME it is half, rounded down, of what the windows lack, and
never negative. `out_backprop` must have exactly the window count of that size: ceil(size / stride)
for SAME; floor((size - span) / stride) + 1 for VALID, 0 if the size is below the span
(kernel - 1) * dilation + 1.

float16 and bfloat16 are summed in float32 and rounded once; NaN and Inf reach exactly the positions
that their taps reach.""",
    sources=(PAGE, "docs/semantics.md"),
    Attributes=Attributes,
    operands=(
        Operand(
            "input_sizes",
            ("int32", "int64"),
            LARGE,
            "Shape of the result, in the data format's order.",
        ),
        Operand(
            "filter",
            FLOATING,
            {"NDHWC": FILTER, "NCDHW": FILTER},
            "The filter of the forward convolution; the same layout in both data formats.",
        ),
        Operand("out_backprop", FLOATING, SMALL, "The signal to spread."),
    ),
    sizes="input_sizes",
    operand_rules=operand_rules(NAMES),
    result="An array of shape input_sizes and the dtype of filter, fresh and contiguous.",
    kernel=NAME,
    kernel_parameters=("geometry", "filter", "out_backprop"),
    kernel_operands=("filter", "out_backprop"),
    infer_shape=partial(inferred_spec, names=NAMES),
    lower=partial(lowered, names=NAMES),
)
