"""TensorFlow's compatibility aliases."""

from opspec.compat import v1

__all__ = ["v1"]
