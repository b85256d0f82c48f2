"""Each mutant is wrong for some valid call; the recipe without a fault is not."""

import subprocess
import sys
import threading
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from opspec import raw_ops
from opspec.conformance import mutants
from opspec.conformance.forms import FORMS
from opspec.conformance.isolation import IsolatedBackend
from opspec.conformance.kills import PLACE, in_order
from opspec.conformance.mutants import FAMILIES, Mutant, all_mutants, concurrency, find
from opspec.conformance.mutants.equivalents import Equivalent, all_equivalents
from opspec.conformance.mutants.mutant import backend_of
from opspec.conformance.mutants.witnesses import SHOWN_BY, Problem
from opspec.conformance.oracle import direct_sum
from opspec.conformance.report import FAILURES, Verdict
from opspec.conformance.runner import check
from opspec.conformance.tasks import Task, all_tasks
from opspec.conformance.tolerance import MismatchError, require_exact, require_same_form
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.geometry import DATA_FORMATS
from opspec.registry import Backend, BackendUnavailable, discovery

Array = np.ndarray[Any, Any]
OPERATION = "Conv3DBackpropInputV2"
PLAIN = [mutant for mutant in all_mutants() if not mutant.isolated]
ISOLATED = [mutant for mutant in all_mutants() if mutant.isolated]


# What takes two calls in a row.
LINE = Problem(size=(1, 1, 5))
SHOWN_BY_TWO = {
    "filter-remembered-by-first-tap": (replace(LINE, filter=(1, 2)), replace(LINE, filter=(1, 3))),
    "plan-kept-without-dilations": (LINE, replace(LINE, dilation=2)),
}
# What takes a call while another one runs: each calls `_pause` in the middle.
SHOWN_BY_OVERLAP = (
    "scratch-shared-by-threads",
    "operands-in-a-global",
    "result-in-a-global",
    "cache-marked-full-too-early",
    "data-changed-for-a-moment",
    "filter-changed-for-a-moment",
)
SHOWN_BY_THREAD = ("subnormals-flushed-in-other-threads", "scratch-missing-in-other-threads")
SHOWN_BY_BITS = ("taps-in-random-order",)
SHOWN_OTHERWISE = {
    *SHOWN_BY,
    *SHOWN_BY_TWO,
    *SHOWN_BY_OVERLAP,
    *SHOWN_BY_THREAD,
    *SHOWN_BY_BITS,
}


@cache
def defined(problem: Problem) -> Array:
    return direct_sum(**problem.arguments())[0]


def is_wrong(backend: Backend, problem: Problem) -> bool:
    given = problem.arguments()
    expected = defined(problem)
    with np.errstate(all="ignore"):
        result = raw_ops.Conv3DBackpropInputV2(**given, backend=backend)
        rounded = expected.astype(numpy_dtype(problem.dtype))
    try:
        require_same_form(result, problem.dtype, expected.shape)
        require_exact(result, rounded, problem.data_format)
    except MismatchError:
        return True
    return any(np.shares_memory(result, given[name]) for name in ("filter", "out_backprop"))


@cache
def tasks(operation: str = OPERATION) -> list[Task]:
    own = (task for task in all_tasks() if task.kernel == operation)
    return in_order(list(own))


@cache
def valued_tasks(operation: str = OPERATION) -> list[Task]:
    return [task for task in tasks(operation) if task.lane in ("exact", "bounded", "real")]


@cache
def recasts(operation: str) -> list[Task]:
    return [task for task in tasks(operation) if task.lane == "form" and task.form is None]


@cache
def small_forms(operation: str) -> list[Task]:
    return [task for task in tasks(operation) if task.form is not None][: 60 * len(FORMS)]


def first_failure(backend: Backend, tried: list[Task]) -> str | None:
    results = (task.judge(backend, backend.name) for task in tried)
    return next((result.case for result in results if result.verdict in FAILURES), None)


def test_names_and_families() -> None:
    found = all_mutants()
    assert len(found) >= 130
    assert {mutant.family for mutant in found} == set(FAMILIES)
    attributes = [mutant.attribute for mutant in found]
    assert len(set(attributes)) == len(attributes)
    assert all(attribute.isidentifier() for attribute in attributes)
    looks = [mutant.looks_like for mutant in found]
    assert len(set(looks)) == len(looks)
    assert not any(words.endswith(".") or words != words.strip() for words in looks)
    assert {find(name).name for name in SHOWN_OTHERWISE} == SHOWN_OTHERWISE


@pytest.mark.parametrize(
    "mutant", [m for m in PLAIN if m.name not in SHOWN_OTHERWISE], ids=lambda m: m.name
)
def test_the_suite_fails_the_mutant(mutant: Mutant) -> None:
    backend = mutant.backend()
    lists = (valued_tasks, recasts, small_forms)
    assert any(first_failure(backend, tried(mutant.operation)) for tried in lists)


@pytest.mark.parametrize("name", SHOWN_BY)
def test_a_call_shows_the_mutant(name: str) -> None:
    assert is_wrong(find(name).backend(), SHOWN_BY[name])
    assert not is_wrong(mutants.right_backend(), SHOWN_BY[name])


@pytest.mark.parametrize("name", SHOWN_BY_TWO)
def test_a_second_call_shows_the_mutant(name: str) -> None:
    backend = find(name).backend()
    assert [is_wrong(backend, problem) for problem in SHOWN_BY_TWO[name]] == [False, True]


@pytest.mark.parametrize("name", SHOWN_BY_OVERLAP)
@pytest.mark.parametrize("negated", [False, True])
def test_overlapping_calls_show_the_mutant(
    name: str, negated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second call is the first one's operands again, or others of the same shape."""
    backend, outcomes = find(name).backend(), []
    problem = Problem(kernel=(2, 1, 2))
    own = problem.arguments()
    other = {**own, "out_backprop": -own["out_backprop"]} if negated else own
    expected = defined(problem)
    expected_of_other = -expected if negated else expected

    def meanwhile() -> None:
        monkeypatch.setattr(concurrency, "_pause", lambda: None)
        result = raw_ops.Conv3DBackpropInputV2(**other, backend=backend)
        outcomes.append(np.array_equal(result, expected_of_other))

    monkeypatch.setattr(concurrency, "_pause", meanwhile)
    result = raw_ops.Conv3DBackpropInputV2(**own, backend=backend)
    outcomes.append(np.array_equal(result, expected))
    in_common = name in ("cache-marked-full-too-early", "data-changed-for-a-moment")
    filter_changed = name == "filter-changed-for-a-moment"
    assert len(outcomes) == 2
    assert all(outcomes) == (not filter_changed and in_common == negated)


@pytest.mark.parametrize("name", SHOWN_BY_THREAD)
def test_another_thread_shows_the_mutant(name: str) -> None:
    backend = find(name).backend()
    small = Problem(data=(2.0**-140,) * 30, filter=(1, 1))
    assert not is_wrong(backend, small)
    found: list[bool] = []

    def ask() -> None:
        try:
            found.append(is_wrong(backend, small))
        except AttributeError:
            found.append(True)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [True]


@pytest.mark.parametrize("name", SHOWN_BY_BITS)
def test_other_bits_the_second_time_show_the_mutant(name: str) -> None:
    given = Problem(size=(4, 5, 9), kernel=(3, 3, 3)).arguments()
    rng = np.random.default_rng(0)
    for operand in ("filter", "out_backprop"):
        given[operand] = rng.standard_normal(given[operand].shape, np.float32)

    def bits(backend: Backend) -> bytes:
        result: Array = raw_ops.Conv3DBackpropInputV2(**given, backend=backend)
        return result.tobytes()

    assert len({bits(find(name).backend()) for _ in range(5)}) > 1
    assert len({bits(mutants.right_backend()) for _ in range(5)}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ISOLATED, ids=lambda m: m.name)
def test_the_process_of_an_isolated_mutant_ends_as_it_says(mutant: Mutant) -> None:
    with IsolatedBackend(f"{PLACE}:{mutant.attribute}", timeout=2.0) as isolated:
        results = (isolated.judge(task) for task in valued_tasks())
        first = next(result for result in results if result.verdict in FAILURES)
    assert first.verdict in (Verdict.CRASHED, Verdict.TIMED_OUT)
    assert mutant.ends is not None
    assert mutant.ends in first.reason


@pytest.mark.parametrize(
    ("right", "unsupported"),
    [
        ("right", set()),
        # Their adjoints are other operations, which these backends do not have.
        ("right_conv3d", {"conv3d/property/adjoint"}),
        ("right_filter_gradient", {"conv3d_backprop_filter_v2/property/adjoint"}),
    ],
)
def test_the_right_recipe_passes_the_whole_suite(right: str, unsupported: set[str]) -> None:
    report = check(f"opspec.conformance.mutants:{right}")
    assert report.ok
    left = {r.case: r.verdict for r in report.results if r.verdict != Verdict.PASS}
    assert left == dict.fromkeys(unsupported, Verdict.UNSUPPORTED)


@pytest.mark.parametrize(
    "equivalent", [e for e in all_equivalents() if e.kernel is not None], ids=lambda e: e.name
)
def test_a_change_that_is_no_fault_passes(equivalent: Equivalent) -> None:
    assert equivalent.kernel is not None
    backend = backend_of(equivalent.name, equivalent.kernel)
    assert first_failure(backend, valued_tasks()) is None
    kinds = [Problem(dtype=d, data_format=f) for d in FLOATING for f in DATA_FORMATS]
    assert not any(is_wrong(backend, problem) for problem in (*kinds, *SHOWN_BY.values()))


def test_equivalents_are_argued() -> None:
    found = all_equivalents()
    assert len({equivalent.name for equivalent in found}) == len(found) >= 6
    assert all(equivalent.change and equivalent.why.endswith(".") for equivalent in found)


def test_find_names_what_is_spelled_alike() -> None:
    with pytest.raises(LookupError, match="did you mean overlaps-averaged"):
        find("overlap-averaged")


def test_each_mutant_is_a_backend_of_its_own() -> None:
    first, second = mutants.overlaps_averaged, mutants.overlaps_averaged
    assert first.name == second.name == "overlaps-averaged"
    assert first is not second
    assert discovery.find(f"{PLACE}:right").name == "right-recipe"
    with pytest.raises(BackendUnavailable, match="overlaps-averaged"):
        discovery.find(f"{PLACE}:overlap_averaged")


def test_the_package_needs_numpy_and_the_core_alone() -> None:
    blocked = ("hypothesis", "safetensors", "rich", "pytest", "numba")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))\n"
        "from opspec.conformance.mutants import all_mutants, equivalents\n"
        "assert all(mutant.backend() for mutant in all_mutants())"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
