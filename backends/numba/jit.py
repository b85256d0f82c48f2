"""How this backend's functions are compiled.

All run without the GIL. A `kernel` is called from Python. A `part` is called only from other
compiled code and is spared what calling it from Python needs; `inlined` is part of the function
around it. An `intrinsic` is written in LLVM's IR.

Functions that are made anew for each target or dtype say so in their names: the code that one
process compiled and the code that another left on disk are linked by name, and must not be taken
for each other.
"""

from collections.abc import Callable
from typing import Any

from numba import extending, njit

from opspec.backends.numba.target import Target

# Numba's own annotations know neither all of its options nor that intrinsics take no context.
intrinsic: Any = extending.intrinsic
_njit: Any = njit


def kernel(*made_for: Target | str | int | bool) -> Callable[[Callable[..., Any]], Any]:
    """Compile the decorated function, which closes over `made_for`, for calls from Python."""
    return _named(made_for, _njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True))


def part(*made_for: Target | str | int | bool) -> Callable[[Callable[..., Any]], Any]:
    """Compile the decorated function, which closes over `made_for`, for compiled callers."""
    return _named(made_for, _only_compiled(inline="never"))


def inlined(function: Callable[..., Any]) -> Any:
    """Compile the decorated function as part of its only caller."""
    return _only_compiled(inline="always")(function)


def _only_compiled(inline: str) -> Any:
    return _njit(
        nogil=True,
        error_model="numpy",
        inline=inline,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )


def _named(made_for: tuple[object, ...], compiled: Any) -> Callable[[Callable[..., Any]], Any]:
    words = [made.name if isinstance(made, Target) else str(made) for made in made_for]

    def compile_named(function: Callable[..., Any]) -> Any:
        function.__qualname__ = "_".join([function.__qualname__, *words])
        return compiled(function)

    return compile_named
