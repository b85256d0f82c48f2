"""Define an operation once, implement it many times, prove that they agree.

The first operations are exactly TensorFlow's `tf.nn.conv3d_transpose` and
`tf.raw_ops.Conv3DBackpropInputV2`.
"""

from opspec import compat, errors, nn, ops, raw_ops
from opspec.errors import OpError
from opspec.explanation import explain
from opspec.registry.selection import use_backend
from opspec.rule import TensorSpec

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
    "use_backend",
]
