"""The calls that break each rule, as text, and the messages that they really get."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import opspec.errors
from opspec.conformance.case import Argument, Case, Golden, all_golden
from opspec.definition import OpDefinition
from opspec.explanation import public_function

LONGEST_LINE = 76


@dataclass(frozen=True)
class Rejection:
    """A call that breaks a rule.

    Parameters
    ----------
    case
        The golden case's name in its lane.
    call
        The call, as Python.
    message
        What it says.
    """

    case: str
    call: str
    message: str


def rejections(definition: OpDefinition) -> dict[str, Rejection]:
    """Make every golden call that must be refused; return, per rule's id, the first one.

    Raises
    ------
    RuntimeError
        If one is not refused, or by another rule.
    """
    found: dict[str, Rejection] = {}
    for golden in _lanes(definition, "reject"):
        for case in golden.file.cases:
            if case.rule is not None and case.rule not in found:
                message = _message(definition, golden, case)
                found[case.rule] = Rejection(case.name, as_python(definition, case), message)
    return found


def as_python(definition: OpDefinition, case: Case) -> str:
    """Return a case's call as Python, one argument a line where one line is too short."""
    name = definition.public.partition(":")[2]
    if case.through == "attributes":
        name = f"{definition.name}.Attributes"
    given = [f"{name}={_argument(value)}" for name, value in case.arguments.items()]
    line = f"{name}({', '.join(given)})"
    if len(line) <= LONGEST_LINE:
        return line
    return "\n".join([f"{name}(", *(f"    {one}," for one in given), ")"])


def _argument(written: Argument) -> str:
    if written.tensor is not None:
        return written.tensor
    if written.dtype is None:
        return repr(written.value)
    if written.zeros is not None:
        return f"np.zeros({written.zeros}, {written.dtype!r})"
    return f"np.array({written.array}, {written.dtype!r})"


def _lanes(definition: OpDefinition, lane: str) -> list[Golden]:
    return [
        golden
        for golden in all_golden()
        if golden.file.operation == definition.name and golden.file.lane == lane
    ]


def _message(definition: OpDefinition, golden: Golden, case: Case) -> str:
    try:
        _made(definition, case, golden.arguments(case))
    except opspec.errors.OpError as error:
        if error.rule == case.rule:
            return str(error)
        raise RuntimeError(f"{golden.identity(case)} breaks {error.rule} first") from error
    raise RuntimeError(f"{golden.identity(case)} is not refused")


def _made(definition: OpDefinition, case: Case, arguments: Mapping[str, Any]) -> object:
    if case.through == "attributes":
        return definition.Attributes(**arguments)
    return public_function(definition)(**arguments, backend="numpy")
