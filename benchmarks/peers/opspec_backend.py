"""opspec itself, through its public function with a named backend."""

import inspect
from typing import Any

import opspec
from opspec.registry.discovery import find
from peers import Array, Call, Operands, Refused


class OpspecBackend:
    """One backend of `opspec.nn.conv3d_transpose`.

    Parameters
    ----------
    backend
        Its name.

    Raises
    ------
    Refused
        If it cannot run here.
    """

    channels_first = False

    def __init__(self, backend: str) -> None:
        reason = find(backend).unavailable_reason()
        if reason:
            raise Refused(reason)
        self._backend = backend
        self.packages: tuple[str, ...] = ("opspec", "numpy")
        if backend != "numpy":
            self.packages += (backend,)

    def prepared(self, operands: Operands) -> Call:
        """Return a call of the public function; see `peers.Peer`."""
        workload = operands.workload
        keywords: dict[str, Any] = {"backend": self._backend}
        if operands.out is not None:
            if "out" not in inspect.signature(opspec.nn.conv3d_transpose).parameters:
                raise Refused("this version of opspec has no out=")
            keywords["out"] = operands.out

        def call() -> Array:
            result: Array = opspec.nn.conv3d_transpose(
                operands.input,
                operands.filters,
                workload.output_shape,
                workload.strides,
                workload.padding,
                workload.data_format,
                workload.dilations,
                **keywords,
            )
            return result

        return call
