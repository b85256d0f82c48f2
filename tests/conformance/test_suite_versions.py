"""A version of the suite, once released, stays what it is; a run may pin one."""

from collections.abc import Callable

import pytest

from opspec.backends.numpy import backend as numpy_backend
from opspec.conformance import tasks
from opspec.conformance.case import Case, golden
from opspec.conformance.runner import check
from opspec.conformance.suite_digest import recorded, suite_digest
from opspec.registry import Backend, BackendContractError

PATTERN = "conv3d_backprop_input_v2/exact/identity"


@pytest.mark.parametrize("version", range(1, tasks.SUITE + 1))
def test_a_version_is_what_was_recorded(version: int) -> None:
    assert recorded()[str(version)] == suite_digest(version)


def test_every_version_is_recorded() -> None:
    assert list(recorded()) == [str(version) for version in range(1, tasks.SUITE + 1)]


def test_a_changed_case_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    lane, before = golden("conv3d_backprop_input_v2", "exact"), suite_digest(tasks.SUITE)
    tensor = lane.file.cases[0].expected.result
    assert tensor is not None
    changed = lane.tensors[tensor].copy()
    changed.flat[0] += 1
    monkeypatch.setitem(lane.tensors, tensor, changed)
    assert suite_digest(tasks.SUITE) != before


@pytest.fixture
def _case_of_the_next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if version 2 had brought the case `identity`, and everybody fails it."""
    monkeypatch.setattr(tasks, "SUITE", 2)
    made: Callable[..., tasks.Task] = tasks._golden_task

    def later(lane: object, case: Case) -> tasks.Task:
        newer = case.model_copy(update={"since": 2 if case.name == "identity" else 1})
        return made(lane, newer)

    monkeypatch.setattr(tasks, "_golden_task", later)


@pytest.mark.usefixtures("_case_of_the_next_version")
def test_a_pinned_run_leaves_newer_cases_out_and_says_so() -> None:
    newest = check("numpy", pattern=PATTERN, suite=2)
    pinned = check("numpy", pattern=PATTERN, suite=1)
    assert (newest.suite, newest.newer) == (2, 0)
    assert (pinned.suite, pinned.newer) == (1, 1)
    left_out = {r.case for r in newest.results} - {r.case for r in pinned.results}
    assert left_out == {PATTERN}


@pytest.mark.usefixtures("_case_of_the_next_version")
def test_a_backend_may_pin_a_version_and_a_run_may_overrule_it() -> None:
    backend = Backend("pinned", "numpy.ndarray", numpy_backend.capabilities, suite=1)
    backend.implements("Conv3DBackpropInputV2")(numpy_backend.kernel("Conv3DBackpropInputV2"))
    assert check(backend, pattern=PATTERN).suite == 1
    assert check(backend, pattern=PATTERN, suite=2).suite == 2


@pytest.mark.parametrize("suite", [0, tasks.SUITE + 1])
def test_a_version_that_is_not_there_is_an_error(suite: int) -> None:
    with pytest.raises(ValueError, match=f"no version {suite} of the suite"):
        check("numpy", pattern=PATTERN, suite=suite)


@pytest.mark.parametrize("suite", [0, -1, True, "1", 1.0])
def test_a_backend_pins_a_whole_number(suite: object) -> None:
    with pytest.raises(BackendContractError, match="pins a version"):
        Backend("pinned", "numpy.ndarray", numpy_backend.capabilities, suite=suite)  # type: ignore[arg-type]  # wrong on purpose


def test_a_backend_that_pins_what_is_not_there_yet_is_told_so() -> None:
    backend = Backend("ahead", "numpy.ndarray", numpy_backend.capabilities, suite=tasks.SUITE + 1)
    (objection,) = check(backend, pattern=PATTERN).objections
    assert f"no version {tasks.SUITE + 1} of the suite" in objection
