"""What a backend declares that it can do, and what a call needs of it."""

from dataclasses import dataclass

from opspec.registry.errors import BackendContractError
from opspec.registry.table import declared_names

# The fields that hold names of what operations declare.
KINDS = ("operations", "dtypes", "data_formats")


@dataclass(frozen=True, slots=True)
class Demand:
    """What one call needs of a backend.

    Parameters
    ----------
    operation
        The operation whose kernel runs.
    dtype, data_format
        Of the operands, such as ``"float32"`` and ``"NDHWC"``.
    dilated
        Whether any dilation is above 1.
    empty
        Whether any operand or the result has no element.
    arrays
        The qualified name of the caller's array type, such as ``"numpy.ndarray"``.
    multiply_adds
        How many products the call adds up, those of taps that land outside included.
    """

    operation: str
    dtype: str
    data_format: str
    dilated: bool
    empty: bool
    arrays: str
    multiply_adds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a backend declares: the product of these. What it declares it must pass.

    Parameters
    ----------
    operations, dtypes, data_formats
        The names it takes.
    dilation
        Whether dilations above 1 are taken.
    empties
        Whether operands or results without elements are taken.
    device
        Where it computes: ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    BackendContractError
        For a name that no operation knows, or what is no tuple of names.
    """

    operations: tuple[str, ...]
    dtypes: tuple[str, ...]
    data_formats: tuple[str, ...]
    dilation: bool = True
    empties: bool = True
    device: str = "cpu"

    def __post_init__(self) -> None:
        for kind in KINDS:
            _refuse_unknown_names(kind, getattr(self, kind))

    def refusal(self, demand: Demand) -> str | None:
        """Say in words why `demand` is not declared, or None if it is."""
        if demand.operation not in self.operations:
            return f"it does not declare the operation {demand.operation}"
        if demand.dtype not in self.dtypes:
            return f"it does not declare dtype {demand.dtype} (it has {', '.join(self.dtypes)})"
        if demand.data_format not in self.data_formats:
            declared = ", ".join(self.data_formats)
            return f"it does not declare data_format {demand.data_format} (it has {declared})"
        if demand.dilated and not self.dilation:
            return "it does not declare dilations above 1"
        if demand.empty and not self.empties:
            return "it does not declare empty tensors"
        return None


def _refuse_unknown_names(kind: str, names: object) -> None:
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise BackendContractError(
            f"Capabilities.{kind} is a tuple of names, such as ({declared_names(kind)[0]!r},); "
            f"given {names!r:.60}"
        )
    unknown = [name for name in names if name not in declared_names(kind)]
    if unknown:
        raise BackendContractError(
            f"Capabilities.{kind} names {unknown[0]!r}, which no operation knows; "
            f"allowed are {', '.join(declared_names(kind))}"
        )
