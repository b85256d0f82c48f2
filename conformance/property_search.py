"""The search for a counter-example to a property, and for a small one."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, configuration, given, seed, settings

from opspec.conformance.problems import Problem, Values, problems
from opspec.conformance.property_trial import Trial, was_right
from opspec.conformance.script import failing_here, write
from opspec.registry import Backend

if TYPE_CHECKING:
    from opspec.conformance.properties import Property

# After the first counter-example; what is small by then is small enough.
SHRINKING_TRIES = 400


@dataclass(slots=True)
class Refutation:
    """A property that does not hold.

    Parameters
    ----------
    trial
        The smallest problem that was found, and the calls made for it.
    error
        What was wrong.
    always
        Whether the same problem failed each time.
    """

    trial: Trial
    error: BaseException
    always: bool = True

    def script(self, name: str, values: Values) -> str:
        """Return a program that shows the fault; `name` finds the backend."""
        whole = values == "whole"
        wrong = [made for made in self.trial.calls if not was_right(made, whole=whole)]
        shown = (wrong or self.trial.calls)[0]
        # Right at one time and wrong at another: what was called before makes the difference.
        same = [made for made in self.trial.calls if made.problem.key == shown.problem.key]
        changes = not (wrong and self.always and all(made in wrong for made in same))
        raised = type(self.error) if shown.result is None else AssertionError
        return write(
            shown.operation,
            shown.arguments,
            backend=name,
            form="repeated" if changes else None,
            bounded=not whole,
            shows=failing_here(self.trial.backend, raised),
        )


class _Search:
    """What is known while Hypothesis looks on."""

    def __init__(self, property: "Property", backend: Backend) -> None:
        self._property, self._backend = property, backend
        self._failures: dict[tuple[object, ...], Refutation] = {}
        self._tries = 0
        self.trial: Trial | None = None
        self.refutation: Refutation | None = None

    def examine(self, problem: Problem) -> None:
        """Raise if the property does not hold for a problem."""
        key = problem.key
        if self._failures:
            self._tries += 1
            if self._tries > SHRINKING_TRIES or key in self._failures:
                self._repeat(key)
                return
        self.trial = self._new_trial(problem)
        try:
            self._property.holds(self.trial)
        except (Exception, SystemExit) as error:
            if not self.trial.is_to_blame_for(error):
                raise
            self._failures[key] = Refutation(self.trial, error)
            self._repeat(key)

    def holds_now(self, problem: Problem) -> bool:
        """Whether the property holds when the same problem comes once more."""
        try:
            self._property.holds(self._new_trial(problem))
        except (Exception, SystemExit):
            return False
        return True

    def _new_trial(self, problem: Problem) -> Trial:
        # The problem alone decides what else is drawn, so that it fails again.
        digest = zlib.crc32(repr(problem.key).encode())
        return Trial(self._backend, problem, np.random.default_rng(digest))

    def _repeat(self, key: tuple[object, ...]) -> None:
        """Fail as before; a problem that has not failed yet counts as a right one."""
        if key in self._failures:
            self.refutation = self._failures[key]
            raise self.refutation.error


def searched(
    property: "Property", backend: Backend, examples: int
) -> tuple[Trial, Refutation | None]:
    """Try to refute a property.

    Returns
    -------
    tuple
        The trial that was made last, and the refutation, if there is one.
    """
    search = _Search(property, backend)
    drawn = problems(
        backend.capabilities,
        data_formats=property.data_formats,
        empties=property.empties,
        values=property.values,
    )
    chosen = settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
            HealthCheck.large_base_example,
            HealthCheck.too_slow,
        ),
    )

    @seed(zlib.crc32(property.name.encode()))
    @chosen
    @given(drawn)
    def examine(problem: Problem) -> None:
        search.examine(problem)

    try:
        with _nothing_written():
            examine()
    except (Exception, SystemExit):
        if search.refutation is None:
            raise
    assert search.trial is not None
    if search.refutation is not None:
        search.refutation.always = not search.holds_now(search.refutation.trial.problem)
    return search.trial, search.refutation


@contextmanager
def _nothing_written() -> Iterator[None]:
    """Keep Hypothesis from leaving a folder behind where the caller works."""
    before = configuration.storage_directory(intent_to_write=False).home_directory
    configuration.set_hypothesis_home_dir(os.devnull)
    try:
        yield
    finally:
        configuration.set_hypothesis_home_dir(before)
