"""The run that says whether a backend does what it declares.

Every task ends in a verdict, and a run is good only if it did all that the backend declares: one
that executes nothing, or leaves out something declared, is not.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from opspec.conformance.diagnosis import diagnosed, shown_apart, shown_here
from opspec.conformance.isolation import IsolatedBackend
from opspec.conformance.report import EXECUTED, CaseResult, Report
from opspec.conformance.script import Shows
from opspec.conformance.tasks import SUITE, Selection, Task, selected
from opspec.registry import Backend, Capabilities, discovery

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a run is about.

    Parameters
    ----------
    name
        What the report calls it.
    capabilities
        What it declares.
    suite
        The version of the suite that it pins, or None.
    unavailable
        Why it cannot run here, or None.
    judge
        Judges one task.
    shows
        Whether a program that calls it shows a fault.
    caveat
        What a run cannot show, or None.
    """

    name: str
    capabilities: Capabilities
    suite: int | None
    unavailable: str | None
    judge: Callable[[Task], CaseResult]
    shows: Shows
    caveat: str | None = None


def check(
    backend: str | Backend,
    *,
    pattern: str | None = None,
    strict: bool = False,
    quick: bool = False,
    isolate: bool = False,
    timeout: float = 60.0,
    suite: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run the suite on one backend.

    Parameters
    ----------
    backend
        A name, a ``module:attribute``, or a `Backend`.
    pattern
        Run only the cases whose id contains this text.
    strict
        Whether working without declaring it counts as a failure.
    quick
        Run every golden case, but few forms and few examples of each property.
    isolate
        Run in a process of its own, so that a crash is a verdict and a hang ends.
    timeout
        With `isolate`: how many seconds one case may take.
    suite
        Run this version of the suite; by default the one that the backend pins, or the newest.
    progress
        Called after each case with how many are done and how many there are.

    Returns
    -------
    Report
        ``report.ok`` says whether all that is declared was executed and passed.

    Raises
    ------
    BackendUnavailable
        If `backend` names none.
    ValueError
        If there is no such version of the suite, or a `Backend` object is to be isolated: another
        process can find it by its name only.
    """

    def run(subject: Subject) -> Report:
        version = subject.suite if suite is None else suite
        partial = pattern is not None
        try:
            # What a backend says nothing about is not looked at.
            declared = subject.capabilities.operations
            selection = selected(pattern=pattern, quick=quick, suite=version, operations=declared)
        except ValueError as error:
            if suite is not None:
                raise
            # What the caller did not ask for is the backend's fault, not the caller's.
            return Report(subject.name, (), SUITE, unavailable=f"cannot be checked here: {error}")
        return _run(subject, selection, partial=partial, strict=strict, progress=progress)

    if not isolate:
        found = discovery.find(backend) if isinstance(backend, str) else backend
        return run(subject_of(found, backend if isinstance(backend, str) else found.name))
    if not isinstance(backend, str):
        raise ValueError(
            f"isolate=True needs the name of a backend or module:attribute, which another process "
            f"can find; given {backend!r}"
        )
    with IsolatedBackend(backend, timeout=timeout, quick=quick) as there:
        return run(
            Subject(
                backend,
                there.capabilities,
                there.suite,
                there.unavailable,
                there.judge,
                shown_apart(timeout),
                there.caveat,
            )
        )


def subject_of(backend: Backend, name: str) -> Subject:
    """Return a backend of this process as the subject of a run."""
    reason = backend.unavailable_reason()
    return Subject(
        name,
        backend.capabilities,
        backend.suite,
        reason,
        lambda task: task.judge(backend, name),
        shown_here(backend),
        backend.caveat,
    )


def _run(
    subject: Subject,
    selection: Selection,
    *,
    partial: bool,
    strict: bool,
    progress: Progress | None,
) -> Report:
    start = time.perf_counter()
    results = []
    if subject.unavailable is None:
        for done, task in enumerate(selection.tasks, 1):
            results.append(subject.judge(task))
            if progress is not None:
                progress(done, len(selection.tasks))
    return concluded(
        subject,
        selection,
        diagnosed(results, selection.tasks, subject.name, subject.shows),
        partial=partial,
        strict=strict,
        seconds=time.perf_counter() - start,
    )


def concluded(
    subject: Subject,
    selection: Selection,
    results: Iterable[CaseResult],
    *,
    partial: bool = False,
    strict: bool = False,
    seconds: float = 0.0,
) -> Report:
    """Return the report of a run, with what was declared and not executed."""
    kept = tuple(results)
    reason = subject.unavailable
    return Report(
        backend=subject.name,
        results=kept,
        suite=selection.suite,
        newer=selection.newer,
        unavailable=None if reason is None else f"cannot run here: {reason}",
        uncovered=tuple(_uncovered(subject.capabilities, kept)),
        partial=partial,
        strict=strict,
        seconds=seconds,
        caveat=subject.caveat,
    )


def _uncovered(declared: Capabilities, results: Iterable[CaseResult]) -> Iterator[str]:
    """Yield what is declared and no executed case needed."""
    ran = [r.demand for r in results if r.demand and r.verdict in EXECUTED]
    combinations = {(need.operation, need.dtype, need.data_format) for need in ran}
    for wanted in product(declared.operations, declared.dtypes, declared.data_formats):
        if wanted not in combinations:
            yield " ".join(wanted)
    if not (declared.operations and declared.dtypes and declared.data_formats):
        yield "anything at all (no operation, dtype or data format is declared)"
    if declared.dilation and not any(need.dilated for need in ran):
        yield "dilation"
    if declared.empties and not any(need.empty for need in ran):
        yield "empty tensors"
