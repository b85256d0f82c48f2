"""The forms of operands and of calls, as lines of a program.

`data` and `taps` or `grad` are the operands; what comes of the lines is `got`. Where several calls
are made, `got` holds the results one behind the other, each brought to what one call should give.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from opspec.conformance.script_problem import ScriptProblem

THREADS, ROUNDS, CALLS = 8, 4, 40


@dataclass(frozen=True)
class Shaped:
    """Lines that end with `got`.

    Parameters
    ----------
    lines
        The lines.
    batched
        Whether `got` holds several results.
    modules
        What they need beyond NumPy and opspec.
    """

    lines: tuple[str, ...]
    batched: bool = False
    modules: tuple[str, ...] = ()


Form: TypeAlias = Callable[[ScriptProblem, str], Shaped]


def plain(problem: ScriptProblem, call: str) -> Shaped:
    """Call once, operands as they are."""
    return Shaped((f"got = {call}",))


def _each(change: str, *before: str) -> Form:
    """Return a form that changes how both operands lie; `change` is about one called `a`."""

    def form(problem: ScriptProblem, call: str) -> Shaped:
        changed = f"{problem.names} = ({change} for a in ({problem.names}))"
        return Shaped((*before, changed, f"got = {call}"))

    return form


def _read_only(problem: ScriptProblem, call: str) -> Shaped:
    flags = f"data.flags.writeable = {problem.other}.flags.writeable = False"
    return Shaped((flags, f"got = {call}"))


def _broadcast(problem: ScriptProblem, call: str) -> Shaped:
    repeated = (
        f"{one.variable} = np.broadcast_to({one.variable}.take([0], {one.own}), "
        f"{one.variable}.shape)"
        for one in problem.common
    )
    return Shaped((*repeated, f"got = {call}"))


def _inputs_unchanged(problem: ScriptProblem, call: str) -> Shaped:
    other = problem.other
    return Shaped(
        (
            f"before = data.tobytes() + {other}.tobytes()",
            f"got = {call}",
            f'assert before == data.tobytes() + {other}.tobytes(), "an operand has changed"',
            f"assert not (np.shares_memory(got, data) or np.shares_memory(got, {other})), "
            '"the result shares memory with an operand"',
        )
    )


def _poisoned(problem: ScriptProblem, call: str) -> Shaped:
    count = 1
    for size in problem.shape:
        count *= size
    sizes = f"[{count} * width for width in (2, 4, 8) * 4] + [64 * n for n in range(1, 17)]"
    return Shaped(
        (
            "def poisoned(byte):",
            f"    [np.full(size, byte, np.uint8) for size in {sizes}]",
            f"    return {call}",
            "got = np.stack([poisoned(0xFF), poisoned(0x3C)])",
        ),
        batched=True,
    )


def _given_out(problem: ScriptProblem, call: str) -> Shaped:
    with_out = call.replace("backend=", "out=out, backend=")
    return Shaped(
        (
            f"arrays = [np.full({problem.shape}, np.nan, {problem.kind}) for _ in range(2)]",
            f"call = lambda out=None: {with_out}",
            "results = [call(out) for out in arrays]; call(); got = np.stack(results)",
            'assert all(a is b for a, b in zip(results, arrays)), "out was not returned"',
        ),
        batched=True,
    )


def _repeated(problem: ScriptProblem, call: str) -> Shaped:
    one, two = problem.common
    middle = ", ".join(f"{each.variable}.shape[{each.own}] // 2" for each in (one, two))
    part = ", ".join(
        f"({each.variable}[{_at(each.own, at)}], np.s_[{_at(each.result, at)}])"
        for each, at in ((one, "m"), (two, "n"))
    )
    return Shaped(
        (
            f"call = lambda: {call}; m, n = {middle}; got = [call()]",
            # Each brought to what one call should give.
            f"for a, b in [(data, ...), ({problem.other}, ...), {part}]: np.negative(a, out=a); "
            "got.append(call().copy()); np.negative(a, out=a); np.negative(got[-1][b], "
            "out=got[-1][b])",
            f"np.negative(data, out=data); more = [call() for _ in range({CALLS})]; "
            "np.negative(data, out=data); got = np.stack([*got, call()])",
            "assert all(np.array_equal(got[0], g, equal_nan=True) for g in got), "
            '"the same call gives another result at another time"',
        ),
        batched=True,
    )


def _at(axis: int, index: str) -> str:
    """Return what takes one place along an axis, as text between brackets."""
    return ":, " * axis + f"{index}:{index} + 1"


def _threads(problem: ScriptProblem, call: str) -> Shaped:
    pool = f"concurrent.futures.ThreadPoolExecutor({THREADS})"
    return Shaped(
        (
            f"gate, pool = threading.Barrier({THREADS}), {pool}",
            f"call = lambda data: (gate.wait(), {call})[1]",
            # Not pool.map: it cancels those that the others at the gate would wait for.
            f"runs = [pool.submit(call, a) for a in [data, -data] * {THREADS * ROUNDS // 2}]",
            "got = np.stack([-r.result() if n % 2 else r.result() for n, r in enumerate(runs)])",
        ),
        batched=True,
        modules=("concurrent.futures", "threading"),
    )


def _settings(problem: ScriptProblem, call: str) -> Shaped:
    return Shaped(
        (
            "f = np.float32; numbers = f(1), f(1.5 * 2**-24), f(2**-130)",
            "settings = lambda: (np.geterr(), str(np.random.get_state()), random.getstate(), "
            "numbers[0] + numbers[1], -numbers[0] - numbers[1], numbers[2] * numbers[0])",
            f"before = settings(); got = {call}",
            'assert before == settings(), "the kernel changed what the whole process shares"',
        ),
        modules=("random",),
    )


FORMS: dict[str, Form] = {
    "strided": _each(
        "gaps(a)",
        "def gaps(a): room = np.full((*a.shape[:2], 2, *a.shape[2:], 2), np.nan, a.dtype); "
        "room[:, :, 0, ..., 0] = a; return room[:, :, 0, ..., 0]",
    ),
    "negative-stride": _each("np.flip(np.flip(a).copy())"),
    "fortran": _each("np.asfortranarray(a)"),
    "read-only": _read_only,
    "big-endian": _each('a.astype(a.dtype.newbyteorder(">"))'),
    "misaligned": _each(
        "odd(a)",
        "def odd(a): room = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape); "
        "room[...] = a; return room",
    ),
    "broadcast": _broadcast,
    "inputs-unchanged": _inputs_unchanged,
    "poisoned": _poisoned,
    "out": _given_out,
    "repeated": _repeated,
    "threads": _threads,
    "settings": _settings,
}
