"""The operation conv3d_transpose: Conv3DBackpropInputV2 as a layer's forward step."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from opspec.attributes import AttributesModel
from opspec.convolution import Names, inferred_spec, lowered
from opspec.convolution_rules import operand_rules
from opspec.definition import OpDefinition, Operand
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS, channel_axis
from opspec.ops.conv3d_backprop_input_v2 import Conv3DBackpropInputV2
from opspec.rules import INT32_MAX, known_integers, one_integer
from opspec.step_rules import StepSpelling, attribute_rules

NAME = "conv3d_transpose"
PAGE = "https://www.tensorflow.org/api_docs/python/tf/nn/conv3d_transpose"

INPUT = {
    "NDHWC": ("batch", "depth", "height", "width", "in_channels"),
    "NCDHW": ("batch", "in_channels", "depth", "height", "width"),
}
OUTPUT = {
    "NDHWC": ("batch", "depth", "height", "width", "output_channels"),
    "NCDHW": ("batch", "output_channels", "depth", "height", "width"),
}
FILTERS = ("depth", "height", "width", "output_channels", "in_channels")

NAMES = Names(
    op=NAME,
    result="input",
    arguments={
        "input": "output_shape",
        "filter": "filters",
        "output": "input",
    },
    words={"input": "output", "output": "input"},
    dimensions={
        "input": OUTPUT,
        "filter": dict.fromkeys(DATA_FORMATS, FILTERS),
        "output": INPUT,
    },
)

_STEP = {"type": "integer", "minimum": 1, "maximum": INT32_MAX}
Steps = Annotated[
    tuple[int, int, int, int, int],
    WithJsonSchema(
        {
            "anyOf": [
                _STEP,
                *(
                    {"type": "array", "items": _STEP, "minItems": count, "maxItems": count}
                    for count in (1, 3, 5)
                ),
                {"type": "null"},
            ]
        }
    ),
]


class Attributes(AttributesModel):
    """The attributes of conv3d_transpose, held in full: five steps in the data format's order."""

    strides: Steps = Field(
        description="Step of the window: one for all three spatial dimensions, one for each, or "
        "all five in the data format's order; None is 1."
    )
    padding: Literal["SAME", "VALID"] = Field(
        "SAME", description="SAME gives every stride a window, VALID only windows that lie inside."
    )
    data_format: Annotated[
        Literal["NDHWC", "NCDHW"], WithJsonSchema({"enum": ["NDHWC", "NCDHW", None]})
    ] = Field("NDHWC", description="Layout of input and of the result; None is NDHWC.")
    dilations: Steps | None = Field(
        None, description="Step between filter taps, spelled like strides; None is 1."
    )

    rules = attribute_rules(
        NAME,
        required=("strides",),
        data_formats=(*DATA_FORMATS, None),
        steps=StepSpelling((1, 3, 5), scalar=True, source="docs/semantics.md §2"),
    )

    @classmethod
    def canonical(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Write every spelling out as five steps in the data format's order."""
        data_format = given["data_format"] or "NDHWC"
        return {
            "strides": _five_steps(given["strides"], data_format),
            "padding": given["padding"],
            "data_format": data_format,
            "dilations": _five_steps(given["dilations"], data_format),
        }


def _five_steps(steps: object, data_format: str) -> tuple[int, ...]:
    single = 1 if steps is None else one_integer(steps)
    given = (single,) if single is not None else tuple(known_integers(steps))
    if len(given) == 5:
        return given
    spatial = given * 3 if len(given) == 1 else given
    return (1, 1, *spatial) if channel_axis(data_format) == 1 else (1, *spatial, 1)


Conv3DTranspose = OpDefinition(
    name=NAME,
    public="opspec.nn:conv3d_transpose",
    summary="The transpose of a 3-D convolution, often called a deconvolution.",
    reference="""\
Spreads each position of `input` over the positions of the result that the filter reaches from it:
with position o of `input` and filter tap t, per spatial dimension,

    i = o * stride + t * dilation - before

and wherever 0 <= i < output size in all three:

    result[n, i, c] += sum over j of input[n, o, j] * filters[t, c, j]

It is the gradient (transpose) of a convolution, not the inverse of one. `output_shape` decides: for
one input size several output sizes are legal, and they differ in values. With S positions of
`input`: SAME takes (S - 1) * stride < size <= S * stride; VALID takes (S - 1) * stride + span <=
size <= S * stride + span - 1, where span = (kernel - 1) * dilation + 1.

It lowers to Conv3DBackpropInputV2 with input_sizes = output_shape, filter = filters and
out_backprop = input; the same kernels compute both.""",
    sources=(PAGE, "docs/semantics.md"),
    Attributes=Attributes,
    operands=(
        Operand("input", FLOATING, INPUT, "The array to spread."),
        Operand(
            "filters",
            FLOATING,
            {"NDHWC": FILTERS, "NCDHW": FILTERS},
            "The filter; the same layout in both data formats, output channels before input ones.",
        ),
        Operand(
            "output_shape",
            ("int32", "int64"),
            OUTPUT,
            "Shape of the result, in the data format's order.",
        ),
    ),
    sizes="output_shape",
    operand_rules=operand_rules(NAMES),
    result="An array of shape output_shape and the dtype of input, fresh and contiguous.",
    kernel=Conv3DBackpropInputV2.name,
    kernel_parameters=Conv3DBackpropInputV2.kernel_parameters,
    kernel_operands=("filters", "input"),
    kernel_sides=("filter", "output"),
    result_side="input",
    infer_shape=partial(inferred_spec, names=NAMES),
    lower=partial(lowered, names=NAMES),
)
