"""The operation Conv3D: the 3-D convolution itself."""

from functools import partial

from opspec.convolution import Names, inferred_spec, lowered
from opspec.convolution_attributes import FILTER, LARGE, SMALL, RawAttributes, raw_attribute_rules
from opspec.convolution_rules import operand_rules
from opspec.definition import OpDefinition, Operand
from opspec.dtypes import FLOATING

NAME = "Conv3D"
PAGE = "https://www.tensorflow.org/api_docs/python/tf/raw_ops/Conv3D"

NAMES = Names(
    op=NAME,
    result="output",
    arguments={"input": "input", "filter": "filter"},
    words={"input": "input", "output": "output"},
    dimensions={"input": LARGE, "filter": FILTER, "output": SMALL},
)


class Attributes(RawAttributes):
    """The attributes of Conv3D, all in the data format's order."""

    rules = raw_attribute_rules(NAME)


Conv3D = OpDefinition(
    name=NAME,
    public="opspec.raw_ops:Conv3D",
    summary="A 3-D convolution: at each window, the sum of what its taps read.",
    reference="""\
Gathers, for each position o of the result, what the taps of the filter read there. With filter tap
t, per spatial dimension,

    i = o * stride + t * dilation - before

and over all taps for which 0 <= i < input size in all three:

    result[n, o, j] = sum over t and c of input[n, i, c] * filter[t, c, j]

The filter is not flipped: mathematically it is a cross-correlation. A tap that lies outside reads
nothing. The result has ceil(size / stride) positions for SAME; floor((size - span) / stride) + 1
for VALID, 0 if the size is below the span (kernel - 1) * dilation + 1. `before` is 0 for VALID; for
SAME it is half, rounded down, of what the windows lack, and never negative.

float16 and bfloat16 are summed in float32 and rounded once; NaN and Inf reach exactly the positions
whose taps read them.""",
    sources=(PAGE, "docs/semantics.md"),
    Attributes=Attributes,
    operands=(
        Operand("input", FLOATING, LARGE, "What is convolved."),
        Operand("filter", FLOATING, FILTER, "The filter; the same layout in both data formats."),
    ),
    sizes=None,
    operand_rules=operand_rules(NAMES),
    result="An array of the windows' sums, of the dtype of input, fresh and contiguous.",
    kernel=NAME,
    kernel_parameters=("geometry", "input", "filter"),
    kernel_operands=("input", "filter"),
    kernel_sides=("input", "filter"),
    result_side="output",
    infer_shape=partial(inferred_spec, names=NAMES),
    lower=partial(lowered, names=NAMES),
)
