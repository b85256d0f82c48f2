"""The rules' cases of Conv3DBackpropInputV2, and of conv3d_transpose, which calls things otherwise.

The names of rules and arguments are written with these words:

    {sizes}  input_sizes    output_shape
    {filter} filter         filters
    {data}   out_backprop   input
"""

from typing import Any

from opspec.conformance.generate.rule_case import (
    ATTRIBUTES_ARE_NAMED,
    INT32_MAX,
    NAME_IS_TEXT,
    RuleCase,
    RuleTable,
    step_rules,
)
from opspec.conformance.generate.rule_case import value as _value

BASE: dict[str, Any] = {
    "{sizes}": {"value": [2, 4, 6, 5, 3]},
    "{filter}": {"fill": [2, 3, 1, 3, 4]},
    "{data}": {"fill": [2, 2, 6, 2, 4]},
    "strides": {"value": [1, 2, 1, 3, 1]},
    "padding": {"value": "SAME"},
}

NAMES = {
    "conv3d_backprop_input_v2": {
        "sizes": "input_sizes",
        "filter": "filter",
        "data": "out_backprop",
        "counts": "5",
    },
    "conv3d_transpose": {
        "sizes": "output_shape",
        "filter": "filters",
        "data": "input",
        "counts": "1_or_3_or_5",
    },
}


STRIDES = {
    "are_positive": {
        "strides": _value([1, 1, 1, 1, 1]),
        "{data}": {"fill": [2, 4, 6, 5, 4]},
    },
    "fit_int32": {
        "strides": _value([1, INT32_MAX, 1, 1, 1]),
        "{data}": {"fill": [2, 1, 6, 5, 4]},
    },
    "batch_and_channel_are_one": {
        "strides": _value([1, 1, 2, 3, 4]),
        "data_format": _value("NCDHW"),
        "{sizes}": _value([2, 3, 4, 6, 5]),
        "{data}": {"fill": [2, 4, 2, 2, 2]},
    },
}
DILATIONS = {
    "are_positive": {"dilations": _value([1, 1, 1, 1, 1])},
    "fit_int32": {"dilations": _value([1, INT32_MAX, 1, 1, 1])},
    "batch_and_channel_are_one": {
        "dilations": _value([1, 1, 2, 3, 4]),
        "strides": _value([1, 1, 2, 1, 3]),
        "data_format": _value("NCDHW"),
        "{sizes}": _value([2, 3, 4, 6, 5]),
        "{data}": {"fill": [2, 4, 2, 6, 2]},
    },
}

RULES: tuple[RuleCase, ...] = (
    ATTRIBUTES_ARE_NAMED,
    RuleCase(
        "padding.is_known",
        {"padding": _value("same")},
        {"padding": _value("VALID"), "{data}": {"fill": [2, 2, 4, 2, 4]}},
    ),
    RuleCase(
        "data_format.is_known",
        {"data_format": _value("NHWDC")},
        {
            "data_format": _value("NCDHW"),
            "{sizes}": _value([2, 3, 4, 6, 5]),
            "{data}": {"fill": [2, 4, 2, 6, 2]},
            "strides": _value([1, 1, 2, 1, 3]),
        },
    ),
    *step_rules("strides", STRIDES),
    *step_rules("dilations", DILATIONS),
    NAME_IS_TEXT,
    RuleCase(
        "{sizes}.are_integers",
        {"{sizes}": _value([2, 4, 6, 5.0, 3])},
        {"{sizes}": {"array": [2, 4, 6, 5, 3], "dtype": "int32"}},
    ),
    RuleCase("{sizes}.are_5", {"{sizes}": _value([4, 6, 5])}),
    RuleCase(
        "{sizes}.fit_int64",
        {"{sizes}": _value([2, 4, 2**63, 5, 3])},
        {
            "{sizes}": _value([0, 2**60, 1, 1, 1]),
            "strides": _value([1, INT32_MAX, 1, 1, 1]),
            "{filter}": {"fill": [2, 3, 1, 1, 4]},
            "{data}": {"zeros": [0, 2**29 + 1, 1, 1, 4], "dtype": "float32"},
        },
        accept_through="infer",
    ),
    RuleCase(
        "{sizes}.are_not_negative",
        {"{sizes}": _value([-1, 4, 6, 5, 3])},
        {"{sizes}": _value([0, 4, 6, 5, 3]), "{data}": {"fill": [0, 2, 6, 2, 4]}},
    ),
    RuleCase(
        "{filter}.is_array",
        {"{filter}": _value([[1.0, 2.0], [3.0]])},
        {
            "{filter}": _value([[[[[1, 2]]]]]),
            "{sizes}": _value([2, 4, 6, 5, 1]),
            "{data}": {"fill": [2, 2, 6, 2, 2]},
        },
    ),
    RuleCase(
        "{data}.is_array",
        {"{data}": _value(None)},
        {
            "{data}": _value([[[[[1, 2, 3, 4]]]]]),
            "{sizes}": _value([1, 2, 1, 3, 3]),
        },
    ),
    RuleCase(
        "{filter}.dtype_is_supported",
        {"{filter}": {"zeros": [2, 3, 1, 3, 4], "dtype": "int32"}},
        {
            "{filter}": {"fill": [2, 3, 1, 3, 4], "dtype": "bfloat16"},
            "{data}": {"fill": [2, 2, 6, 2, 4], "dtype": "bfloat16"},
        },
    ),
    RuleCase(
        "{data}.dtype_is_supported",
        {"{data}": {"zeros": [2, 2, 6, 2, 4], "dtype": "complex64"}},
        {
            "{filter}": {"fill": [2, 3, 1, 3, 4], "dtype": "float64"},
            "{data}": {"fill": [2, 2, 6, 2, 4], "dtype": "float64"},
        },
    ),
    RuleCase(
        "{data}.dtype_equals_{filter}",
        {"{data}": {"zeros": [2, 2, 6, 2, 4], "dtype": "float64"}},
        {
            "{filter}": {"fill": [2, 3, 1, 3, 4], "dtype": "float16"},
            "{data}": {"fill": [2, 2, 6, 2, 4], "dtype": "float16"},
        },
    ),
    RuleCase("{filter}.rank_is_5", {"{filter}": {"zeros": [3, 1, 3, 4], "dtype": "float32"}}),
    RuleCase("{data}.rank_is_5", {"{data}": {"zeros": [1, 2, 2, 6, 2, 4], "dtype": "float32"}}),
    RuleCase(
        "{filter}.has_taps",
        {"{filter}": {"zeros": [2, 0, 1, 3, 4], "dtype": "float32"}},
        {"{filter}": {"fill": [2, 1, 1, 3, 4]}},
    ),
    RuleCase(
        "{filter}.makes_channels",
        {
            "{filter}": {"zeros": [2, 3, 1, 0, 4], "dtype": "float32"},
            "{sizes}": _value([2, 4, 6, 5, 0]),
        },
        {"{filter}": {"fill": [2, 3, 1, 1, 4]}, "{sizes}": _value([2, 4, 6, 5, 1])},
    ),
    RuleCase("{sizes}.batch_equals_{data}", {"{sizes}": _value([1, 4, 6, 5, 3])}),
    RuleCase(
        "{filter}.is_not_grouped",
        {"{sizes}": _value([2, 4, 6, 5, 6])},
        {"{sizes}": _value([2, 4, 6, 5, 6]), "{filter}": {"fill": [2, 3, 1, 6, 4]}},
    ),
    RuleCase("{sizes}.channels_equal_{filter}", {"{sizes}": _value([2, 4, 6, 5, 4])}),
    RuleCase(
        "{data}.channels_equal_{filter}", {"{data}": {"zeros": [2, 2, 6, 2, 3], "dtype": "float32"}}
    ),
    RuleCase(
        "{data}.spatial_sizes_fit",
        {"{sizes}": _value([2, 5, 6, 5, 3])},
        {"{sizes}": _value([2, 3, 6, 6, 3])},
    ),
    RuleCase(
        "{sizes}.fit_memory",
        {
            "{sizes}": _value([1, 2**40, 2**40, 1, 1]),
            "strides": _value([1, INT32_MAX, INT32_MAX, 1, 1]),
            "{filter}": {"zeros": [1, 1, 1, 1, 1], "dtype": "float32"},
            "{data}": {"zeros": [1, 513, 513, 1, 1], "dtype": "float32"},
        },
        {
            "{sizes}": _value([1, 1, 1, 1, 1]),
            "strides": _value([1, 1, 1, 1, 1]),
            "{filter}": {"fill": [1, 1, 1, 1, 1]},
            "{data}": {"fill": [1, 1, 1, 1, 1]},
        },
    ),
)


TABLES = {folder: RuleTable(BASE, RULES, names) for folder, names in NAMES.items()}
