"""``opspec infer`` and ``opspec explain``: a call spelled on the command line, without its data."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from opspec import ops
from opspec.command_line import add_command
from opspec.definition import OpDefinition
from opspec.explanation import explain, public_function
from opspec.rule import TensorSpec
from opspec.terminal import show

SPELLING = "Attributes are numbers, words, or numbers with commas; operands are DTYPE:EXTENTS"
TRANSPOSE = """conv3d_transpose --strides 2 --input float32:1,4,4,4,3 \\
      --filters float32:3,3,3,2,3"""


def add_to(commands: Any) -> None:
    """Add both commands to an argument parser's commands."""
    _add(
        commands,
        "infer",
        run_infer,
        help="infer an operation's result shape",
        description="Infer the dtype and shape of a result without data. "
        f"{SPELLING}; -1 is an unknown extent.",
        examples=[f"opspec infer {TRANSPOSE} --output-shape 1,-1,8,8,2"],
    )
    _add(
        commands,
        "explain",
        run_explain,
        help="say which backend would run a call, and why",
        description="Say which backend would run a call on NumPy's arrays, how, and at what "
        "expected cost, and why each other one would not. Nothing is computed and no memory is "
        f"taken. {SPELLING}. Exits 1 if no backend would run it.",
        examples=[
            f"opspec explain {TRANSPOSE} --output-shape 1,8,8,8,2",
            f"opspec explain {TRANSPOSE} --output-shape 1,8,8,8,2 --backend numba",
        ],
    )


def run_infer(chosen: argparse.Namespace) -> int:
    """Run ``opspec infer``; return its exit code."""
    definition: OpDefinition = chosen.definition
    fields = definition.Attributes.model_fields
    given = _given(chosen)
    attributes = definition.Attributes(**{name: given[name] for name in fields if name in given})
    operands = {operand.name: given[operand.name] for operand in definition.operands}
    result = definition.infer(attributes, **operands)
    print(f"{result.dtype} {list(result.shape)}")
    return 0


def run_explain(chosen: argparse.Namespace) -> int:
    """Run ``opspec explain``; return its exit code."""
    # As for `opspec check`, a module is looked for in the folder where one is.
    sys.path.insert(0, os.getcwd())
    function = public_function(chosen.definition)
    explanation = explain(function, **_given(chosen), backend=chosen.backend)
    show(explanation)
    return 0 if explanation.chosen is not None else 1


def _given(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the operands, and those attributes that were given, by name."""
    definition: OpDefinition = chosen.definition
    names = [*definition.Attributes.model_fields, *(one.name for one in definition.operands)]
    return {name: vars(chosen)[name] for name in names if name in chosen}


def _add(commands: Any, name: str, run: Callable[..., int], **words: Any) -> None:
    command = add_command(commands, name, **words)
    operations = command.add_subparsers(required=True, metavar="OP")
    for op in ops.names():
        definition = ops.get(op)
        operation = add_command(
            operations,
            op,
            help=definition.summary,
            description=definition.summary,
            examples=[" \\\n      ".join(_example(name, definition))],
        )
        _add_arguments(operation, definition)
        if run is run_explain:
            operation.add_argument(
                "--backend", metavar="BACKEND", help="an installed name, or module:attribute"
            )
        operation.set_defaults(run=run, definition=definition)


def _add_arguments(operation: argparse.ArgumentParser, definition: OpDefinition) -> None:
    for attribute, field in definition.Attributes.model_fields.items():
        operation.add_argument(
            _flag(attribute),
            dest=attribute,
            type=_literal,
            required=field.is_required(),
            default=argparse.SUPPRESS,
            help=field.description,
        )
    for operand in definition.operands:
        is_sizes = operand.name == definition.sizes
        operation.add_argument(
            _flag(operand.name),
            dest=operand.name,
            type=_literal if is_sizes else _spec,
            required=True,
            metavar="EXTENTS" if is_sizes else "DTYPE:EXTENTS",
            help=operand.summary,
        )


def _example(command: str, definition: OpDefinition) -> Iterator[str]:
    """Yield a command line in parts: a convolution with 3 taps and stride 2."""
    spatial = len(next(iter(definition.operands[0].dimensions.values()))) - 2
    sides = {
        "input": [1, *[8] * spatial, 2],
        "filter": [*[3] * spatial, 2, 3],
        "output": [1, *[4] * spatial, 3],
    }
    yield f"opspec {command} {definition.name} --padding SAME"
    yield f"--strides {_commas([1, *[2] * spatial, 1])}"
    if definition.sizes is not None:
        yield f"{_flag(definition.sizes)} {_commas(sides[definition.result_side])}"
    for operand, side in definition.operand_sides.items():
        yield f"{_flag(operand)} float32:{_commas(sides[side])}"


def _commas(extents: list[int]) -> str:
    return ",".join(map(str, extents))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _literal(text: str) -> Any:
    """Read a number, a list with or without brackets, or a word; the rules judge it."""
    for candidate in (text, f"[{text}]"):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    return text


def _spec(text: str) -> TensorSpec:
    dtype, _, extents = text.partition(":")
    try:
        return TensorSpec(
            dtype, tuple(int(extent) for extent in (extents.split(",") if extents else ()))
        )
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not DTYPE:EXTENTS, such as float32:1,4,4,4,3 ({error})"
        ) from error
