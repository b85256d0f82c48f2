"""The operations, one per file. A module here that holds an OpDefinition is an operation."""

import importlib
import pkgutil

from opspec.definition import OpDefinition
from opspec.registry.table import declare_operation


def _collect() -> dict[str, OpDefinition]:
    found: dict[str, OpDefinition] = {}
    for module in pkgutil.iter_modules(__path__, prefix=f"{__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, OpDefinition):
                found[value.name] = value
    return found


_DEFINITIONS = _collect()

for _definition in _DEFINITIONS.values():
    if _definition.kernel == _definition.name:
        declare_operation(
            _definition.kernel,
            _definition.kernel_parameters,
            _definition.operands[-1].dtypes,
            _definition.operands[-1].dimensions,
        )


def names() -> tuple[str, ...]:
    """Return the names of all operations, sorted."""
    return tuple(sorted(_DEFINITIONS))


def get(name: str) -> OpDefinition:
    """Return the definition of an operation.

    Raises
    ------
    LookupError
        If there is none of that name.
    """
    try:
        return _DEFINITIONS[name]
    except KeyError:
        known = ", ".join(names())
        raise LookupError(f"no operation is named {name!r}; operations are {known}") from None
