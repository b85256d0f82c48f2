"""The errors a caller can meet.

::

    OpError(ValueError)             a rule of an operation is broken
    ├── OpTypeError(TypeError)      … by a dtype or a type
    └── OpMemoryError(MemoryError)  … by a size that no memory holds
    BackendError(RuntimeError)      see opspec.registry
    ├── BackendUnavailable
    │   └── UnknownBackend(LookupError)
    ├── UnsupportedByBackend
    └── BackendContractError
"""

from typing import Any

from opspec.registry.errors import (
    BackendContractError,
    BackendError,
    BackendUnavailable,
    UnknownBackend,
    UnsupportedByBackend,
)

__all__ = [
    "BackendContractError",
    "BackendError",
    "BackendUnavailable",
    "OpError",
    "OpMemoryError",
    "OpTypeError",
    "UnknownBackend",
    "UnsupportedByBackend",
]


_PARTS = ("op", "argument", "rule", "sentence", "given", "allowed", "hint", "name")


class OpError(ValueError):
    """A call breaks a rule of an operation.

    Parameters
    ----------
    op
        The operation's name.
    argument
        The argument that is at fault.
    rule
        The id of the broken rule, as ``opspec show`` lists it.
    sentence
        The rule in one sentence.
    given, allowed
        What came in and what may come in, in words.
    hint
        What to do about it, where that can be said.
    name
        The `name` that the caller gave the operation.
    """

    def __init__(
        self,
        *,
        op: str,
        argument: str,
        rule: str,
        sentence: str,
        given: str,
        allowed: str,
        hint: str | None = None,
        name: str | None = None,
    ) -> None:
        self.op = op
        self.argument = argument
        self.rule = rule
        self.sentence = sentence
        self.given = given
        self.allowed = allowed
        self.hint = hint
        self.name = name
        label = f"{op} {name!r}" if name else op
        line = f"{label}: {sentence}; given {given}; allowed {allowed} [{rule}]"
        super().__init__(f"{line}\n{hint}" if hint else line)

    def named(self, name: object) -> "OpError":
        """Return this error with the caller's name for the operation in it."""
        return _rebuilt(
            type(self), self.__dict__ | {"name": name if isinstance(name, str) else None}
        )

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are rebuilt from their positional arguments when a process pool sends them.
        return (_rebuilt, (type(self), self.__dict__))


class OpTypeError(OpError, TypeError):
    """A rule about a type or dtype is broken."""


class OpMemoryError(OpError, MemoryError):
    """A rule is broken because no memory holds what was asked for."""


def _rebuilt(kind: type[OpError], state: dict[str, Any]) -> OpError:
    """Make the error again; what else was hung on it, such as notes, goes along."""
    error = kind(**{part: state[part] for part in _PARTS})
    vars(error).update({key: value for key, value in state.items() if key not in _PARTS})
    return error
