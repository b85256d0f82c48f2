"""Programs of at most 15 lines that show a fault with NumPy, opspec and the backend alone.

A program makes its operands, calls the operation, and asserts that the result is the definition's,
worked out in float64 beside it. It ends with an AssertionError, or what the backend raises, where
the fault is, and with exit status 0 where it is not. It needs no file and none of the suite.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np

from opspec.conformance.problems import LARGEST_SUM
from opspec.conformance.script_forms import FORMS, plain
from opspec.conformance.script_operands import (
    embedded,
    literal,
    normal_numbers,
    ones,
    whole_numbers,
)
from opspec.conformance.script_problem import ScriptProblem
from opspec.conformance.tolerance import LARGEST_RHO, LARGEST_RMS_RHO, UNIT_ROUNDOFF
from opspec.registry import Backend

MOST_LINES = 15

Shows: TypeAlias = Callable[[str], bool]
Measure = Literal["exact", "bounded", "mean"]


def write(
    operation: str,
    arguments: dict[str, Any],
    *,
    backend: str,
    form: str | None = None,
    bounded: bool = False,
    shows: Shows | None = None,
) -> str:
    """Write a program that shows a fault.

    Parameters
    ----------
    operation, arguments
        The call, as it was made.
    backend
        The name, or ``module:attribute``, that the program calls for.
    form
        How the operands lie or the call is made: a key of ``script_forms.FORMS``.
    bounded
        Whether the operands are such that sums are rounded.
    shows
        Whether a program shows the fault; tried on operands that are simpler than the given ones.
        By default it is run here and must end with an AssertionError.

    Returns
    -------
    str
        The first program that shows the fault; if none does, the one with just these operands.

    Raises
    ------
    LookupError
        If there is no such form.
    """
    if form is not None and form not in FORMS:
        raise LookupError(f"there is no form {form!r}; forms are {', '.join(FORMS)}")
    problem = ScriptProblem.of(operation, arguments)
    shows = shows or failing_here(backend)
    own: Measure = "bounded" if bounded else "exact"
    short = [literal(operand) for operand in problem.operands]
    if None in short:
        for program in _candidates(problem, backend, form, own):
            if shows(program):
                return program
    texts = [text or embedded(a) for text, a in zip(short, problem.operands, strict=True)]
    exact = _program(problem, texts, backend, form, own)
    if bounded and not shows(exact):
        worse = _program(problem, texts, backend, form, "mean")
        return worse if shows(worse) else exact
    return exact


def failing_here(backend: "str | Backend", raises: type[BaseException] = AssertionError) -> Shows:
    """Return what runs a program in this process and says whether it fails as it should.

    Parameters
    ----------
    backend
        What the program's backend stands for here.
    raises
        The exception that it must end with.
    """

    def shows(script: str) -> bool:
        runnable = script
        if isinstance(backend, Backend):
            runnable = re.sub(r"backend='[^']*'\)", "backend=BACKEND)", script)
        program = compile(runnable, "<reproduction>", "exec", dont_inherit=True, optimize=0)
        try:
            with np.errstate(all="ignore"):
                exec(program, {"__name__": "__main__", "BACKEND": backend})
        except (Exception, SystemExit) as error:
            return isinstance(error, raises)
        return False

    return shows


def _candidates(
    problem: ScriptProblem, backend: str, form: str | None, own: Measure
) -> Iterator[str]:
    """Yield programs with operands that are simpler than the given ones."""
    for reach in (9, 2):
        made = [np.full(a.shape, reach) for a in problem.operands]
        if _is_exact(problem, *made):
            texts = [whole_numbers(a, reach, 7 + n) for n, a in enumerate(problem.operands)]
            yield _program(problem, texts, backend, form, "exact")
            break
    texts = [ones(operand) for operand in problem.operands]
    exact = _is_exact(problem, *(np.ones(a.shape) for a in problem.operands))
    yield _program(problem, texts, backend, form, "exact" if exact else "bounded")
    texts = [normal_numbers(a, 7 + n) for n, a in enumerate(problem.operands)]
    yield _program(problem, texts, backend, form, "bounded")
    if own == "bounded":
        yield _program(problem, texts, backend, form, "mean")


def _is_exact(problem: ScriptProblem, data: np.ndarray[Any, Any], other: Any) -> bool:
    """Whether no sum of operands up to these can need rounding."""
    largest = problem.magnitude(data, other).max(initial=0)
    return bool(largest <= LARGEST_SUM[problem.dtype])


def _program(
    problem: ScriptProblem, texts: list[str], backend: str, form: str | None, measure: Measure
) -> str:
    call = problem.call(backend)
    shaped = (FORMS[form] if form else plain)(problem, call)
    modules = [name for name in ("base64", "zlib") if f"{name}." in "".join(texts)]
    modules += shaped.modules
    modules += ["ml_dtypes"] * (problem.dtype == "bfloat16")
    lines = [
        f"import {', '.join([*modules, 'numpy as np', 'opspec'])}",
        f"data = {texts[0]}",
        f"{problem.other} = {texts[1]}",
        *shaped.lines,
        *_form_lines(problem, shaped.batched),
        *problem.definition(with_size=measure != "exact"),
        *_comparison(problem, measure),
    ]
    assert len(lines) <= MOST_LINES, lines
    return "\n".join(lines) + "\n"


def _form_lines(problem: ScriptProblem, batched: bool) -> list[str]:
    kind = f"np.dtype({problem.kind})"
    if batched:
        made, right = "got.dtype, got.shape[1:]", f"{kind}, {problem.shape}"
    else:
        made = "got.dtype, got.shape, got.flags.c_contiguous"
        right = f"{kind}, {problem.shape}, True"
    return [f"form = {made}; assert form == ({right}), form"]


def _comparison(problem: ScriptProblem, measure: Measure) -> list[str]:
    unit = f"2**{int(np.log2(UNIT_ROUNDOFF[problem.dtype]))}"
    if measure == "mean":
        floor = "np.maximum(size, 1e-300)"
        return [
            f"units = np.sqrt(np.mean(((got.astype(float) - want) / {unit} / {floor}) ** 2))",
            f'assert units <= {LARGEST_RMS_RHO:g}, f"root mean square error: {{units}} units of '
            f'rounding given, at most {LARGEST_RMS_RHO:g} expected"',
        ]
    right = "(got == want) | (got != got) & (want != want)"
    if measure == "bounded":
        limit = f"{LARGEST_RHO:g} * {unit} * size"
        right = f"{right} | (abs(got.astype(float) - want) <= {limit})"
    return [
        f"wrong = [tuple(place) for place in np.argwhere(~({right})).tolist()]",
        'assert not wrong, f"{len(wrong)} of {got.size} elements are wrong; {wrong[0]} first: '
        '{got[wrong[0]]} given, {want[wrong[0][-5:]]} expected"',
    ]
