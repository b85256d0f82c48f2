"""What TensorFlow was recorded to do, and the page that maps it."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

from page_text import page_name, section_link, table
from record_behaviour import RECORD

from opspec import ops
from opspec.conformance.agreement_decisions import DECISIONS
from opspec.definition import OpDefinition

WAYS = {"cpu": "TF, CPU", "onednn": "TF, oneDNN", "xla": "TF, XLA"}
Answers: TypeAlias = dict[str, Any]


@cache
def record() -> dict[str, Any]:
    """Return the record."""
    read: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return read


def recorded(definition: OpDefinition, lane: str) -> dict[str, Answers]:
    """Return the recorded cases of a lane by name; none if the operation came after the record."""
    cases = record()["operations"].get(definition.name, {"cases": {}})["cases"]
    named = ((name.partition("/"), answers) for name, answers in cases.items())
    return {name: answers for (found, _, name), answers in named if found == lane}


def in_short(answer: dict[str, str]) -> str:
    """Return a cell that says what one way of TensorFlow did; bold where opspec does otherwise."""
    did, said = answer["did"], answer["said"]
    words = {
        "error": "refuses",
        "crash": f"**dies, {said}**",
        "timeout": "**no answer**",
        "right": "the same",
        "wrong": f"**{said}**",
        "value": f"**takes it**: {said}",
    }
    return words[did]


def differs(answers: Answers, *, refused: bool) -> bool:
    """Tell whether some way of TensorFlow does otherwise than opspec, which refuses or answers."""
    agreed = "error" if refused else "right"
    return any(answers[way]["did"] != agreed for way in WAYS)


def differences(definition: OpDefinition) -> str:
    """Return a table of what TensorFlow does otherwise than opspec, with the cases that show it."""
    rows = [
        (f"breaks `{name}`", answers, "refuses")
        for name, answers in recorded(definition, "reject").items()
        if differs(answers, refused=True)
    ] + list(_answered_otherwise(definition))
    return table(
        ("call", *WAYS.values(), "opspec"),
        [(what, *(in_short(answers[way]) for way in WAYS), ours) for what, answers, ours in rows],
    )


def page() -> str:
    """Return the page that maps TensorFlow's behaviour."""
    return "\n".join(_page_lines()) + "\n"


def _answered_otherwise(definition: OpDefinition) -> Iterator[tuple[str, Answers, str]]:
    """Yield the calls that opspec answers and TensorFlow does not, alike ones together."""
    for name, answers in recorded(definition, "accept").items():
        if differs(answers, refused=False):
            yield f"just keeps `{name}`", answers, "answers"
    alike: dict[tuple[str, ...], tuple[Answers, list[str]]] = {}
    for name, answers in recorded(definition, "exact").items():
        key = (answers["shows"], *(in_short(answers[way]) for way in WAYS))
        alike.setdefault(key, (answers, []))[1].append(name)
    for (shows, *_), (answers, cases) in alike.items():
        yield f"{shows}: {_listed(cases)}", answers, "answers"


def _listed(cases: list[str], most: int = 2) -> str:
    shown = ", ".join(f"`exact/{case}`" for case in cases[:most])
    return shown if len(cases) <= most else f"{shown} and {len(cases) - most} more"


def _page_lines() -> Iterator[str]:
    versions = record()["versions"]
    yield "# What TensorFlow does"
    yield ""
    yield (
        f"Every golden case that is a call was made with TensorFlow {versions['tensorflow']} "
        f"({record()['machine']}, Python {versions['python']}), each time in a process of its "
        "own and in three ways: eagerly on the CPU without oneDNN, the same with oneDNN, and "
        "compiled by XLA for the CPU. `docs/generate/record_behaviour.py` makes the record anew; "
        "this page is made from it. **Bold** is what opspec does not do."
    )
    yield ""
    yield "## What opspec adopted where TensorFlow's ways part, or part from its documents"
    yield ""
    rows = [(section_link(one.section), one.title.replace("_", r"\_")) for one in DECISIONS]
    yield table(("decided in", "opspec; TensorFlow"), rows)
    yield ""
    yield (
        "`python -m opspec.conformance.agreement` asks TensorFlow thousands of random calls, "
        "and fails if one differs for another reason than these."
    )
    for name in ops.names():
        yield from _operation_lines(ops.get(name))


def _operation_lines(definition: OpDefinition) -> Iterator[str]:
    yield ""
    yield f"## {definition.name}"
    yield ""
    broken = recorded(definition, "reject")
    if not broken:
        yield "Not recorded yet."
        return
    page = f"operations/{page_name(definition)}.md"
    yield (
        "Calls that break a rule and none before it; opspec refuses each by "
        f"[that rule]({page}#rules)."
    )
    yield ""
    sources = {rule.label: rule.source for rule in definition.rules}
    rows = [
        (f"`{name}`", *(in_short(answers[way]) for way in WAYS), section_link(sources[name]))
        for name, answers in broken.items()
        if name in sources
    ]
    yield table(("rule", *WAYS.values(), "source"), rows)
    yield ""
    yield from _exact_lines(definition)


def _exact_lines(definition: OpDefinition) -> Iterator[str]:
    counts = record()["operations"][definition.name]["exact"]
    rows = [
        (
            title,
            *(str(counts[way].get(did, 0)) for did in ("right", "error", "wrong")),
            str(counts[way].get("crash", 0) + counts[way].get("timeout", 0)),
        )
        for way, title in WAYS.items()
    ]
    yield "Golden calls whose result is known to the bit:"
    yield ""
    yield table(("", "the same", "refuses", "otherwise", "dies"), rows)
    yield ""
    yield f"[Which these are](operations/{page_name(definition)}.md#where-tensorflow-differs)."
