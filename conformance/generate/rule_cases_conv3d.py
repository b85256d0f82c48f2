"""The rules' cases of Conv3D."""

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
    "filter": fill(2, 3, 1, 3, 4),
    "strides": value([1, 2, 1, 3, 1]),
    "padding": value("SAME"),
}
CHANNELS_SECOND: dict[str, Any] = {
    "input": fill(2, 3, 4, 6, 5),
    "strides": value([1, 1, 2, 1, 3]),
    "data_format": value("NCDHW"),
}
STRIDES = {
    "fit_int32": {"strides": value([1, INT32_MAX, 1, 1, 1])},
    "batch_and_channel_are_one": {**CHANNELS_SECOND, "strides": value([1, 1, 2, 3, 4])},
}
DILATIONS = {
    "fit_int32": {"dilations": value([1, INT32_MAX, 1, 1, 1])},
    "batch_and_channel_are_one": {**CHANNELS_SECOND, "dilations": value([1, 1, 2, 3, 4])},
}
# Arrays that fit into memory, of which the result does not.
HUGE = 2**22

RULES = (
    ATTRIBUTES_ARE_NAMED,
    RuleCase("padding.is_known", {"padding": value("same")}, {"padding": value("VALID")}),
    RuleCase("data_format.is_known", {"data_format": value("NHWDC")}, CHANNELS_SECOND),
    *step_rules("strides", STRIDES),
    *step_rules("dilations", DILATIONS),
    NAME_IS_TEXT,
    RuleCase(
        "input.is_array",
        {"input": value([[1.0, 2.0], [3.0]])},
        {"input": value([[[[[1, 2, 3], [4, 5, 6]]]]])},
    ),
    RuleCase(
        "filter.is_array",
        {"filter": value(None)},
        {"filter": value([[[[[1, 2], [3, 4], [5, 6]]]]])},
    ),
    RuleCase(
        "input.dtype_is_supported",
        {"input": zeros(2, 4, 6, 5, 3, dtype="int32")},
        {
            "input": fill(2, 4, 6, 5, 3, dtype="bfloat16"),
            "filter": fill(2, 3, 1, 3, 4, dtype="bfloat16"),
        },
    ),
    RuleCase(
        "filter.dtype_is_supported",
        {"filter": zeros(2, 3, 1, 3, 4, dtype="complex64")},
        {
            "input": fill(2, 4, 6, 5, 3, dtype="float64"),
            "filter": fill(2, 3, 1, 3, 4, dtype="float64"),
        },
    ),
    RuleCase(
        "filter.dtype_equals_input",
        {"filter": zeros(2, 3, 1, 3, 4, dtype="float64")},
        {
            "input": fill(2, 4, 6, 5, 3, dtype="float16"),
            "filter": fill(2, 3, 1, 3, 4, dtype="float16"),
        },
    ),
    RuleCase("input.rank_is_5", {"input": zeros(4, 6, 5, 3)}),
    RuleCase("filter.rank_is_5", {"filter": zeros(1, 2, 3, 1, 3, 4)}),
    RuleCase("filter.has_taps", {"filter": zeros(2, 0, 1, 3, 4)}, {"filter": fill(2, 1, 1, 3, 4)}),
    RuleCase(
        "filter.makes_channels",
        {"input": zeros(2, 4, 6, 5, 0), "filter": zeros(2, 3, 1, 0, 4)},
        {"input": fill(2, 4, 6, 5, 1), "filter": fill(2, 3, 1, 1, 4)},
    ),
    RuleCase(
        "filter.is_not_grouped",
        {"input": zeros(2, 4, 6, 5, 6)},
        {"input": fill(2, 4, 6, 5, 6), "filter": fill(2, 3, 1, 6, 4)},
    ),
    RuleCase("input.channels_equal_filter", {"input": zeros(2, 4, 6, 5, 4)}),
    RuleCase(
        "result.fits_memory",
        {
            "input": zeros(1, HUGE, 1, 1, 1),
            "filter": zeros(1, 1, 1, 1, HUGE),
            "strides": value([1, 1, 1, 1, 1]),
        },
        {"input": fill(1, 1, 1, 1, 1), "filter": fill(1, 1, 1, 1, 1)},
    ),
)

TABLE = RuleTable(BASE, RULES, {"counts": "5"})
