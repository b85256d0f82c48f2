"""What compare.py, variants.py and sweep.py have in common: their options, mostly."""

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import machine
from memory import available_bytes
from peers import LIBRARIES
from results import Bench
from workload import Workload

INTERRUPTED = 130
# Set from outside, they change how fast the libraries are; the numbers of threads are set here.
WATCHED = (
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "NUMBA_CPU_NAME",
    "OMP_PROC_BIND",
    "OMP_WAIT_POLICY",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "TF_ENABLE_ONEDNN_OPTS",
)


def parser(description: str | None, *, rounds: int, limit_s: float) -> argparse.ArgumentParser:
    """Return a parser of the options that every mode has.

    Parameters
    ----------
    description
        The mode's.
    rounds, limit_s
        Its defaults.
    """
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("--threads", type=_numbers, default=_all_threads(), help="such as 1,2 (1 and all cores)")
    add("--rounds", type=int, default=rounds, help="turns of each (default %(default)s)")
    add("--limit", type=float, default=limit_s, help="seconds a call may take (%(default)s)")
    add("--output", type=Path, default=Path("out/bench"), help="folder (default %(default)s)")
    add("--max-bytes", type=float, help="skip what needs more (default: half of what is free)")
    add(
        "--python",
        action="append",
        type=_place,
        default=[],
        metavar="LIBRARY=PATH",
        help=f"the interpreter of {', '.join(dict.fromkeys(LIBRARIES.values()))}; repeatable",
    )
    return made


def add_workloads(made: argparse.ArgumentParser) -> None:
    """Add the option that chooses workloads.

    Parameters
    ----------
    made
        Where.
    """
    made.add_argument(
        "--workloads",
        nargs="+",
        default=["study"],
        metavar="NAME",
        help="names, study (13) or real (77); default study",
    )


def add_peers(made: argparse.ArgumentParser, default: list[str]) -> None:
    """Add the option that chooses peers.

    Parameters
    ----------
    made
        Where.
    default
        Which ones.
    """
    made.add_argument(
        "--peers",
        nargs="+",
        choices=LIBRARIES,
        default=default,
        metavar="PEER",
        help=f"of {', '.join(LIBRARIES)}; default {' '.join(default)}",
    )


def _place(text: str) -> tuple[str, str]:
    library, equals, path = text.partition("=")
    if not equals or library not in LIBRARIES.values():
        raise argparse.ArgumentTypeError(f"{text!r} is not LIBRARY=PATH with a known library")
    return library, path


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return list(dict.fromkeys(numbers))


def _all_threads() -> list[int]:
    return list(dict.fromkeys([1, machine.usable_cores()]))


def begun(program: str, arguments: list[str] | None) -> Bench:
    """Return a run with nothing measured yet.

    Parameters
    ----------
    program
        The script.
    arguments
        Its arguments; None for those of this process.
    """
    return Bench(
        machine=machine.described("numpy", "opspec"),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        command=[program, *(sys.argv[1:] if arguments is None else arguments)],
        load=[os.getloadavg()],
        environment={name: os.environ[name] for name in WATCHED if name in os.environ},
    )


def too_large(workload: Workload, processes: int, most: float | None) -> str | None:
    """Say why a workload does not fit in memory, or return None.

    Parameters
    ----------
    workload
        The problem.
    processes
        How many hold operands at once.
    most
        The bytes that they may take; None for half of what is free.
    """
    if most is None:
        free = available_bytes()
        if free is None:
            return None
        most = free / 2
    # All hold their operands, once as made and once as arranged; one holds its result and scratch.
    needed = 2 * processes * workload.operand_bytes + 3 * workload.result_bytes
    if needed <= most:
        return None
    return f"it may need {needed / 1e9:.1f} GB and {most / 1e9:.1f} GB is allowed"


def say(line: str) -> None:
    """Tell a person what goes on."""
    print(line, file=sys.stderr, flush=True)
