"""The operation Conv3DBackpropInputV2: the gradient of a 3-D convolution by its input."""

from functools import partial

from opspec.convolution import Names, inferred_spec, lowered
from opspec.convolution_attributes import FILTER, LARGE, SMALL, RawAttributes, raw_attribute_rules
from opspec.convolution_rules import operand_rules
from opspec.definition import OpDefinition, Operand
from opspec.dtypes import FLOATING

NAME = "Conv3DBackpropInputV2"
PAGE = "https://www.tensorflow.org/api_docs/python/tf/raw_ops/Conv3DBackpropInputV2"

NAMES = Names(
    op=NAME,
    result="input",
    arguments={
        "input": "input_sizes",
        "filter": "filter",
        "output": "out_backprop",
    },
    words={"input": "input_sizes", "output": "out_backprop"},
    dimensions={
        "input": LARGE,
        "filter": FILTER,
        "output": SMALL,
    },
)


class Attributes(RawAttributes):
    """The attributes of Conv3DBackpropInputV2, all in the data format's order."""

    rules = raw_attribute_rules(NAME)


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
            FILTER,
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
    kernel_sides=("filter", "output"),
    result_side="input",
    infer_shape=partial(inferred_spec, names=NAMES),
    lower=partial(lowered, names=NAMES),
)
