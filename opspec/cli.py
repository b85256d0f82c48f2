"""The ``opspec`` command.

Exit codes: 0 all is well; 1 a rule is broken or a check failed; 2 the command line is wrong or
something that it needs is not installed; 130 stopped with Ctrl-C.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import opspec
from opspec import check_command, mutants_command, new_backend_command, ops, pages, warmup_command
from opspec.definition import OpDefinition
from opspec.errors import BackendError, OpError
from opspec.rule import TensorSpec

EPILOG = """\
examples:
  opspec list
  opspec show conv3d_transpose
  opspec infer conv3d_transpose --strides 2 --input float32:1,4,4,4,3 \\
      --filters float32:3,3,3,2,3 --output-shape 1,-1,8,8,2
  opspec check numpy
  opspec check my_package:backend -k dilated
  opspec warmup numba --dtype float32 --dtype float16
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code.

    Parameters
    ----------
    argv
        The words after ``opspec``; by default those of this process.
    """
    parser = _parser()
    chosen = parser.parse_args(_joined(sys.argv[1:] if argv is None else argv))
    try:
        code: int = chosen.run(chosen)
    except KeyboardInterrupt:
        print("opspec: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"opspec: {error}", file=sys.stderr)
        return 1
    except (OpError, BackendError) as error:
        print(f"opspec: {error}", file=sys.stderr)
        return 1
    except LookupError as error:
        print(f"opspec: {error.args[0]}", file=sys.stderr)
        return 2
    return code


def _joined(words: Sequence[str]) -> list[str]:
    """Join ``--option -1,8`` into ``--option=-1,8``, which argparse takes for another option."""
    joined: list[str] = []
    for word in words:
        if re.match(r"-\d", word) and joined and joined[-1].startswith("--"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="opspec",
        description=opspec.__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"opspec {opspec.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the operations")
    listing.add_argument(
        "--markdown", action="store_true", help="as a table of operations x backends"
    )
    listing.set_defaults(run=_list)
    show = commands.add_parser("show", help="show all that an operation's definition says")
    show.add_argument("op", metavar="OP")
    show.add_argument(
        "--json-schema", action="store_true", help="the JSON Schema of its attributes"
    )
    show.set_defaults(run=_show)
    _add_infer(commands)
    check_command.add_to(commands)
    mutants_command.add_to(commands)
    _add_golden(commands)
    warmup_command.add_to(commands)
    new_backend_command.add_to(commands)
    return parser


def _add_infer(commands: Any) -> None:
    infer = commands.add_parser(
        "infer",
        help="infer an operation's result shape",
        description="Infer the dtype and shape of a result without data. Attributes are numbers, "
        "words, or numbers with commas; operands are DTYPE:EXTENTS; -1 is an unknown extent.",
    )
    operations = infer.add_subparsers(required=True, metavar="OP")
    for name in ops.names():
        definition = ops.get(name)
        operation = operations.add_parser(name, help=definition.summary)
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
        operation.set_defaults(run=_infer, definition=definition)


def _add_golden(commands: Any) -> None:
    golden = commands.add_parser("golden", help="look after the golden cases")
    actions = golden.add_subparsers(required=True, metavar="ACTION")
    verify = actions.add_parser(
        "verify",
        help="make every case anew and compare",
        description="Make operands and expected values anew from seed and oracles, and compare "
        "with the golden files.",
    )
    verify.add_argument(
        "--tensorflow-python", metavar="PYTHON", help="ask the TensorFlow of this Python as well"
    )
    verify.set_defaults(run=_golden_verify)


def _list(chosen: argparse.Namespace) -> int:
    print(pages.support_table() if chosen.markdown else pages.listing())
    return 0


def _show(chosen: argparse.Namespace) -> int:
    definition = ops.get(chosen.op)
    print(pages.json_schema(definition) if chosen.json_schema else pages.page(definition))
    return 0


def _infer(chosen: argparse.Namespace) -> int:
    definition: OpDefinition = chosen.definition
    given = vars(chosen)
    fields = definition.Attributes.model_fields
    attributes = definition.Attributes(**{name: given[name] for name in fields if name in given})
    operands = {operand.name: given[operand.name] for operand in definition.operands}
    result = definition.infer(attributes, **operands)
    print(f"{result.dtype} {list(result.shape)}")
    return 0


def _golden_verify(chosen: argparse.Namespace) -> int:
    verify = check_command.needed("opspec.conformance.generate.verify", "conformance")
    if verify is None:
        return 2
    return int(verify.verify(chosen.tensorflow_python))


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


if __name__ == "__main__":
    sys.exit(main())
