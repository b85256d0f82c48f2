"""Record what TensorFlow does with the golden cases, for the page on its behaviour.

Run as ``python docs/generate/record_behaviour.py --tensorflow-python PYTHON``, again whenever rules
or cases change. Each call goes to TensorFlow three times, each in a process of its own: on the CPU
without oneDNN, on the CPU with it, and compiled by XLA. ``docs/behaviour.json`` keeps what came of
every case that breaks or just keeps a rule, and of each other exact case that came out otherwise
somewhere.
"""

import argparse
import hashlib
import json
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from opspec.conformance.case import Case, Golden, all_golden
from opspec.conformance.generate.tensorflow_child import Outcome, TensorFlowChild

RECORD = Path(__file__).parents[1] / "behaviour.json"
LANES = ("reject", "accept", "exact")
# What is asked: the name of the way, whether oneDNN is on, whether XLA compiles.
WAYS = (("cpu", False, False), ("onednn", True, False), ("xla", True, True))
LONGEST = 200


def main() -> None:
    """Ask TensorFlow and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tensorflow-python", default=sys.executable, metavar="PYTHON")
    python = parser.parse_args().tensorflow_python
    version, answers = "", {}
    for way, onednn, xla in WAYS:
        with TensorFlowChild(python=python, onednn=onednn) as tensorflow:
            version = tensorflow.version
            answers[way] = list(_answers(tensorflow, xla=xla))
        print(f"{way}: {len(answers[way])} calls", flush=True)
    record = {
        "versions": {"tensorflow": version, "python": platform.python_version()},
        "machine": platform.machine(),
        "operations": _by_operation(answers),
    }
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")


def asked() -> Iterator[tuple[Golden, Case]]:
    """Yield the cases that are calls; what only models and inference see TensorFlow has not."""
    for golden in all_golden():
        if golden.file.lane in LANES:
            yield from ((golden, case) for case in golden.file.cases if case.through == "call")


def digest(case: Case) -> str:
    """Return a digest of a case's arguments: a changed case must be recorded anew."""
    written = json.dumps({k: v.model_dump() for k, v in sorted(case.arguments.items())})
    return hashlib.sha256(written.encode()).hexdigest()[:12]


def _answers(tensorflow: TensorFlowChild, *, xla: bool) -> Iterator[dict[str, Any]]:
    for golden, case in asked():
        outcome = tensorflow.call(golden.file.operation, golden.arguments(case), xla=xla)
        yield _written(outcome, golden, case)


def _written(outcome: Outcome, golden: Golden, case: Case) -> dict[str, Any]:
    if outcome.value is None:
        return {"did": outcome.status, "said": outcome.error[:LONGEST]}
    value = outcome.value
    if golden.file.lane == "reject":
        return {"did": "value", "said": f"{value.dtype.name} {list(value.shape)}"}
    fault = _fault(value, golden.expected(case))
    return {"did": "wrong" if fault else "right", "said": fault}


def _fault(value: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> str:
    """Say how a result is not the one that is known to the bit; nothing if it is."""
    if value.shape != expected.shape:
        return f"shape {list(value.shape)}, not {list(expected.shape)}"
    theirs, known = value.astype(np.float64), expected.astype(np.float64)
    other = int((~((theirs == known) | (np.isnan(theirs) & np.isnan(known)))).sum())
    return f"{other} of {known.size} elements differ" if other else ""


def _by_operation(answers: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for index, (golden, case) in enumerate(asked()):
        kept = found.setdefault(golden.file.operation, {"exact": {}, "cases": {}})
        here = {way: answers[way][index] for way, _, _ in WAYS}
        if golden.file.lane == "exact":
            for way, answer in here.items():
                counts = kept["exact"].setdefault(way, Counter())
                counts[answer["did"]] += 1
            if all(answer["did"] == "right" for answer in here.values()):
                continue
        name = f"{golden.file.lane}/{case.name}"
        kept["cases"][name] = {"digest": digest(case), "shows": case.shows, **here}
    return found


if __name__ == "__main__":
    main()
