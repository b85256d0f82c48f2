"""The attributes of the raw 3-D convolutions, and what their dimensions mean."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from opspec.attributes import AttributesModel
from opspec.geometry import DATA_FORMATS
from opspec.rule import Rule
from opspec.rules import INT32_MAX, known_integers
from opspec.step_rules import StepSpelling, attribute_rules

Dimensions = dict[str, tuple[str, ...]]

LARGE: Dimensions = {
    "NDHWC": ("batch", "depth", "rows", "cols", "in_channels"),
    "NCDHW": ("batch", "in_channels", "depth", "rows", "cols"),
}
SMALL: Dimensions = {
    "NDHWC": ("batch", "out_depth", "out_rows", "out_cols", "out_channels"),
    "NCDHW": ("batch", "out_channels", "out_depth", "out_rows", "out_cols"),
}
# The same in both data formats.
FILTER: Dimensions = dict.fromkeys(
    DATA_FORMATS, ("depth", "rows", "cols", "in_channels", "out_channels")
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


class RawAttributes(AttributesModel):
    """The attributes of a raw 3-D convolution, all in the data format's order."""

    strides: FiveSteps = Field(
        description="Step of the window in each dimension; 1 for batch and channels."
    )
    padding: Literal["SAME", "VALID"] = Field(
        description="SAME gives every stride a window, VALID only windows that lie inside."
    )
    data_format: Literal["NDHWC", "NCDHW"] = Field(
        "NDHWC", description="Layout of both sides that are no filter."
    )
    dilations: FiveSteps = Field(
        (1, 1, 1, 1, 1), description="Step between filter taps in each dimension."
    )

    @classmethod
    def canonical(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Turn strides and dilations into tuples of int."""
        return {
            **given,
            "strides": tuple(known_integers(given["strides"])),
            "dilations": tuple(known_integers(given["dilations"])),
        }


def raw_attribute_rules(op: str) -> tuple[Rule, ...]:
    """Make the rules of these attributes, in their order."""
    return attribute_rules(
        op,
        required=("strides", "padding"),
        data_formats=DATA_FORMATS,
        steps=StepSpelling((5,), scalar=False, source="docs/semantics.md §3.8"),
    )
