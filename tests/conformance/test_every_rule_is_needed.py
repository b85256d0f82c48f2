"""Without any one of its rules a definition fails its own cases."""

from typing import Any

import pytest

from opspec import calling, ops
from opspec.backends.numpy import backend
from opspec.conformance.case import FOLDERS, golden
from opspec.conformance.judging import judge
from opspec.conformance.report import Verdict

RULES = [
    (operation, case.name)
    for operation, folder in FOLDERS.items()
    for case in golden(folder, "reject").file.cases
]


def verdict_of(operation: str, label: str) -> Verdict:
    lane = golden(FOLDERS[operation], "reject")
    case = next(case for case in lane.file.cases if case.name == label)
    calling._remembered_plan.cache_clear()
    return judge(lane, case, backend).verdict


@pytest.mark.parametrize(("operation", "label"), RULES)
def test_a_definition_without_the_rule_fails(
    operation: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = ops.get(operation)
    assert verdict_of(operation, label) == Verdict.PASS
    kept: Any = [rule for rule in definition.Attributes.rules if rule.label != label]
    monkeypatch.setattr(definition.Attributes, "rules", tuple(kept))
    rest = tuple(rule for rule in definition.operand_rules if rule.label != label)
    # A definition is frozen; the test reaches around that and puts the rule back.
    whole = definition.operand_rules
    object.__setattr__(definition, "operand_rules", rest)
    try:
        assert verdict_of(operation, label) == Verdict.FAIL
    finally:
        object.__setattr__(definition, "operand_rules", whole)
        calling._remembered_plan.cache_clear()
