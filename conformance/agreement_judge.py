"""Two outcomes of one call side by side: same refusal, or same shape, dtype and values."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import ml_dtypes
import numpy as np

import opspec
from opspec import ops
from opspec.conformance.agreement_calls import GeneratedCall
from opspec.conformance.generate.tensorflow_child import Outcome
from opspec.conformance.oracle_siblings import DIRECT
from opspec.conformance.tolerance import LARGEST_RHO, UNIT_ROUNDOFF
from opspec.dtypes import numpy_dtype
from opspec.explanation import public_function

Array: TypeAlias = np.ndarray[Any, Any]

CPU_RESTRICTIONS = (
    "only supports NDHWC on the CPU",
    "only supports the NHWC tensor format",
    "CPU implementation does not yet support dilation rates larger than 1",
    "only supports dilated rates of 1",
)


class Asked(Protocol):
    """Whoever answers calls as TensorFlow; the child process, or a stand-in for it in tests."""

    def call(self, op: str, arguments: dict[str, Any], *, xla: bool = False) -> Outcome:
        """Run one call."""
        ...


@dataclass(frozen=True)
class Ours:
    """What opspec made of a call: a value, a broken rule, or a failure that is neither."""

    value: Array | None = None
    rule: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Reference:
    """The sums, the sums of absolute values, and how far off a value may be."""

    sums: Array
    magnitudes: Array
    dtype: np.dtype[Any]
    exact: bool

    def deviation(self, value: Array) -> str:
        """Say how a value is off; nothing if it is right."""
        if value.dtype != self.dtype:
            return f"dtype {value.dtype} instead of {self.dtype}"
        if value.shape != self.sums.shape:
            return f"shape {value.shape} instead of {self.sums.shape}"
        with np.errstate(invalid="ignore"):
            return self._values_deviate(value.astype(np.float64))

    def _values_deviate(self, wide: Array) -> str:
        finite = np.isfinite(self.magnitudes)
        if not np.array_equal(wide[~finite], self.sums[~finite], equal_nan=True):
            return "other values where Inf or NaN reaches"
        errors = np.abs(wide - self.sums, where=finite, out=np.zeros_like(wide))
        if self.exact:
            return "" if not errors.any() else "other bits where sums are exact"
        unit = UNIT_ROUNDOFF[self.dtype.name]
        # Below the normal numbers rounding is not relative any more.
        least = _least_above_zero(self.dtype)
        allowed = LARGEST_RHO * unit * np.where(finite, self.magnitudes, 0.0) + least
        if (errors <= allowed).all():
            return ""
        excess = np.nan_to_num(errors - allowed, nan=np.inf)
        at = tuple(int(index) for index in np.unravel_index(excess.argmax(), excess.shape))
        return (
            f"{wide[at]:.9g} instead of {self.sums[at]:.9g} at {list(at)}, "
            f"beyond rho = {LARGEST_RHO:g}"
        )


@dataclass(frozen=True)
class Comparison:
    """A call and all that was made of it.

    Parameters
    ----------
    call
        The call.
    ours
        Of opspec.
    eager
        Of TensorFlow, eagerly on the CPU.
    xla
        Of TensorFlow through XLA, if its CPU kernel has no such case.
    """

    call: GeneratedCall
    ours: Ours
    eager: Outcome
    xla: Outcome | None

    @property
    def theirs(self) -> Outcome:
        """The outcome that counts for TensorFlow."""
        return self.eager if self.xla is None else self.xla

    @cached_property
    def reference(self) -> Reference:
        """What the definition gives; only for a call that opspec accepts."""
        return reference_of(self.call)

    @cached_property
    def our_deviation(self) -> str:
        """How opspec is wrong whatever TensorFlow says; nothing if it is not."""
        if self.ours.failure:
            return self.ours.failure
        return "" if self.ours.value is None else self.reference.deviation(self.ours.value)

    @cached_property
    def their_deviation(self) -> str:
        """How TensorFlow's value is off; nothing if it is right or opspec has none to compare."""
        if self.theirs.value is None or self.ours.value is None:
            return ""
        return self.reference.deviation(self.theirs.value)

    @property
    def agreed(self) -> bool:
        """Whether both refuse, or both have the right value."""
        if self.our_deviation or self.their_deviation:
            return False
        return self.theirs.status == ("error" if self.ours.value is None else "value")

    def described(self) -> str:
        """Say in a line what each side made of the call."""
        said = [f"opspec: {_said(self.ours.value, self.ours.rule)} {self.our_deviation}".strip()]
        for label, outcome in (("TensorFlow", self.eager), ("XLA", self.xla)):
            if outcome is not None:
                error = f"{outcome.status} {outcome.error}".strip()
                said.append(f"{label}: {_said(outcome.value, error)}")
        return "; ".join(said) + (f" ({self.their_deviation})" if self.their_deviation else "")


def compare(call: GeneratedCall, tensorflow: Asked) -> Comparison:
    """Make a call on both sides."""
    eager = tensorflow.call(call.op, call.arguments)
    xla = None
    if eager.status == "error" and any(text in eager.error for text in CPU_RESTRICTIONS):
        xla = tensorflow.call(call.op, call.arguments, xla=True)
    return Comparison(call, run_opspec(call), eager, xla)


def run_opspec(call: GeneratedCall) -> Ours:
    """Make a call with opspec's NumPy backend."""
    function = public_function(call.definition)
    try:
        return Ours(value=function(**call.arguments, backend="numpy"))
    except opspec.OpError as error:
        return Ours(rule=error.rule)
    # Whatever else it raises is a finding, and the comparison goes on.
    except Exception as error:
        return Ours(failure=f"{type(error).__name__}: {error}")


def reference_of(call: GeneratedCall) -> Reference:
    """Execute the definition on a valid call, its spellings read by the text of the docs."""
    definition, arguments = call.definition, call.arguments
    raw = ops.get(definition.kernel)
    operands = _operands(*(arguments[name] for name in definition.kernel_operands))
    data_format = arguments.get("data_format") or "NDHWC"
    problem: dict[str, Any] = {
        **dict(zip(raw.kernel_operands, operands, strict=True)),
        "strides": _five(arguments["strides"], data_format),
        "padding": arguments.get("padding", "SAME"),
        "data_format": data_format,
        "dilations": _five(arguments.get("dilations"), data_format),
    }
    if raw.sizes is not None and definition.sizes is not None:
        problem[raw.sizes] = [int(size) for size in arguments[definition.sizes]]
    with np.errstate(all="ignore"):
        sums, magnitudes = DIRECT[raw.name](**problem)
    whole = all(np.array_equal(array, np.rint(array)) for array in operands)
    exact = whole and magnitudes.max(initial=0) <= 1 / UNIT_ROUNDOFF[operands[0].dtype.name]
    return Reference(sums, magnitudes, operands[0].dtype, exact)


def _least_above_zero(dtype: np.dtype[Any]) -> float:
    found = ml_dtypes.finfo(dtype.name)  # type: ignore[no-untyped-call]  # it has no types
    return float(found.smallest_subnormal)


def _operands(*operands: Any) -> tuple[Array, ...]:
    dtypes = [value.dtype.name for value in operands if isinstance(value, np.ndarray)]
    dtype = numpy_dtype(dtypes[0] if dtypes else "float32")
    return tuple(np.asarray(value).astype(dtype) for value in operands)


def _five(steps: Any, data_format: str) -> list[int]:
    given = [1] if steps is None else [int(step) for step in np.atleast_1d(steps)]
    if len(given) == 5:
        return given
    spatial = given * 3 if len(given) == 1 else given
    return [1, 1, *spatial] if data_format == "NCDHW" else [1, *spatial, 1]


def _said(value: Array | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value.dtype} value of shape {list(value.shape)}"
