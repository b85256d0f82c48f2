"""``opspec check``: the conformance suite on backends, shown and written down."""

import argparse
import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opspec.command_line import add_command
from opspec.registry import discovery
from opspec.terminal import complain
from opspec.terminal import console as terminal_console

WRITERS = {
    "json": ("as_json", "the results, for other programs"),
    "junit": ("as_junit", "the results as JUnit XML, for CI servers"),
    "html": ("as_html", "a page with a matrix of what works, and every failure"),
    "badge": ("badge", "an SVG badge"),
}


def add_to(commands: Any) -> None:
    """Add the command to an argument parser's commands."""
    command = add_command(
        commands,
        "check",
        help="run the conformance suite on backends",
        description="Run the conformance suite on backends. Exits 0 only if every backend passed "
        "all that it declares; a run that executes nothing does not.",
        examples=[
            "opspec check numpy",
            "opspec check my_package:backend -k dilated",
            "opspec check numpy numba --strict --html report.html --junit report.xml",
            "opspec check my_package:backend --isolate --timeout 20",
        ],
    )
    command.add_argument(
        "backends", nargs="+", metavar="BACKEND", help="an installed name, or module:attribute"
    )
    command.add_argument("-k", dest="pattern", metavar="TEXT", help="only cases whose id has TEXT")
    command.add_argument(
        "--quick",
        action="store_true",
        help="every golden case, but few forms and few examples of each property",
    )
    command.add_argument(
        "--strict", action="store_true", help="what works without being declared is a failure"
    )
    command.add_argument(
        "--isolate",
        action="store_true",
        help="run in a process of its own, so that a crash is a verdict and a hang ends",
    )
    command.add_argument(
        "--emulated",
        action="store_true",
        help="run each backend's kernels without its device, on an emulator of its own",
    )
    command.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help="with --isolate: how long one case may take (default 60)",
    )
    command.add_argument(
        "--suite",
        type=int,
        metavar="VERSION",
        help="run this version of the suite (default: the one the backend pins, or the newest)",
    )
    for name, (_, what) in WRITERS.items():
        command.add_argument(f"--{name}", type=Path, metavar="FILE", help=f"write {what}")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    # An author checks module:attribute from the folder that the module lies in.
    sys.path.insert(0, os.getcwd())
    rich = needed("rich.console", "cli")
    runner = needed("opspec.conformance.runner", "conformance")
    writers = {
        option: needed(f"opspec.conformance.reports.{module}", "conformance")
        for option, (module, _) in WRITERS.items()
        if getattr(chosen, option) is not None
    }
    if rich is None or runner is None or None in writers.values():
        return 2
    terminal = importlib.import_module("opspec.conformance.reports.terminal")
    refusal = _refusal(chosen)
    if refusal is not None:
        complain(refusal)
        return 2
    console = terminal_console()
    reports = []
    for backend in _checked(chosen):
        with terminal.progress(console, backend) as advance:
            report = runner.check(
                backend,
                pattern=chosen.pattern,
                strict=chosen.strict,
                quick=chosen.quick,
                isolate=chosen.isolate,
                timeout=chosen.timeout or 60.0,
                suite=chosen.suite,
                progress=advance,
            )
        terminal.show(console, report)
        reports.append(report)
    if len(reports) > 1:
        terminal.compare(console, reports)
    for option, writer in writers.items():
        writer.write(reports, getattr(chosen, option))
    return 0 if all(report.ok for report in reports) else 1


def _refusal(chosen: argparse.Namespace) -> str | None:
    """Say what is wrong with the options, before anything is run."""
    if chosen.timeout is not None and not chosen.isolate:
        return "--timeout needs --isolate: only another process can be ended"
    suite = importlib.import_module("opspec.conformance.tasks").SUITE
    if chosen.suite is not None and not 1 <= chosen.suite <= suite:
        return f"there is no version {chosen.suite} of the suite; this opspec has 1 to {suite}"
    for name in chosen.backends:
        if ":" not in name:
            discovery.refuse_unknown(name)
    if chosen.emulated:
        for name in chosen.backends:
            if _emulator_of(name) is None:
                return f"backend {name!r} has no emulator: it declares no emulated="
    return unwritable({option: getattr(chosen, option) for option in WRITERS})


def unwritable(files: Mapping[str, Path | None]) -> str | None:
    """Say what is wrong with the files that options name, or None."""
    taken: dict[Path, str] = {}
    for option, file in files.items():
        if file is None:
            continue
        if not file.parent.is_dir():
            return f"there is no folder {file.parent} for --{option}"
        if file.is_dir():
            return f"--{option} {file} is a folder; name a file"
        other = taken.setdefault(file.resolve(), option)
        if other != option:
            return f"--{other} and --{option} name the same file, {file}"
    return None


def _checked(chosen: argparse.Namespace) -> list[Any]:
    """Return the names of what is to be checked."""
    return [_emulator_of(name) if chosen.emulated else name for name in chosen.backends]


def _emulator_of(name: str) -> str | None:
    """Return where the backend lies that runs the same kernels without the device, or None."""
    return discovery.find(name).emulated


def needed(module: str, extra: str) -> Any:
    """Import what a command needs; say which extra brings it if it is not there."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        complain(f"{error.name} is not installed; pip install 'opspec[{extra}]'")
        return None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
