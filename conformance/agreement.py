"""opspec beside the real TensorFlow: random calls, and a reason for every difference.

Run as ``python -m opspec.conformance.agreement`` where TensorFlow is installed. Each call goes to
opspec's NumPy backend and to TensorFlow on the CPU; what TensorFlow's CPU kernel has no case for
goes to XLA. Both must refuse, or both must be right about shape, dtype and values. What differs
must be explained by a decision of docs/semantics.md; anything else fails the run.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import opspec
from opspec.conformance.agreement_calls import make_call
from opspec.conformance.agreement_decisions import DECISIONS, Decision, explanation
from opspec.conformance.agreement_judge import Asked, Comparison, compare
from opspec.conformance.generate.tensorflow_child import TensorFlowChild

CALLS = 2000
SEED = 20261202
EVERY = 200


@dataclass
class Tally:
    """What became of the calls so far.

    Parameters
    ----------
    values, values_by_xla
        Both sides right, TensorFlow eagerly, and through XLA where its CPU kernel has no such case.
    rejections
        Both sides refuse.
    decided
        Per decision the differences that it explains.
    unexplained
        All other differences.
    """

    values: int = 0
    values_by_xla: int = 0
    rejections: int = 0
    decided: dict[Decision, list[Comparison]] = field(default_factory=dict)
    unexplained: list[Comparison] = field(default_factory=list)

    @property
    def executed(self) -> int:
        """How many calls have been made."""
        agreed = self.values + self.values_by_xla + self.rejections
        return agreed + sum(map(len, self.decided.values())) + len(self.unexplained)

    def add(self, comparison: Comparison) -> None:
        """Sort a comparison in."""
        if not comparison.agreed:
            decision = explanation(comparison)
            found = self.decided.setdefault(decision, []) if decision else self.unexplained
            found.append(comparison)
        elif comparison.ours.value is None:
            self.rejections += 1
        elif comparison.xla is None:
            self.values += 1
        else:
            self.values_by_xla += 1

    def problems(self, asked: int) -> list[str]:
        """Say why the run does not show agreement; nothing if it does."""
        found = []
        if self.unexplained:
            found.append(f"{len(self.unexplained)} unexplained differences")
        if self.executed < asked:
            found.append(f"{self.executed} of {asked} calls made")
        if not self.values or not self.values_by_xla:
            found.append("no values to compare, eagerly or through XLA")
        if not self.rejections:
            found.append("no rejections to compare")
        return found


def compare_all(calls: int, seed: int, tensorflow: Asked, report: Callable[[Tally], None]) -> Tally:
    """Make the first `calls` calls of a seed on both sides.

    Parameters
    ----------
    calls, seed
        How many, and from where.
    tensorflow
        Who answers as TensorFlow.
    report
        Called now and then with what there is.
    """
    tally = Tally()
    for index in range(calls):
        tally.add(compare(make_call(seed, index), tensorflow))
        if tally.executed % EVERY == 0:
            report(tally)
    return tally


def as_text(tally: Tally) -> str:
    """Return the unexplained differences as code, then the table."""
    lines = [f"# unexplained: {_shown(one)}\n" for one in tally.unexplained]
    rows = [
        ("agreed on a value", tally.values),
        ("agreed on a value, XLA for TensorFlow's CPU kernel (§3.1)", tally.values_by_xla),
        ("agreed on rejection", tally.rejections),
    ]
    examples = []
    for decision in DECISIONS:
        if found := tally.decided.get(decision):
            rows.append((f"{decision.section} {decision.title}", len(found)))
            examples.append(f"# {decision.section} {decision.title}: {_shown(found[0])}\n")
    rows.append(("unexplained", len(tally.unexplained)))
    width = max(len(label) for label, _ in rows)
    table = [f"{label:<{width}}  {count:>5}" for label, count in rows]
    return "\n".join([*lines, *examples, *table])


def as_json(tally: Tally, **run: Any) -> dict[str, Any]:
    """Return the run in a form for other programs."""
    decisions = [
        {
            "section": decision.section,
            "title": decision.title,
            "calls": [one.call.index for one in found],
            "example": _shown(found[0]),
        }
        for decision in DECISIONS
        if (found := tally.decided.get(decision))
    ]
    return {
        **run,
        "executed": tally.executed,
        "agreed_on_value": tally.values,
        "agreed_on_value_by_xla": tally.values_by_xla,
        "agreed_on_rejection": tally.rejections,
        "decisions": decisions,
        "unexplained": [_shown(one) for one in tally.unexplained],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit code: 0 only if every difference is explained."""
    parser = argparse.ArgumentParser(prog="python -m opspec.conformance.agreement")
    parser.add_argument("--calls", type=int, default=CALLS, help="how many calls to make")
    parser.add_argument("--seed", type=int, default=SEED, help="which calls to make")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there too")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has TensorFlow")
    options = parser.parse_args(arguments)
    started = time.monotonic()

    def report(tally: Tally) -> None:
        seconds = time.monotonic() - started
        found = len(tally.unexplained)
        print(f"{tally.executed:>6} calls, {found} unexplained, {seconds:.0f} s", flush=True)

    with TensorFlowChild(python=options.python, timeout=60.0) as tensorflow:
        try:
            version = tensorflow.version
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 2
        print(f"opspec {opspec.__version__} beside TensorFlow {version}, seed {options.seed}")
        tally = compare_all(options.calls, options.seed, tensorflow, report)
    print(as_text(tally))
    problems = tally.problems(options.calls)
    if options.json:
        run = {"seed": options.seed, "asked": options.calls, "tensorflow": version}
        written = as_json(tally, **run, opspec=opspec.__version__, problems=problems)
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    for problem in problems:
        print(f"FAILED: {problem}")
    print(f"agreement: {tally.executed} calls, {len(tally.unexplained)} unexplained")
    return 1 if problems else 0


def _shown(comparison: Comparison) -> str:
    return f"{comparison.described()}\n{comparison.call.code()}"


if __name__ == "__main__":
    sys.exit(main())
