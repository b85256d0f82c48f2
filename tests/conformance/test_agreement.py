"""The comparison with TensorFlow, without TensorFlow: what its judge lets pass and what not."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from opspec.conformance import agreement_judge
from opspec.conformance.agreement import Tally, as_json, as_text, compare_all
from opspec.conformance.agreement_calls import OPERATIONS, GeneratedCall, make_call
from opspec.conformance.agreement_decisions import explanation
from opspec.conformance.agreement_judge import (
    CPU_RESTRICTIONS,
    Comparison,
    Ours,
    compare,
    reference_of,
    run_opspec,
)
from opspec.conformance.generate.tensorflow_child import Outcome
from opspec.dtypes import FLOATING, numpy_dtype

SEED = 20261202
Array: TypeAlias = np.ndarray[Any, Any]


def as_it_is(value: Array) -> Outcome:
    """Answer with opspec's value."""
    return Outcome("value", value)


class Honest:
    """Stands for TensorFlow: refuses NCDHW eagerly, and else agrees or answers otherwise."""

    def __init__(self, answer: Callable[[Array], Outcome] = as_it_is) -> None:
        self.answer = answer

    def call(self, op: str, arguments: dict[str, Any], *, xla: bool = False) -> Outcome:
        ours = run_opspec(GeneratedCall(0, 0, op, arguments))
        if arguments.get("data_format") == "NCDHW" and not xla:
            return Outcome("error", None, CPU_RESTRICTIONS[0])
        if ours.value is None:
            return Outcome("error", None, "InvalidArgumentError: as opspec says")
        return self.answer(ours.value)


class Always:
    """Gives one outcome, whatever the call."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def call(self, op: str, arguments: dict[str, Any], *, xla: bool = False) -> Outcome:
        return self.outcome


def small_call(**changes: Any) -> GeneratedCall:
    """Return a valid call of whole numbers, changed."""
    arguments: dict[str, Any] = {
        "input_sizes": [1, 4, 3, 2, 2],
        "filter": np.arange(24, dtype=np.float32).reshape(2, 2, 1, 2, 3) % 5 - 2,
        "out_backprop": np.arange(36, dtype=np.float32).reshape(1, 2, 3, 2, 3) % 7 - 3,
        "strides": [1, 2, 1, 1, 1],
        "padding": "SAME",
    }
    return GeneratedCall(0, 0, "Conv3DBackpropInputV2", arguments | changes)


def convolution(**changes: Any) -> GeneratedCall:
    """Return a valid Conv3D of whole numbers whose depth lacks padding of -3, changed."""
    arguments: dict[str, Any] = {
        "input": np.arange(48, dtype=np.float32).reshape(1, 8, 3, 1, 2) % 5 - 2,
        "filter": np.arange(6, dtype=np.float32).reshape(1, 1, 1, 2, 3) - 2,
        "strides": [1, 4, 1, 1, 1],
        "padding": "SAME",
    }
    return GeneratedCall(0, 0, "Conv3D", arguments | changes)


def filter_gradient(**changes: Any) -> GeneratedCall:
    """Return a valid Conv3DBackpropFilterV2 of whole numbers, changed."""
    arguments: dict[str, Any] = {
        "input": np.arange(48, dtype=np.float32).reshape(1, 8, 3, 1, 2) % 5 - 2,
        "filter_sizes": [2, 1, 1, 2, 3],
        "out_backprop": np.arange(63, dtype=np.float32).reshape(1, 7, 3, 1, 3) % 7 - 3,
        "strides": [1, 1, 1, 1, 1],
        "padding": "VALID",
    }
    return GeneratedCall(0, 0, "Conv3DBackpropFilterV2", arguments | changes)


def unexplained(comparison: Comparison) -> bool:
    """Tell whether a comparison fails the run."""
    return not comparison.agreed and explanation(comparison) is None


def test_agreement_passes_and_counts_every_call() -> None:
    reports: list[int] = []
    tally = compare_all(200, SEED, Honest(), lambda t: reports.append(t.executed))
    assert tally.problems(200) == []
    assert reports == [tally.executed] == [200]
    assert min(tally.values, tally.values_by_xla, tally.rejections) >= 20
    assert "unexplained" in as_text(tally)
    assert json.loads(json.dumps(as_json(tally, seed=SEED)))["executed"] == 200


def test_run_that_compares_nothing_fails() -> None:
    assert len(Tally().problems(10)) == 3


@pytest.mark.parametrize(
    "answer",
    [
        lambda value: Outcome("value", (value * 1.001 + 1).astype(value.dtype)),
        lambda value: Outcome("value", value[:, :1]),
        lambda value: Outcome("value", value.astype(np.float64)),
        lambda value: Outcome("value", np.full_like(value, np.nan)),
        lambda value: Outcome("error", None, "InvalidArgumentError: no"),
        lambda value: Outcome("crash", None, "SIGSEGV"),
        lambda value: Outcome("timeout", None, "no answer in 1 s"),
    ],
    ids=["values", "shape", "dtype", "nan", "error", "crash", "timeout"],
)
def test_another_answer_to_a_valid_call_is_unexplained(
    answer: Callable[[Array], Outcome],
) -> None:
    assert compare(small_call(), Honest()).agreed
    assert unexplained(compare(small_call(), Honest(answer)))


@pytest.mark.parametrize(
    "changes",
    [
        {"input_sizes": [1, 4, 3, 2, 5]},
        {"input_sizes": [1, 5, 3, 2, 2]},
        {"input_sizes": [2, 4, 3, 2, 2]},
        {"input_sizes": [1, 4, 3, 2]},
        {"strides": [1, 0, 1, 1, 1]},
        {"strides": [2, 2, 1, 1, 1]},
        {"padding": "same"},
        {"filter": np.ones((2, 2, 1, 2), np.float32)},
    ],
    ids=str,
)
def test_accepting_what_opspec_refuses_is_unexplained(changes: dict[str, Any]) -> None:
    comparison = compare(small_call(**changes), Always(Outcome("value", np.zeros((1, 4, 3, 2, 2)))))
    assert comparison.ours.value is None
    assert unexplained(comparison)


@pytest.mark.parametrize(
    ("changes", "section"),
    [
        ({"input_sizes": [1, 4.0, 3, 2, 2]}, "§3.5"),
        ({"input_sizes": np.array([1, 4, 3, 2**32 + 2, 2])}, "§3.6"),
        ({"data_format": None}, "§3.9"),
        ({"filter": np.ones((2, 2, 1, 2, 3), np.float64)}, "§3.10"),
        ({"name": 7}, "§3.14"),
    ],
    ids=str,
)
def test_accepting_what_a_decision_refuses_is_explained(
    changes: dict[str, Any], section: str
) -> None:
    accepted = Always(Outcome("value", np.zeros((1, 4, 3, 2, 2), np.float32)))
    decision = explanation(compare(small_call(**changes), accepted))
    assert decision is not None
    assert decision.section == section


def test_shifted_windows_are_explained_only_where_padding_would_be_negative() -> None:
    shifted = Honest(lambda value: Outcome("value", np.roll(value, 1, axis=1)))
    decision = explanation(compare(convolution(), shifted))
    assert decision is not None
    assert decision.section == "§6.2"
    for changes in ({"strides": [1, 1, 1, 1, 1]}, {"strides": [1, 2, 1, 1, 1]}):
        assert compare(convolution(**changes), Honest()).agreed
        assert unexplained(compare(convolution(**changes), shifted))
    assert unexplained(compare(convolution(padding="VALID"), shifted))


@pytest.mark.parametrize(("numbers", "explained"), [("5 from 3", True), ("5 from 8", False)])
def test_mixed_dilations_are_explained_only_by_numbers_of_two_axes(
    numbers: str, explained: bool
) -> None:
    call = convolution(
        filter=np.ones((3, 1, 1, 2, 3), np.float32), padding="VALID", dilations=[1, 2, 1, 1, 1]
    )
    ours = run_opspec(call)
    assert ours.value is not None
    restricted = Outcome("error", None, CPU_RESTRICTIONS[-1])
    said = Outcome("error", None, f"Negative dimension size caused by subtracting {numbers}")
    found = explanation(Comparison(call, ours, restricted, said))
    assert (found is not None and found.section == "§6.7") is explained


def test_invented_gradient_is_explained_only_where_there_is_nothing_to_sum() -> None:
    invented = Honest(lambda value: Outcome("value", value + 1))
    nothing = np.zeros((1, 0, 3, 1, 3), np.float32)
    empty = filter_gradient(filter_sizes=[9, 1, 1, 2, 3], out_backprop=nothing)
    assert compare(empty, Honest()).agreed
    decision = explanation(compare(empty, invented))
    assert decision is not None
    assert decision.section == "§6.4"
    assert unexplained(compare(filter_gradient(), invented))


def test_channels_not_compared_are_explained_only_of_an_empty_result() -> None:
    call = convolution(filter=np.ones((1, 1, 1, 3, 3), np.float32))
    assert run_opspec(call).rule == "Conv3D.input.channels_equal_filter"
    empty = Always(Outcome("value", np.zeros((1, 2, 0, 1, 3), np.float32)))
    assert explanation(compare(call, empty)) is not None
    assert unexplained(compare(call, Always(Outcome("value", np.zeros((1, 2, 3, 1, 3))))))


def test_filter_without_out_channels_may_be_refused_and_no_other() -> None:
    refused = Always(Outcome("error", None, "filter must not have zero elements"))
    nothing = convolution(filter=np.ones((1, 1, 1, 2, 0), np.float32))
    assert explanation(compare(nothing, refused)) is not None
    assert unexplained(compare(convolution(), refused))


def test_grouped_filters_are_explained_only_by_xla() -> None:
    accepted = Outcome("value", np.zeros((1, 4, 3, 2, 6), np.float32))
    call = small_call(input_sizes=[1, 4, 3, 2, 6])
    ours = run_opspec(call)
    assert ours.rule.endswith(".is_not_grouped")
    restricted = Outcome("error", None, CPU_RESTRICTIONS[1])
    assert explanation(Comparison(call, ours, restricted, accepted)) is not None
    assert unexplained(Comparison(call, ours, accepted, None))


@pytest.mark.parametrize(("scale", "explained"), [(2.0**-130, True), (2.0**-100, False)])
def test_flushing_to_zero_is_explained_of_subnormal_numbers_only(
    scale: float, explained: bool
) -> None:
    tiny = (np.arange(24).reshape(2, 2, 1, 2, 3) % 5 - 2).astype(np.float32) * np.float32(scale)
    flushed = Honest(lambda value: Outcome("value", np.zeros_like(value)))
    comparison = compare(small_call(filter=tiny), flushed)
    assert comparison.ours.value is not None
    assert comparison.ours.value.any()
    assert not comparison.agreed
    assert (explanation(comparison) is not None) == explained


@pytest.mark.parametrize("outcome", [Outcome("crash", None, "SIGFPE"), Outcome("error")], ids=str)
def test_no_decision_excuses_a_wrong_value_of_ours(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = {
        "filter": np.ones((2, 2, 1, 2, 0), np.float32),
        "out_backprop": np.ones((1, 2, 3, 2, 0), np.float32),
    }
    crash = Always(Outcome("crash", None, "SIGFPE"))
    assert explanation(compare(small_call(**nothing), crash)) is not None
    wrong = Ours(value=np.ones((1, 4, 3, 2, 2), np.float32))
    monkeypatch.setattr(agreement_judge, "run_opspec", lambda call: wrong)
    assert unexplained(compare(small_call(**nothing), Always(outcome)))
    assert unexplained(compare(small_call(), Always(Outcome("value", wrong.value))))


@pytest.mark.parametrize(
    ("changes", "explained"),
    [({"name": 7}, True), ({"out_backprop": np.ones((1, 2, 3, 2, 1), np.float32)}, False)],
    ids=["name", "operand"],
)
def test_death_of_no_channels_excuses_no_refusal_of_operands(
    changes: dict[str, Any], explained: bool
) -> None:
    nothing = {
        "filter": np.ones((2, 2, 1, 2, 0), np.float32),
        "out_backprop": np.ones((1, 2, 3, 2, 0), np.float32),
    }
    comparison = compare(small_call(**nothing | changes), Always(Outcome("crash", None, "SIGFPE")))
    assert comparison.ours.value is None
    assert (explanation(comparison) is not None) is explained


def test_an_error_of_opspec_that_is_no_rule_is_unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Ours(failure="ZeroDivisionError: division by zero")
    monkeypatch.setattr(agreement_judge, "run_opspec", lambda call: failed)
    assert unexplained(compare(small_call(), Always(Outcome("error", None, "no"))))


@pytest.mark.parametrize("dtype", FLOATING)
def test_whole_numbers_must_match_to_the_bit_and_others_to_rounding(dtype: str) -> None:
    call = small_call()
    operands = ("filter", "out_backprop")
    whole = {name: call.arguments[name].astype(numpy_dtype(dtype)) for name in operands}
    mixed = {name: array * numpy_dtype(dtype).type(0.7) for name, array in whole.items()}
    for changes, tolerated in ((whole, False), (mixed, True)):
        changed = small_call(**changes)
        value = run_opspec(changed).value
        assert value is not None
        reference = reference_of(changed)
        assert reference.deviation(value) == ""
        bits = value.view(f"u{value.itemsize}")
        at = np.unravel_index(int(np.abs(reference.sums).argmax()), value.shape)
        bits[at] ^= 1
        assert (reference.deviation(value) == "") is tolerated


def test_calls_are_made_again_by_seed_and_index() -> None:
    for index in range(60):
        once, again = (_written_out(make_call(SEED, index)) for _ in range(2))
        assert once == again
    assert _written_out(make_call(SEED, 1)) != _written_out(make_call(SEED + 1, 1))


def _written_out(call: GeneratedCall) -> list[Any]:
    """Return all that a call is. Not as bytes: in a long double some have no meaning."""
    return [
        call.op,
        *(
            (name, str(value.dtype), value.shape, value.strides, repr(value.tolist()))
            if isinstance(value, np.ndarray)
            else (name, repr(value))
            for name, value in call.arguments.items()
        ),
    ]


def test_code_of_a_call_runs() -> None:
    index = next(i for i in range(50) if run_opspec(make_call(SEED, i)).value is not None)
    exec(make_call(SEED, index).code(), {})


def test_calls_cover_what_there_is() -> None:
    calls = [make_call(SEED, index) for index in range(500)]
    outcomes = [run_opspec(call) for call in calls]
    assert not [outcome.failure for outcome in outcomes if outcome.failure]
    seen: Counter[Any] = Counter()
    for call, outcome in zip(calls, outcomes, strict=True):
        seen[call.op] += 1
        seen["valid" if outcome.value is not None else "invalid"] += 1
        seen[outcome.rule.partition(".")[2]] += 1
        if outcome.value is not None:
            strides, dilations = call.arguments["strides"], call.arguments.get("dilations")
            seen[outcome.value.dtype.name] += 1
            seen[call.arguments.get("padding", "SAME")] += 1
            seen[call.arguments.get("data_format") or "NDHWC"] += 1
            seen[type(strides).__name__, np.size(strides)] += 1
            seen["empty"] += outcome.value.size == 0
            seen["dilated"] += dilations is not None and np.max(dilations) > 1
    common = (*OPERATIONS, "SAME", "VALID", "NDHWC", "NCDHW")
    assert min(seen[key] for key in (*common, *FLOATING, "dilated")) >= 40
    assert 0.3 <= seen["invalid"] / 500 <= 0.45
    spellings = [(kind, size) for kind in ("list", "tuple", "ndarray") for size in (3, 5)]
    assert min(seen[key] for key in (*spellings, ("int", 1), "empty")) >= 3
    assert len([key for key in seen if isinstance(key, str) and "." in key]) >= 30
