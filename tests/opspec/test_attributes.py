"""The attributes models: every legal spelling, one canonical form, and errors that are ours."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from opspec import ops
from opspec.attributes import AttributesModel
from opspec.errors import OpError, OpTypeError

Transpose = ops.get("conv3d_transpose").Attributes
Backprop = ops.get("Conv3DBackpropInputV2").Attributes


class Two:
    """An integer by `__index__` only."""

    def __index__(self) -> int:
        return 2


class Broken:
    """Something whose `__index__` fails in its own way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __index__(self) -> int:
        raise self.error


ONE_FOR_ALL = [
    2,
    np.int8(2),
    np.int64(2),
    np.uint64(2),
    Two(),
    [2],
    (2,),
    range(2, 3),
    np.array(2),
    np.array([2]),
    [2, 2, 2],
    (2, 2, 2),
    [np.int64(2), 2, Two()],
    np.array([2, 2, 2], np.int32),
    np.array([2, 2, 2], np.int64),
    np.array([2, 2, 2], ">i4"),
    np.array([2, 2, 2], np.uint8),
    [1, 2, 2, 2, 1],
    (1, 2, 2, 2, 1),
    np.array([1, 2, 2, 2, 1], np.int32),
    np.array([1, 1, 2, 1, 2, 1, 2, 1, 1, 1])[::2],
]

BACKPROP_SPELLINGS = [
    [1, 2, 3, 4, 1],
    (1, 2, 3, 4, 1),
    [np.int64(1), 2, np.int32(3), 4, 1],
    np.array([1, 2, 3, 4, 1], np.int32),
    np.array([1, 2, 3, 4, 1], np.int64),
    np.array([1, 2, 3, 4, 1], ">i8"),
    np.array([1, 2, 3, 4, 1], np.uint64),
    np.array([1, 4, 3, 2, 1])[::-1],
]

NO_STEPS: list[Any] = [
    2.0,
    "2",
    b"2",
    True,
    np.True_,
    np.float64(2),
    float("nan"),
    2j,
    {2},
    {2: 2},
    iter([2, 2, 2]),
    [2.0, 2, 2],
    [2, True, 2],
    [2, np.True_, 2],
    [2, "2", 2],
    [2, None, 2],
    [[2, 2, 2]],
    np.array([2.0, 2.0, 2.0]),
    np.array([True, True, True]),
    np.array([[2, 2, 2]]),
    np.array([2, 2, 2], object),
    np.array(["2", "2", "2"]),
    np.array([2, 2, 2], "m8[s]"),
    np.datetime64(2, "D"),
    memoryview(b"222"),
    object(),
    int,
]


@pytest.mark.parametrize("steps", ONE_FOR_ALL, ids=repr)
@pytest.mark.parametrize("attribute", ["strides", "dilations"])
def test_every_spelling_of_one_step_is_held_in_full(attribute: str, steps: Any) -> None:
    model: Any = Transpose(**{"strides": 1, attribute: steps})
    held = getattr(model, attribute)
    assert held == (1, 2, 2, 2, 1)
    assert [type(step) for step in held] == [int] * 5


@pytest.mark.parametrize(
    ("steps", "data_format", "held"),
    [
        (3, "NDHWC", (1, 3, 3, 3, 1)),
        (3, "NCDHW", (1, 1, 3, 3, 3)),
        (3, None, (1, 3, 3, 3, 1)),
        ([2, 3, 4], "NDHWC", (1, 2, 3, 4, 1)),
        ([2, 3, 4], "NCDHW", (1, 1, 2, 3, 4)),
        (range(2, 5), "NCDHW", (1, 1, 2, 3, 4)),
        ([1, 2, 3, 4, 1], "NDHWC", (1, 2, 3, 4, 1)),
        ([1, 1, 2, 3, 4], "NCDHW", (1, 1, 2, 3, 4)),
        (None, "NDHWC", (1, 1, 1, 1, 1)),
        (None, "NCDHW", (1, 1, 1, 1, 1)),
        (2**31 - 1, "NDHWC", (1, 2**31 - 1, 2**31 - 1, 2**31 - 1, 1)),
    ],
)
def test_steps_are_held_in_the_order_of_the_data_format(
    steps: Any, data_format: str | None, held: tuple[int, ...]
) -> None:
    model: Any = Transpose(strides=steps, dilations=steps, data_format=data_format)
    assert model.strides == held
    assert model.dilations == held
    assert model.data_format == (data_format or "NDHWC")


def test_what_is_left_out_takes_tensorflows_default() -> None:
    transpose: Any = Transpose(strides=2)
    assert (transpose.padding, transpose.data_format) == ("SAME", "NDHWC")
    assert transpose.dilations == (1, 1, 1, 1, 1)
    backprop: Any = Backprop(strides=[1, 2, 2, 2, 1], padding="VALID")
    assert backprop.data_format == "NDHWC"
    assert backprop.dilations == (1, 1, 1, 1, 1)


@pytest.mark.parametrize("steps", BACKPROP_SPELLINGS, ids=repr)
def test_the_raw_operation_takes_five_steps_however_they_are_held(steps: Any) -> None:
    model: Any = Backprop(strides=steps, padding="SAME", dilations=steps)
    assert model.strides == model.dilations == (1, 2, 3, 4, 1)
    assert [type(step) for step in model.strides] == [int] * 5


@pytest.mark.parametrize("steps", [2, None, np.int64(2), Two(), np.array(2), 0, -1])
@pytest.mark.parametrize("attribute", ["strides", "dilations"])
def test_the_raw_operation_takes_no_single_step(attribute: str, steps: Any) -> None:
    with pytest.raises(OpTypeError) as caught:
        Backprop(**{"strides": [1] * 5, "padding": "SAME", attribute: steps})
    assert caught.value.rule == f"Conv3DBackpropInputV2.{attribute}.are_integers"
    assert caught.value.allowed == "a list, tuple or 1-D array of 5 integers"


@pytest.mark.parametrize("steps", NO_STEPS, ids=lambda steps: type(steps).__name__)
@pytest.mark.parametrize("attribute", ["strides", "dilations"])
@pytest.mark.parametrize("model", [Transpose, Backprop])
def test_what_is_no_integer_is_refused_as_a_type(
    model: type[AttributesModel], attribute: str, steps: Any
) -> None:
    given = {"strides": [1] * 5, "padding": "SAME", attribute: steps}
    with pytest.raises(OpTypeError) as caught:
        model(**given)
    assert caught.value.rule.endswith(f".{attribute}.are_integers")
    assert caught.value.argument == attribute


@pytest.mark.parametrize("count", [0, 2, 4, 6, 100])
def test_a_sequence_of_steps_has_one_three_or_five_entries(count: int) -> None:
    for steps in ([1] * count, (1,) * count, np.ones(count, np.int64)):
        with pytest.raises(OpError) as caught:
            Transpose(strides=steps)
        assert caught.value.rule == "conv3d_transpose.strides.are_1_or_3_or_5"
        assert caught.value.given.startswith(f"{count}: [")
        assert caught.value.allowed == "1 or 3 or 5 entries"


@pytest.mark.parametrize("count", [0, 1, 3, 4, 6])
def test_a_sequence_of_raw_steps_has_five_entries(count: int) -> None:
    with pytest.raises(OpError) as caught:
        Backprop(strides=[1] * count, padding="SAME")
    assert caught.value.rule == "Conv3DBackpropInputV2.strides.are_5"
    assert caught.value.allowed == "5 entries"


@pytest.mark.parametrize(
    ("strides", "label"),
    [
        (0, "are_positive"),
        (-(2**70), "are_positive"),
        ([1, 0, 1], "are_positive"),
        ([1, 1, 1, 1, 0], "are_positive"),
        (2**31, "fit_int32"),
        (2**64 + 2, "fit_int32"),
        (np.array([2**63, 1, 1], np.uint64), "fit_int32"),
        ([2, 1, 1, 1, 1], "batch_and_channel_are_one"),
        ([1, 1, 1, 1, 2], "batch_and_channel_are_one"),
    ],
)
def test_steps_out_of_range_break_the_rule_about_it(strides: Any, label: str) -> None:
    with pytest.raises(OpError) as caught:
        Transpose(strides=strides)
    assert caught.value.rule == f"conv3d_transpose.strides.{label}"


@pytest.mark.parametrize(
    ("data_format", "good", "bad"),
    [("NDHWC", [1, 2, 2, 2, 1], [1, 1, 2, 2, 2]), ("NCDHW", [1, 1, 2, 2, 2], [1, 2, 2, 2, 1])],
)
@pytest.mark.parametrize("model", [Transpose, Backprop])
def test_the_channel_step_is_one_where_the_data_format_puts_it(
    model: type[AttributesModel], data_format: str, good: list[int], bad: list[int]
) -> None:
    held: Any = model(strides=good, padding="SAME", data_format=data_format)
    assert held.strides == tuple(good)
    with pytest.raises(OpError) as caught:
        model(strides=bad, padding="SAME", data_format=data_format)
    assert caught.value.rule.endswith(".strides.batch_and_channel_are_one")
    assert f"in {data_format} order" in caught.value.given


@pytest.mark.parametrize(
    "padding", ["same", "Same", "SAME ", " SAME", "", "VALID\n", "EXPLICIT", "FULL", None]
)
@pytest.mark.parametrize("model", [Transpose, Backprop])
def test_padding_is_one_of_two_words_exactly(
    model: type[AttributesModel], padding: str | None
) -> None:
    with pytest.raises(OpError) as caught:
        model(strides=[1] * 5, padding=padding)
    assert caught.value.rule.endswith(".padding.is_known")
    assert caught.value.given == repr(padding)
    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize("data_format", ["ndhwc", "NHWC", "NDHCW", "", "DHWC"])
@pytest.mark.parametrize("model", [Transpose, Backprop])
def test_data_format_is_one_of_two_words_exactly(
    model: type[AttributesModel], data_format: str
) -> None:
    with pytest.raises(OpError) as caught:
        model(strides=[1] * 5, padding="SAME", data_format=data_format)
    assert caught.value.rule.endswith(".data_format.is_known")


def test_a_word_in_the_wrong_case_is_told_its_right_case() -> None:
    with pytest.raises(OpError) as caught:
        Transpose(strides=1, padding="same")
    assert caught.value.hint == "padding is case-sensitive: write 'SAME'"
    with pytest.raises(OpError) as caught:
        Transpose(strides=1, data_format="ncdhw")
    assert caught.value.hint == "data_format is case-sensitive: write 'NCDHW'"


@pytest.mark.parametrize("word", [1, True, b"SAME", ["SAME"], {}, np.array("SAME"), object()])
@pytest.mark.parametrize("attribute", ["padding", "data_format"])
def test_a_word_that_is_no_text_is_refused_as_a_type(attribute: str, word: Any) -> None:
    with pytest.raises(OpTypeError) as caught:
        Transpose(**{"strides": 1, attribute: word})
    assert caught.value.argument == attribute


def test_no_data_format_is_ndhwc_for_the_transpose_only() -> None:
    held: Any = Transpose(strides=1, data_format=None)
    assert held.data_format == "NDHWC"
    with pytest.raises(OpError) as caught:
        Backprop(strides=[1] * 5, padding="SAME", data_format=None)
    assert caught.value.rule == "Conv3DBackpropInputV2.data_format.is_known"


def test_instances_cannot_be_changed() -> None:
    model: Any = Transpose(strides=2)
    with pytest.raises(ValidationError, match="frozen"):
        model.strides = (1, 3, 3, 3, 1)
    with pytest.raises(ValidationError, match="frozen"):
        del model.padding
    with pytest.raises(ValidationError, match="frozen"):
        model.other = 1
    assert model.strides == (1, 2, 2, 2, 1)


def test_equal_meaning_is_equal_and_hashes_alike() -> None:
    spellings = [Transpose(strides=steps) for steps in ONE_FOR_ALL]
    assert len(set(spellings)) == 1
    assert Transpose(strides=2, dilations=None) == Transpose(strides=2, dilations=(1, 1, 1))
    assert Transpose(strides=2) != Transpose(strides=3)
    assert Transpose(strides=2) != Transpose(strides=2, padding="VALID")
    assert Transpose(strides=[1, 1, 1, 1, 1]) != Transpose(strides=1, data_format="NCDHW")


def test_models_of_two_operations_are_never_equal() -> None:
    given: dict[str, Any] = {"strides": [1, 2, 2, 2, 1], "padding": "SAME"}
    assert Transpose(**given) != Backprop(**given)


def test_instances_survive_pickling_and_copying() -> None:
    model = Transpose(strides=[2, 3, 4], data_format="NCDHW", padding="VALID", dilations=5)
    assert pickle.loads(pickle.dumps(model)) == model
    assert copy.deepcopy(model) == copy.copy(model) == model


def test_json_holds_the_canonical_values() -> None:
    model = Transpose(strides=np.array([2, 3, 4]), data_format="NCDHW", dilations=None)
    assert json.loads(model.model_dump_json()) == {
        "strides": [1, 1, 2, 3, 4],
        "padding": "SAME",
        "data_format": "NCDHW",
        "dilations": [1, 1, 1, 1, 1],
    }


@pytest.mark.parametrize(
    "model",
    [
        Transpose(strides=1),
        Transpose(strides=[2, 3, 4], data_format="NCDHW", dilations=[4, 3, 2]),
        Transpose(strides=2**31 - 1, padding="VALID", data_format=None),
        Backprop(strides=[1, 2, 3, 4, 1], padding="VALID"),
        Backprop(
            strides=[1, 1, 2, 3, 4],
            padding="SAME",
            data_format="NCDHW",
            dilations=np.array([1, 1, 5, 6, 7]),
        ),
    ],
    ids=repr,
)
def test_a_model_comes_back_from_json_and_from_its_dump(model: AttributesModel) -> None:
    kind = type(model)
    assert kind.model_validate_json(model.model_dump_json()) == model
    assert kind.model_validate_json(model.model_dump_json().encode()) == model
    assert kind.model_validate(model.model_dump()) == model
    assert kind.model_validate(json.loads(json.dumps(model.model_dump()))) == model
    assert kind.model_validate(model) == model
    assert kind(**model.model_dump()) == model


def test_json_takes_every_spelling_that_json_has() -> None:
    assert Transpose.model_validate_json('{"strides": 2}') == Transpose(strides=2)
    written = '{"strides": [2, 3, 4], "dilations": null, "data_format": null}'
    assert Transpose.model_validate_json(written) == Transpose(strides=[2, 3, 4])
    assert Transpose.model_validate_json(bytearray(b'{"strides": null}')) == Transpose(strides=None)


@pytest.mark.parametrize(
    "text", ["", "{", "no json", '{"strides": 2', '{"strides": 2,}', b"\xff\xfe", "{'strides': 2}"]
)
@pytest.mark.parametrize("model", [Transpose, Backprop])
def test_text_that_is_no_json_is_an_error_of_ours(
    model: type[AttributesModel], text: str | bytes
) -> None:
    with pytest.raises(OpError) as caught:
        model.model_validate_json(text)
    assert caught.value.rule.endswith(".attributes.are_named")
    assert caught.value.allowed == "a JSON object"
    assert "Invalid JSON" in caught.value.given


@pytest.mark.parametrize("text", ["[]", "null", "5", '"strides"', "[2]", "true"])
def test_json_that_is_no_object_is_refused_as_a_type(text: str) -> None:
    with pytest.raises(OpTypeError) as caught:
        Transpose.model_validate_json(text)
    assert caught.value.rule == "conv3d_transpose.attributes.are_named"


@pytest.mark.parametrize("given", [None, 5, "strides", [], [("strides", 2)], (2,), object()])
def test_what_is_no_mapping_is_refused_as_a_type(given: Any) -> None:
    with pytest.raises(OpTypeError) as caught:
        Transpose.model_validate(given)
    assert caught.value.rule == "conv3d_transpose.attributes.are_named"


def test_a_model_of_another_operation_is_refused() -> None:
    other = Backprop(strides=[1] * 5, padding="SAME")
    with pytest.raises(OpTypeError) as caught:
        Transpose.model_validate(other)
    assert caught.value.rule == "conv3d_transpose.attributes.are_named"


def test_unknown_names_are_named() -> None:
    with pytest.raises(OpError) as caught:
        Transpose(strides=2, stride=2, pad="SAME")
    assert caught.value.rule == "conv3d_transpose.attributes.are_named"
    assert caught.value.given == "unknown pad, stride"
    assert caught.value.allowed == "strides, padding, data_format, dilations (strides required)"


def test_missing_names_are_named() -> None:
    with pytest.raises(OpError) as caught:
        Backprop()
    assert caught.value.given == "no strides, padding"
    with pytest.raises(OpError) as caught:
        Backprop(strides=[1] * 5)
    assert caught.value.given == "no padding"
    with pytest.raises(OpError) as caught:
        Transpose(padding="SAME")
    assert caught.value.given == "no strides"


def test_names_that_are_no_text_are_refused_by_the_rule_about_names() -> None:
    with pytest.raises(OpError) as caught:
        Transpose.model_validate({"strides": 2, 1: 2})
    assert caught.value.rule == "conv3d_transpose.attributes.are_named"
    assert caught.value.given == "unknown 1"


WRONG: list[Callable[[], object]] = [
    lambda: Transpose(),
    lambda: Transpose(strides="2"),
    lambda: Transpose(strides=2, padding="same"),
    lambda: Transpose(strides=2, foo=1),
    lambda: Transpose(strides=[1, 2]),
    lambda: Transpose.model_validate(None),
    lambda: Transpose.model_validate({"strides": 2.5}),
    lambda: Transpose.model_validate({"strides": 2.5}, strict=True),
    lambda: Transpose.model_validate_json("{"),
    lambda: Transpose.model_validate_json('{"strides": NaN}'),
    lambda: Transpose.model_validate_json('{"strides": 1e400}'),
    lambda: Transpose.model_validate_json('{"strides": ' + "[" * 500 + "]" * 500 + "}"),
    lambda: Transpose.model_validate_json('{"strides": ' + "9" * 5000 + "}"),
    lambda: Transpose.model_validate_json('{"strides": 2, "padding": "\\ud800"}'),
    lambda: Transpose.model_validate_strings({"strides": "2"}),
    lambda: Backprop(strides=[1] * 5, padding=None),
    lambda: Transpose(strides=10**5000),
    lambda: Transpose(strides=[1, 10**5000, 1]),
    lambda: Transpose(strides=Broken(ValueError("own"))),
    lambda: Transpose(strides=Broken(AssertionError("own"))),
]


@pytest.mark.parametrize("attempt", WRONG)
def test_pydantics_own_text_never_reaches_a_caller(attempt: Callable[[], object]) -> None:
    with pytest.raises(OpError) as caught:
        attempt()
    text = str(caught.value)
    for foreign in ("validation error", "pydantic", "Value error", "input_value", "type="):
        assert foreign not in text
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("error", [ValueError("own"), RuntimeError("own"), OverflowError("own")])
@pytest.mark.parametrize("attribute", ["strides", "dilations"])
def test_an_index_method_that_fails_makes_no_integer(attribute: str, error: Exception) -> None:
    for steps in (Broken(error), [Broken(error)] * 3):
        with pytest.raises(OpTypeError) as caught:
            Transpose(**{"strides": 1, attribute: steps})
        assert caught.value.rule == f"conv3d_transpose.{attribute}.are_integers"


@pytest.mark.parametrize("steps", [10**5000, [1, 10**5000, 1]], ids=["one", "three"])
def test_a_number_too_long_to_print_breaks_the_rule_about_size(steps: Any) -> None:
    with pytest.raises(OpError) as caught:
        Transpose(strides=steps)
    assert caught.value.rule == "conv3d_transpose.strides.fit_int32"


def test_steps_with_a_mask_are_refused() -> None:
    masked: Any = np.ma.array([1, 2, 3], mask=[False, True, False])
    with pytest.raises(OpTypeError) as caught:
        Transpose(strides=masked)
    assert caught.value.rule == "conv3d_transpose.strides.are_integers"


def test_a_long_range_is_refused_by_its_length_and_never_listed() -> None:
    with pytest.raises(OpError) as caught:
        Transpose(strides=range(1, 200_000_000))
    assert caught.value.rule == "conv3d_transpose.strides.are_1_or_3_or_5"


# JSON Schema: a reader of just the keywords that the two schemas use.


def allows(schema: dict[str, Any], instance: Any) -> bool:
    known = {
        "type", "anyOf", "enum", "minimum", "maximum", "items", "minItems", "maxItems",
        "properties", "required", "additionalProperties", "description", "title", "default",
    }  # fmt: skip
    assert schema.keys() <= known, f"this reader does not know {schema.keys() - known}"
    checks = [
        "anyOf" not in schema or any(allows(part, instance) for part in schema.get("anyOf", ())),
        "enum" not in schema or instance in schema.get("enum", ()),
        "type" not in schema or is_of_type(schema["type"], instance),
    ]
    if isinstance(instance, int) and not isinstance(instance, bool):
        checks += [schema.get("minimum", instance) <= instance <= schema.get("maximum", instance)]
    if isinstance(instance, list):
        fewest, most = schema.get("minItems", 0), schema.get("maxItems", len(instance))
        checks += [fewest <= len(instance) <= most]
        checks += [allows(schema.get("items", {}), item) for item in instance]
    if isinstance(instance, dict):
        properties = schema.get("properties", {})
        checks += [name in instance for name in schema.get("required", ())]
        checks += [allows(properties.get(name, {}), value) for name, value in instance.items()]
        if schema.get("additionalProperties") is False:
            checks += [instance.keys() <= properties.keys()]
    return all(checks)


def is_of_type(name: str, instance: Any) -> bool:
    kinds: dict[str, Any] = {
        "object": dict, "array": list, "string": str, "null": type(None), "integer": int,
    }  # fmt: skip
    return isinstance(instance, kinds[name]) and not isinstance(instance, bool)


TRANSPOSE_DOCUMENTS: list[tuple[dict[str, Any], bool]] = [
    ({"strides": 2}, True),
    ({"strides": None}, True),
    ({"strides": [2]}, True),
    ({"strides": [2, 2, 2]}, True),
    ({"strides": [1, 2, 2, 2, 1]}, True),
    ({"strides": 2147483647}, True),
    ({"strides": 2, "dilations": None, "data_format": None}, True),
    ({"strides": 2, "padding": "VALID", "data_format": "NCDHW", "dilations": [1, 2, 3]}, True),
    ({}, False),
    ({"padding": "SAME"}, False),
    ({"strides": 0}, False),
    ({"strides": 2147483648}, False),
    ({"strides": []}, False),
    ({"strides": [2, 2]}, False),
    ({"strides": [1, 2, 2, 1]}, False),
    ({"strides": [1] * 6}, False),
    ({"strides": [1, 0, 1]}, False),
    ({"strides": "2"}, False),
    ({"strides": True}, False),
    ({"strides": [2, None, 2]}, False),
    ({"strides": 2, "padding": "same"}, False),
    ({"strides": 2, "padding": None}, False),
    ({"strides": 2, "data_format": "NHWC"}, False),
    ({"strides": 2, "dilations": 0}, False),
    ({"strides": 2, "name": "n"}, False),
]

BACKPROP_DOCUMENTS: list[tuple[dict[str, Any], bool]] = [
    ({"strides": [1, 2, 2, 2, 1], "padding": "SAME"}, True),
    ({"strides": [1, 1, 2, 2, 2], "padding": "VALID", "data_format": "NCDHW"}, True),
    ({"strides": [1] * 5, "padding": "VALID", "dilations": [1, 2, 3, 2147483647, 1]}, True),
    ({"strides": [1] * 5}, False),
    ({"padding": "SAME"}, False),
    ({"strides": 2, "padding": "SAME"}, False),
    ({"strides": None, "padding": "SAME"}, False),
    ({"strides": [1] * 4, "padding": "SAME"}, False),
    ({"strides": [1] * 6, "padding": "SAME"}, False),
    ({"strides": [1, 0, 1, 1, 1], "padding": "SAME"}, False),
    ({"strides": [1, 2147483648, 1, 1, 1], "padding": "SAME"}, False),
    ({"strides": [1] * 5, "padding": "valid"}, False),
    ({"strides": [1] * 5, "padding": "SAME", "data_format": None}, False),
    ({"strides": [1] * 5, "padding": "SAME", "dilations": None}, False),
    ({"strides": [1] * 5, "padding": "SAME", "input_sizes": [1] * 5}, False),
]


@pytest.mark.parametrize(
    ("model", "document", "legal"),
    [(Transpose, *pair) for pair in TRANSPOSE_DOCUMENTS]
    + [(Backprop, *pair) for pair in BACKPROP_DOCUMENTS],
    ids=str,
)
def test_the_json_schema_and_the_rules_agree_about_a_document(
    model: type[AttributesModel], document: dict[str, Any], legal: bool
) -> None:
    assert allows(model.model_json_schema(), document) is legal
    if legal:
        assert isinstance(model.model_validate(document), model)
    else:
        with pytest.raises(OpError):
            model.model_validate(document)


@pytest.mark.parametrize("model", [Transpose, Backprop])
def test_every_attribute_in_the_schema_is_described(model: type[AttributesModel]) -> None:
    properties = model.model_json_schema()["properties"]
    assert list(properties) == ["strides", "padding", "data_format", "dilations"]
    for entry in properties.values():
        assert entry["description"].endswith(".")


def test_the_defaults_in_the_schema_are_tensorflows() -> None:
    transpose = Transpose.model_json_schema()["properties"]
    assert transpose["padding"]["default"] == "SAME"
    assert transpose["data_format"]["default"] == "NDHWC"
    assert transpose["dilations"]["default"] is None
    backprop = Backprop.model_json_schema()["properties"]
    assert "default" not in backprop["padding"]
    assert backprop["data_format"]["default"] == "NDHWC"
    assert list(backprop["dilations"]["default"]) == [1, 1, 1, 1, 1]


def test_what_a_model_writes_is_legal_by_its_own_schema() -> None:
    for model in (
        Transpose(strides=2, data_format="NCDHW"),
        Backprop(strides=[1] * 5, padding="SAME"),
    ):
        assert allows(type(model).model_json_schema(), json.loads(model.model_dump_json()))
