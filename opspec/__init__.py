"""Define an operation once, implement it many times, prove that they agree.

The first operations are exactly TensorFlow's `tf.nn.conv3d_transpose` and
`tf.raw_ops.Conv3DBackpropInputV2`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from opspec.errors import OpError

if TYPE_CHECKING:
    from opspec import compat, errors, nn, ops, raw_ops
    from opspec.explanation import explain
    from opspec.gradients import vjp
    from opspec.registry.selection import use_backend
    from opspec.registry.warming import warmup
    from opspec.rule import TensorSpec
    from opspec.threads import thread_limit

__version__ = "0.1.0"

__all__ = [
    "OpError",
    "TensorSpec",
    "compat",
    "errors",
    "explain",
    "nn",
    "ops",
    "raw_ops",
    "thread_limit",
    "use_backend",
    "vjp",
    "warmup",
]

# Loaded at the first use: building the attributes models takes longer than importing NumPy.
_HOMES = {
    "TensorSpec": "opspec.rule",
    "explain": "opspec.explanation",
    "thread_limit": "opspec.threads",
    "use_backend": "opspec.registry.selection",
    "vjp": "opspec.gradients",
    "warmup": "opspec.registry.warming",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in __all__:
        found = importlib.import_module(f"opspec.{name}")
    else:
        raise AttributeError(f"module 'opspec' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
