"""(operation, backend) → kernel, checked when it is handed in."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from opspec.registry.errors import BackendContractError

Kernel = Callable[..., Any]

# Importing it declares the operations. A backend may be the first to ask for them.
_DECLARED_BY = "opspec.ops"

_PARAMETERS: dict[str, tuple[str, ...]] = {}


def declare_operation(operation: str, parameters: tuple[str, ...]) -> None:
    """Say which parameters every kernel of `operation` takes, in their order."""
    known = _PARAMETERS.setdefault(operation, parameters)
    if known != parameters:
        raise BackendContractError(
            f"operation {operation} was declared with kernel parameters {known}, "
            f"now with {parameters}; an operation has one kernel signature"
        )


def declared_operations() -> tuple[str, ...]:
    """The operations that a kernel can be handed in for."""
    importlib.import_module(_DECLARED_BY)
    return tuple(sorted(_PARAMETERS))


class KernelTable:
    """The kernels of one backend. A kernel that does not fit is refused at once.

    Parameters
    ----------
    backend
        The backend's name, for error messages.
    """

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._kernels: dict[str, Kernel] = {}

    def add(self, operation: str, kernel: Kernel) -> None:
        """Enter `kernel`; refuse an unknown operation, a second kernel, or a misfit."""
        if operation not in declared_operations():
            raise BackendContractError(
                f"backend {self._backend!r} implements {operation!r}, which is no operation; "
                f"operations are {', '.join(declared_operations())}"
            )
        if operation in self._kernels:
            raise BackendContractError(
                f"backend {self._backend!r} hands in a second kernel for {operation}: "
                f"{_described(kernel)}; the first one is {_described(self._kernels[operation])}"
            )
        self._refuse_wrong_signature(operation, kernel)
        self._kernels[operation] = kernel

    def copied(self) -> "KernelTable":
        """Return a table of the same kernels."""
        twin = KernelTable(self._backend)
        twin._kernels = dict(self._kernels)
        return twin

    def get(self, operation: str) -> Kernel | None:
        """Return the kernel for `operation`, or None."""
        return self._kernels.get(operation)

    def _refuse_wrong_signature(self, operation: str, kernel: Kernel) -> None:
        expected = _PARAMETERS[operation]
        try:
            signature = inspect.signature(kernel)
        except (TypeError, ValueError) as error:
            raise BackendContractError(
                f"backend {self._backend!r}: the kernel for {operation} must be a function of "
                f"({', '.join(expected)}); given {kernel!r:.60} ({error})"
            ) from error
        required = tuple(
            name
            for name, parameter in signature.parameters.items()
            if parameter.default is inspect.Parameter.empty
        )
        positional = all(
            signature.parameters[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            for name in required
        )
        if required != expected or not positional:
            raise BackendContractError(
                f"backend {self._backend!r}: the kernel for {operation} does not fit\n"
                f"  expected: ({', '.join(expected)})\n"
                f"  given:    {_described(kernel)}{signature}"
            )


def _described(kernel: Kernel) -> str:
    module = getattr(kernel, "__module__", "?")
    return f"{module}.{getattr(kernel, '__qualname__', repr(kernel))}"
