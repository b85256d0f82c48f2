"""Which backend would run a call, and why each other one would not."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from opspec import ops
from opspec.calling import explain_call
from opspec.definition import OpDefinition
from opspec.registry.selection import Explanation

__all__ = ["explain"]


def explain(op: str | Callable[..., Any], *arguments: Any, **keywords: Any) -> Explanation:
    """Say which backend would run a call, and why each other one would not. Runs nothing.

    Parameters
    ----------
    op
        An operation's name, or its public function.
    *arguments, **keywords
        What the public function would be called with. An operand may also be a `TensorSpec`, which
        stands for a NumPy array without taking its memory.

    Returns
    -------
    Explanation
        Print it, or look at ``chosen`` and ``candidates``.

    Raises
    ------
    LookupError
        If `op` is no operation.
    opspec.errors.OpError
        If the call breaks a rule.

    Examples
    --------
    >>> import numpy as np
    >>> import opspec
    >>> ones = np.ones((1, 1, 1, 1, 1), np.float32)
    >>> reason = opspec.explain("conv3d_transpose", ones, ones, [1, 1, 1, 1, 1], 1, backend="numpy")
    >>> reason.chosen
    'numpy'
    """
    definition = definition_of(op)
    bound = inspect.signature(public_function(definition)).bind(*arguments, **keywords)
    bound.apply_defaults()
    given = bound.arguments
    return explain_call(
        definition,
        tuple(given[name] for name in definition.Attributes.model_fields),
        tuple(given[name] for name in definition.kernel_operands),
        None if definition.sizes is None else given[definition.sizes],
        given["name"],
        given["backend"],
    )


def public_function(definition: OpDefinition) -> Callable[..., Any]:
    """Return the function that callers use for an operation."""
    module, _, name = definition.public.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def definition_of(op: str | Callable[..., Any]) -> OpDefinition:
    """Return the definition of an operation, given by name or as its public function.

    Raises
    ------
    LookupError
        If it is none.
    """
    if isinstance(op, str):
        return ops.get(op)
    for name in ops.names():
        if public_function(ops.get(name)) is op:
            return ops.get(name)
    raise LookupError(f"{op!r} is no operation; operations are {', '.join(ops.names())}")
