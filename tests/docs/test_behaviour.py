"""The record of what TensorFlow does is of the golden cases that there are."""

import behaviour
import pytest
from record_behaviour import asked, digest

from opspec import ops


def test_recorded_cases_are_as_they_were_when_tensorflow_was_asked() -> None:
    now = {
        (golden.file.operation, f"{golden.file.lane}/{case.name}"): digest(case)
        for golden, case in asked()
    }
    recorded = {
        (operation, name): answers["digest"]
        for operation, kept in behaviour.record()["operations"].items()
        for name, answers in kept["cases"].items()
    }
    assert len(recorded) > 300
    changed = {key for key, value in recorded.items() if now.get(key) != value}
    assert not changed, "run docs/generate/record_behaviour.py again"


def test_known_behaviour_of_tensorflow_is_in_the_record() -> None:
    # Each is in the public reports that docs/semantics.md was written from.
    transpose = behaviour.record()["operations"]["Conv3DBackpropInputV2"]["cases"]
    assert transpose["exact/ncdhw-same-float32"]["cpu"]["did"] == "error"
    assert transpose["exact/ncdhw-same-float32"]["xla"]["did"] == "right"
    assert transpose["exact/zero-contraction"]["cpu"]["did"] == "crash"
    grouped = transpose["reject/filter.is_not_grouped"]
    assert (grouped["cpu"]["did"], grouped["xla"]["did"]) == ("error", "value")


@pytest.mark.parametrize(
    ("answer", "cell"),
    [
        ({"did": "error", "said": "ValueError: no"}, "refuses"),
        ({"did": "crash", "said": "SIGFPE"}, "**dies, SIGFPE**"),
        ({"did": "right", "said": ""}, "the same"),
        ({"did": "wrong", "said": "3 of 4 elements differ"}, "**3 of 4 elements differ**"),
        ({"did": "value", "said": "float32 [1]"}, "**takes it**: float32 [1]"),
    ],
)
def test_a_cell_says_what_was_done(answer: dict[str, str], cell: str) -> None:
    assert behaviour.in_short(answer) == cell


def test_an_operation_that_came_after_the_record_has_a_page_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    versions = {"tensorflow": "0", "python": "0"}
    empty = {"versions": versions, "machine": "m", "operations": {}}
    monkeypatch.setattr(behaviour, "record", lambda: empty)
    assert "Not recorded yet." in behaviour.page()
    assert not behaviour.recorded(ops.get("Conv3D"), "reject")
