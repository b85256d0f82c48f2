"""The aliases of `tf.compat.v1`."""

from opspec import raw_ops

__all__ = ["raw_ops"]
