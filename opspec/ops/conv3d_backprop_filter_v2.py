"""The operation Conv3DBackpropFilterV2: the gradient of a 3-D convolution by its filter."""

from functools import partial

from opspec.convolution import Names, inferred_spec, lowered
from opspec.convolution_attributes import FILTER, LARGE, SMALL, RawAttributes, raw_attribute_rules
from opspec.convolution_rules import operand_rules
from opspec.definition import OpDefinition, Operand
from opspec.dtypes import FLOATING

NAME = "Conv3DBackpropFilterV2"
PAGE = "https://www.tensorflow.org/api_docs/python/tf/raw_ops/Conv3DBackpropFilterV2"

NAMES = Names(
    op=NAME,
    result="filter",
    arguments={"input": "input", "filter": "filter_sizes", "output": "out_backprop"},
    words={"input": "input", "output": "out_backprop"},
    dimensions={"input": LARGE, "filter": FILTER, "output": SMALL},
)


class Attributes(RawAttributes):
    """The attributes of Conv3DBackpropFilterV2, all in the data format's order."""

    rules = raw_attribute_rules(NAME)


Conv3DBackpropFilterV2 = OpDefinition(
    name=NAME,
    public="opspec.raw_ops:Conv3DBackpropFilterV2",
    summary="The gradient of a 3-D convolution with respect to its filter.",
    reference="""\
Adds up, for each filter tap t, what it read at each position o of a forward 3-D convolution, times
the gradient there. Per spatial dimension,

    i = o * stride + t * dilation - before

and over all positions for which 0 <= i < input size in all three:

    result[t, c, j] = sum over n and o of input[n, i, c] * out_backprop[n, o, j]

A tap that no window brings inside, as all do of an empty batch, is exactly 0. `out_backprop` must
have the window count of `input` for a filter of `filter_sizes`: ceil(size / stride) for SAME;
floor((size - span) / stride) + 1 for VALID, 0 if the size is below the span
(kernel - 1) * dilation + 1. `before` is 0 for VALID; for SAME it is half, rounded down, of what the
windows lack, and never negative.

float16 and bfloat16 are summed in float32 and rounded once.""",
    sources=(PAGE, "docs/semantics.md"),
    Attributes=Attributes,
    operands=(
        Operand("input", FLOATING, LARGE, "What the forward convolution read."),
        Operand("filter_sizes", ("int32", "int64"), FILTER, "Shape of the result."),
        Operand("out_backprop", FLOATING, SMALL, "The gradient of the convolution's result."),
    ),
    sizes="filter_sizes",
    operand_rules=operand_rules(NAMES),
    result="An array of shape filter_sizes and the dtype of input, fresh and contiguous.",
    kernel=NAME,
    kernel_parameters=("geometry", "input", "out_backprop"),
    kernel_operands=("input", "out_backprop"),
    kernel_sides=("input", "output"),
    result_side="filter",
    infer_shape=partial(inferred_spec, names=NAMES),
    lower=partial(lowered, names=NAMES),
)
