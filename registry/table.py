"""(operation, backend) → kernel, checked when it is handed in."""

import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from opspec.registry.errors import BackendContractError

Kernel = Callable[..., Any]

# Importing it declares the operations. A backend may be the first to ask for them.
_DECLARED_BY = "opspec.ops"

# The optional parameter of a kernel that writes its result into an array that it is given.
OUT = "out"

_PARAMETERS: dict[str, tuple[str, ...]] = {}
_NAMES: dict[str, dict[str, None]] = {"dtypes": {}, "data_formats": {}}


def declare_operation(
    operation: str,
    parameters: tuple[str, ...],
    dtypes: Iterable[str] = (),
    data_formats: Iterable[str] = (),
) -> None:
    """Say which parameters every kernel of `operation` takes, in their order, and for what."""
    known = _PARAMETERS.setdefault(operation, parameters)
    if known != parameters:
        raise BackendContractError(
            f"operation {operation} was declared with kernel parameters {known}, "
            f"now with {parameters}; an operation has one kernel signature"
        )
    _NAMES["dtypes"].update(dict.fromkeys(dtypes))
    _NAMES["data_formats"].update(dict.fromkeys(data_formats))


def declared_operations() -> tuple[str, ...]:
    """The operations that a kernel can be handed in for."""
    importlib.import_module(_DECLARED_BY)
    return tuple(sorted(_PARAMETERS))


def declared_names(kind: str) -> tuple[str, ...]:
    """The names of a kind that some operation knows: operations, dtypes or data_formats."""
    operations = declared_operations()
    return operations if kind == "operations" else tuple(_NAMES[kind])


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
        self._take_out: set[str] = set()

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
        signature = self._signature(operation, kernel)
        self._refuse_wrong_signature(operation, kernel, signature)
        self._kernels[operation] = kernel
        if OUT in signature.parameters:
            self._take_out.add(operation)

    def copied(self) -> "KernelTable":
        """Return a table of the same kernels."""
        twin = KernelTable(self._backend)
        twin._kernels = dict(self._kernels)
        twin._take_out = set(self._take_out)
        return twin

    def get(self, operation: str) -> Kernel | None:
        """Return the kernel for `operation`, or None."""
        return self._kernels.get(operation)

    def takes_out(self, operation: str) -> bool:
        """Whether the kernel for `operation` has the optional parameter ``out``."""
        return operation in self._take_out

    def _signature(self, operation: str, kernel: Kernel) -> inspect.Signature:
        try:
            return inspect.signature(kernel)
        except (TypeError, ValueError) as error:
            expected = ", ".join(_PARAMETERS[operation])
            raise BackendContractError(
                f"backend {self._backend!r}: the kernel for {operation} must be a function of "
                f"({expected}); given {kernel!r:.60} ({error})"
            ) from error

    def _refuse_wrong_signature(
        self, operation: str, kernel: Kernel, signature: inspect.Signature
    ) -> None:
        expected, parameters = _PARAMETERS[operation], signature.parameters
        required = tuple(
            name
            for name, parameter in parameters.items()
            if parameter.default is inspect.Parameter.empty
        )
        positional = all(
            parameters[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for name in required
        )
        if required != expected or not positional:
            raise BackendContractError(
                f"backend {self._backend!r}: the kernel for {operation} does not fit\n"
                f"  expected: ({', '.join(expected)}), and {OUT}=None if it can fill an array\n"
                f"  given:    {_described(kernel)}{signature}"
            )


def _described(kernel: Kernel) -> str:
    module = getattr(kernel, "__module__", "?")
    return f"{module}.{getattr(kernel, '__qualname__', repr(kernel))}"
