"""The rules' cases of Conv3DBackpropFilterV2."""

from typing import Any

from opspec.conformance.generate.rule_case import (
    ATTRIBUTES_ARE_NAMED,
    INT32_MAX,
    NAME_IS_TEXT,
    RuleCase,
    RuleTable,
    fill,
    step_rules,
    value,
    zeros,
)

BASE: dict[str, Any] = {
    "input": fill(2, 4, 6, 5, 3),
    "filter_sizes": value([2, 3, 1, 3, 4]),
    "out_backprop": fill(2, 2, 6, 2, 4),
    "strides": value([1, 2, 1, 3, 1]),
    "padding": value("SAME"),
}
CHANNELS_SECOND: dict[str, Any] = {
    "input": fill(2, 3, 4, 6, 5),
    "out_backprop": fill(2, 4, 2, 6, 2),
    "strides": value([1, 1, 2, 1, 3]),
    "data_format": value("NCDHW"),
}
STRIDES = {
    "are_positive": {
        "strides": value([1, 1, 1, 1, 1]),
        "out_backprop": fill(2, 4, 6, 5, 4),
    },
    "fit_int32": {
        "strides": value([1, INT32_MAX, 1, 1, 1]),
        "out_backprop": fill(2, 1, 6, 5, 4),
    },
    "batch_and_channel_are_one": {
        **CHANNELS_SECOND,
        "strides": value([1, 1, 2, 3, 4]),
        "out_backprop": fill(2, 4, 2, 2, 2),
    },
}
DILATIONS = {
    "fit_int32": {"dilations": value([1, INT32_MAX, 1, 1, 1])},
    "batch_and_channel_are_one": {**CHANNELS_SECOND, "dilations": value([1, 1, 2, 3, 4])},
}
HUGE = 2**22

RULES = (
    ATTRIBUTES_ARE_NAMED,
    RuleCase(
        "padding.is_known",
        {"padding": value("same")},
        {"padding": value("VALID"), "out_backprop": fill(2, 2, 4, 2, 4)},
    ),
    RuleCase("data_format.is_known", {"data_format": value("NHWDC")}, CHANNELS_SECOND),
    *step_rules("strides", STRIDES),
    *step_rules("dilations", DILATIONS),
    NAME_IS_TEXT,
    RuleCase(
        "filter_sizes.are_integers",
        {"filter_sizes": value([2, 3, 1, 3.0, 4])},
        {"filter_sizes": {"array": [2, 3, 1, 3, 4], "dtype": "int64"}},
    ),
    RuleCase("filter_sizes.are_5", {"filter_sizes": value([3, 1, 3])}),
    RuleCase(
        "filter_sizes.fit_int64",
        {"filter_sizes": value([2**63, 3, 1, 3, 4])},
        {"filter_sizes": value([2**54, 3, 1, 3, 4])},
        accept_through="infer",
    ),
    RuleCase(
        "filter_sizes.are_not_negative",
        {"filter_sizes": value([2, 3, 1, 3, -1])},
        {"filter_sizes": value([2, 3, 1, 3, 0]), "out_backprop": fill(2, 2, 6, 2, 0)},
    ),
    RuleCase(
        "input.is_array",
        {"input": value([[1.0, 2.0], [3.0]])},
        {
            "input": value([[[[[1, 2, 3], [4, 5, 6]]]]]),
            "out_backprop": fill(1, 1, 1, 1, 4),
        },
    ),
    RuleCase(
        "out_backprop.is_array",
        {"out_backprop": value(None)},
        {
            "input": fill(1, 2, 1, 3, 3),
            "out_backprop": value([[[[[1, 2, 3, 4]]]]]),
        },
    ),
    RuleCase(
        "input.dtype_is_supported",
        {"input": zeros(2, 4, 6, 5, 3, dtype="int32")},
        {
            "input": fill(2, 4, 6, 5, 3, dtype="bfloat16"),
            "out_backprop": fill(2, 2, 6, 2, 4, dtype="bfloat16"),
        },
    ),
    RuleCase(
        "out_backprop.dtype_is_supported",
        {"out_backprop": zeros(2, 2, 6, 2, 4, dtype="complex64")},
        {
            "input": fill(2, 4, 6, 5, 3, dtype="float64"),
            "out_backprop": fill(2, 2, 6, 2, 4, dtype="float64"),
        },
    ),
    RuleCase(
        "out_backprop.dtype_equals_input",
        {"out_backprop": zeros(2, 2, 6, 2, 4, dtype="float64")},
        {
            "input": fill(2, 4, 6, 5, 3, dtype="float16"),
            "out_backprop": fill(2, 2, 6, 2, 4, dtype="float16"),
        },
    ),
    RuleCase("input.rank_is_5", {"input": zeros(4, 6, 5, 3)}),
    RuleCase("out_backprop.rank_is_5", {"out_backprop": zeros(1, 2, 2, 6, 2, 4)}),
    RuleCase(
        "filter_sizes.has_taps",
        {"filter_sizes": value([2, 0, 1, 3, 4])},
        {"filter_sizes": value([2, 1, 1, 3, 4])},
    ),
    RuleCase(
        "filter_sizes.makes_channels",
        {"filter_sizes": value([2, 3, 1, 0, 4]), "input": zeros(2, 4, 6, 5, 0)},
        {"filter_sizes": value([2, 3, 1, 1, 4]), "input": fill(2, 4, 6, 5, 1)},
    ),
    RuleCase("out_backprop.batch_equals_input", {"out_backprop": zeros(1, 2, 6, 2, 4)}),
    RuleCase(
        "filter_sizes.is_not_grouped",
        {"input": zeros(2, 4, 6, 5, 6)},
        {"input": fill(2, 4, 6, 5, 6), "filter_sizes": value([2, 3, 1, 6, 4])},
    ),
    RuleCase("filter_sizes.in_channels_equal_input", {"filter_sizes": value([2, 3, 1, 4, 4])}),
    RuleCase(
        "filter_sizes.out_channels_equal_out_backprop",
        {"filter_sizes": value([2, 3, 1, 3, 5])},
    ),
    RuleCase("out_backprop.spatial_sizes_fit", {"out_backprop": zeros(2, 3, 6, 2, 4)}),
    RuleCase(
        "filter_sizes.fit_memory",
        {
            "filter_sizes": value([HUGE, HUGE, 1, 1, 1]),
            "input": zeros(1, 1, 1, 1, 1),
            "out_backprop": zeros(1, 1, 1, 1, 1),
        },
        {
            "filter_sizes": value([1, 1, 1, 1, 1]),
            "input": fill(1, 1, 1, 1, 1),
            "out_backprop": fill(1, 1, 1, 1, 1),
        },
    ),
)

TABLE = RuleTable(BASE, RULES, {"counts": "5"})
