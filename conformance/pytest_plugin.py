"""The suite under pytest: ``pytest --pyargs opspec.conformance --opspec-backend NAME``.

One item for each case, named by its id, and a last one for what belongs to no case: that something
was executed, and all that is declared. pytest loads this module in every run on a machine that has
opspec, so whatever it needs is imported when the suite is collected.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from opspec.conformance.report import CaseResult, Report
    from opspec.conformance.runner import Subject
    from opspec.conformance.tasks import Selection, Task

SUITE_FILE = Path(__file__).with_name("test_suite.py").resolve()
CONCLUSION = "all-that-is-declared"


class OpspecWarning(pytest.PytestWarning):
    """A backend does what it does not declare."""


class Run:
    """One backend's cases and what has become of them so far.

    Parameters
    ----------
    subject
        The backend.
    selection
        All cases of the run, those that pytest leaves out included.
    """

    def __init__(self, subject: "Subject", selection: "Selection") -> None:
        self.subject, self.selection = subject, selection
        self.results: dict[str, CaseResult] = {}
        self.faults: dict[str, str] = {}
        self.concluded = False

    @property
    def partial(self) -> bool:
        """Whether cases were left out."""
        return len(self.results) < len(self.selection.tasks)

    def report(self) -> "Report":
        """Return the report of the cases that ran."""
        from opspec.conformance import runner

        results = self.results.values()
        return runner.concluded(self.subject, self.selection, results, partial=self.partial)

    def objections(self) -> tuple[str, ...]:
        """Return what speaks against the run beside its failing cases."""
        from opspec.conformance.reports.account import objections_to_the_run

        return objections_to_the_run(self.report())

    def explain_failures(self) -> None:
        """Find out what the failures look like, which only all results together show."""
        from opspec.conformance.diagnosis import diagnosed

        results, subject = tuple(self.results.values()), self.subject
        for result in diagnosed(results, self.selection.tasks, subject.name, subject.shows):
            self.results[result.case] = result


RUNS = pytest.StashKey[list[Run]]()
REFUSALS = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("opspec", "conformance of opspec's backends")
    group.addoption(
        "--opspec-backend",
        action="append",
        default=[],
        metavar="BACKEND",
        help="run opspec's suite on it: an installed name, or module:attribute; "
        "may be given several times, together with --pyargs opspec.conformance",
    )
    group.addoption(
        "--opspec-strict",
        action="store_true",
        help="what works without being declared is a failure",
    )
    group.addoption(
        "--opspec-quick",
        action="store_true",
        help="every golden case, but few forms and few examples of each property",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what cannot be, before anything is collected."""
    config.stash[RUNS], config.stash[REFUSALS] = [], []
    if not config.getoption("opspec_backend"):
        for option in ("strict", "quick"):
            if config.getoption(f"opspec_{option}"):
                raise pytest.UsageError(f"--opspec-{option} needs --opspec-backend NAME")
    elif config.getoption("dist", "no") != "no" or hasattr(config, "workerinput"):
        raise pytest.UsageError(
            "opspec's suite says what a backend left out, so it must see every result: "
            "run it without -n (-p no:xdist)"
        )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SuiteFile | None":
    """Collect the suite, whatever the names of test files are in the caller's project."""
    if file_path.name != SUITE_FILE.name or file_path.resolve() != SUITE_FILE:
        return None
    found: SuiteFile = SuiteFile.from_parent(parent, path=file_path)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Put the conclusions last, also after other plugins' shuffling; refuse to check nothing."""
    yield
    if refusals := config.stash[REFUSALS]:
        raise pytest.UsageError(refusals[0])
    if config.getoption("opspec_backend") and not (config.stash[RUNS] or session.testsfailed):
        raise pytest.UsageError(
            "--opspec-backend checks nothing unless the suite is collected: "
            "add --pyargs opspec.conformance"
        )
    items.sort(key=lambda item: isinstance(item, Conclusion))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Explain the failures; let a run fail that proves nothing and whose conclusion is left out."""
    for run in session.config.stash[RUNS]:
        _explain(run, session.config)
        passed = session.exitstatus == pytest.ExitCode.OK
        if passed and not run.concluded and run.results and run.objections():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _explain(run: Run, config: pytest.Config) -> None:
    """Add to the failures, before they are printed, what they look like and a program."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not run.faults:
        return
    run.explain_failures()
    for report in reporter.getreports("failed"):
        if report.nodeid in run.faults:
            report.longrepr = _described(run.results[run.faults[report.nodeid]])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say for each backend how much was run."""
    for run in config.stash[RUNS]:
        if run.results:
            amount = f"{len(run.results)} of {len(run.selection.tasks)} cases"
            only = " (partial: it proves nothing more)" if run.partial else ""
            terminalreporter.write_line(
                f"opspec: {run.subject.name}: suite {run.selection.suite}, {amount}{only}"
            )
            if not run.concluded:
                for objection in run.objections():
                    terminalreporter.write_line(
                        f"opspec: {run.subject.name}: {objection}", red=True
                    )


class SuiteFile(pytest.File):
    """The suite: for each backend all cases."""

    def collect(self) -> "Iterator[BackendRun]":
        """Yield the backends."""
        names: list[str] = self.config.getoption("opspec_backend") or []
        if not names:
            self.config.stash[REFUSALS].append(
                "opspec's suite needs to know which backend: --opspec-backend NAME, an installed "
                "name or module:attribute, such as --opspec-backend numpy"
            )
        for name in dict.fromkeys(names):
            yield BackendRun.from_parent(self, name=name)


class BackendRun(pytest.Collector):
    """One backend's cases."""

    def collect(self) -> "Iterator[CaseItem | Conclusion]":
        """Yield the cases and the conclusion; of a backend that cannot run here only that."""
        try:
            run = _planned(self.name, self.config)
        except (ModuleNotFoundError, RuntimeError, ValueError) as error:
            self.config.stash[REFUSALS].append(_in_words(error))
            return
        self.config.stash[RUNS].append(run)
        if run.subject.unavailable is None:
            for task in run.selection.tasks:
                yield CaseItem.from_parent(self, name=task.identity, run=run, task=task)
        yield Conclusion.from_parent(self, name=CONCLUSION, run=run)


def _planned(name: str, config: pytest.Config) -> Run:
    from opspec.conformance import runner
    from opspec.conformance.tasks import selected
    from opspec.registry import discovery

    if ":" in name:
        # As for `opspec check`, a module is looked for in the folder where one is.
        sys.path.insert(0, str(config.invocation_params.dir))
    backend = discovery.find(name)
    selection = selected(
        quick=bool(config.getoption("opspec_quick")),
        suite=backend.suite,
        operations=backend.capabilities.operations,
    )
    return Run(runner.subject_of(backend, name), selection)


def _in_words(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed; pip install 'opspec[conformance]'"
    return str(error)


class CaseItem(pytest.Item):
    """One case on one backend."""

    def __init__(self, *, run: Run, task: "Task", **keywords: object) -> None:
        super().__init__(**keywords)  # type: ignore[arg-type]  # pytest's own, passed on
        self.run, self.task = run, task

    def runtest(self) -> None:
        """Judge the case: return if it passed, else raise."""
        from opspec.conformance.report import FAILURES, Verdict

        result = self.run.subject.judge(self.task)
        self.run.results[self.task.identity] = result
        if result.verdict in FAILURES:
            self.run.faults[self.nodeid] = result.case
            raise FaultError(result)
        if result.verdict == Verdict.UNSUPPORTED:
            pytest.skip(result.reason)
        if result.verdict == Verdict.WORKS_BUT_UNDECLARED:
            if self.config.getoption("opspec_strict"):
                raise FaultError(result)
            self.warn(OpspecWarning(f"{self.run.subject.name}: {self.name}: {result.reason}"))

    def repr_failure(  # type: ignore[override]  # words instead of a traceback
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> object:
        """Return why it failed."""
        if not isinstance(excinfo.value, FaultError):
            return super().repr_failure(excinfo)
        return _described(excinfo.value.result)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where pytest says the item is."""
        return self.path, 0, f"{self.run.subject.name}: {self.name}"


def _described(result: "CaseResult") -> str:
    from opspec.conformance.reports.account import details

    lines = [f"{result.verdict}: {result.case}", *details(result)]
    if result.script is not None:
        lines += ["to see it with NumPy and the backend alone:", "", result.script]
    return "\n".join(lines)


class Conclusion(pytest.Item):
    """What belongs to no case: something was executed, and all that is declared."""

    def __init__(self, *, run: Run, **keywords: object) -> None:
        super().__init__(**keywords)  # type: ignore[arg-type]  # pytest's own, passed on
        self.run = run

    def runtest(self) -> None:
        """Raise if the run proves nothing, or less than is declared."""
        self.run.concluded = True
        if objections := self.run.objections():
            pytest.fail("\n".join(objections), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where pytest says the item is."""
        return self.path, 0, f"{self.run.subject.name}: {self.name}"


class FaultError(Exception):
    """A case did not pass."""

    def __init__(self, result: "CaseResult") -> None:
        super().__init__(f"{result.verdict}: {result.reason}")
        self.result = result
