"""The ``opspec`` command.

Exit codes: 0 all is well; 1 a rule is broken or a check failed; 2 the command line is wrong (an
unknown command, operation or backend, a report that is a folder) or something that it needs is not
installed; 130 stopped with Ctrl-C.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import opspec
from opspec import (
    check_command,
    completion_command,
    doctor_command,
    mutants_command,
    new_backend_command,
    operation_commands,
    ops,
    pages,
    warmup_command,
)
from opspec.command_line import add_command
from opspec.errors import BackendError, OpError, UnknownBackend
from opspec.terminal import complain

EPILOG = """\
examples:
  opspec list
  opspec show conv3d_transpose
  opspec infer conv3d_transpose --strides 2 --input float32:1,4,4,4,3 \\
      --filters float32:3,3,3,2,3 --output-shape 1,-1,8,8,2
  opspec explain conv3d_transpose --strides 2 --input float32:1,4,4,4,3 \\
      --filters float32:3,3,3,2,3 --output-shape 1,8,8,8,2
  opspec check numpy
  opspec check my_package:backend -k dilated
  opspec warmup numba --dtype float32 --dtype float16
  opspec doctor
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
        complain("stopped")
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UnknownBackend as error:
        complain(error)
        return 2
    except (OSError, OpError, BackendError) as error:
        complain(error)
        return 1
    except LookupError as error:
        complain(error.args[0])
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
    listing = add_command(
        commands,
        "list",
        help="list the operations",
        description="List the operations, each with a sentence.",
        examples=["opspec list", "opspec list --markdown"],
    )
    listing.add_argument(
        "--markdown", action="store_true", help="as a table of operations x backends"
    )
    listing.set_defaults(run=_list)
    show = add_command(
        commands,
        "show",
        help="show all that an operation's definition says",
        description="Show all that an operation's definition says: what it computes, operands, "
        "attributes, and every rule with its source.",
        examples=["opspec show conv3d_transpose", "opspec show Conv3D --json-schema"],
    )
    show.add_argument("op", metavar="OP")
    show.add_argument(
        "--json-schema", action="store_true", help="the JSON Schema of its attributes"
    )
    show.set_defaults(run=_show)
    operation_commands.add_to(commands)
    check_command.add_to(commands)
    mutants_command.add_to(commands)
    _add_golden(commands)
    warmup_command.add_to(commands)
    doctor_command.add_to(commands)
    completion_command.add_to(commands, parser)
    new_backend_command.add_to(commands)
    return parser


def _add_golden(commands: Any) -> None:
    golden = add_command(
        commands,
        "golden",
        help="look after the golden cases",
        description="Look after the golden cases, which the conformance suite judges by.",
        examples=["opspec golden verify"],
    )
    actions = golden.add_subparsers(required=True, metavar="ACTION")
    verify = add_command(
        actions,
        "verify",
        help="make every case anew and compare",
        description="Make operands and expected values anew from seed and oracles, and compare "
        "with the golden files. Exits 1 if any differs.",
        examples=[
            "opspec golden verify",
            "opspec golden verify --tensorflow-python ~/tf/bin/python",
        ],
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


def _golden_verify(chosen: argparse.Namespace) -> int:
    verify = check_command.needed("opspec.conformance.generate.verify", "conformance")
    if verify is None:
        return 2
    return int(verify.verify(chosen.tensorflow_python))


if __name__ == "__main__":
    sys.exit(main())
