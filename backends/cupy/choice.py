"""Which tier computes a problem: a table, read from the top.

A row says for which problems a tier is preferred. The first row whose tier can take the problem on
this device wins. The order follows from memory traffic (columns move many times what the operands
hold) and from what tensor cores can do; no GPU has been asked yet.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from opspec.backends.cupy import SIXTEEN_BITS
from opspec.backends.cupy.kernels import TENSOR_CAPABILITY
from opspec.backends.cupy.port import Traits
from opspec.geometry import ConvGeometry, Window
from opspec.registry import UnsupportedByBackend

THIN = 8
# Its bindings cut larger sizes off without a word.
MOST_FOR_CUBLAS = 2**31 - 1
# Its engines count elements in 32 bits; for larger tensors it has one, which is slow.
MOST_FOR_CUDNN = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller asks for.

    Parameters
    ----------
    tier
        The tier that must be used, or None.
    tf32
        Whether float32 may be rounded to TF32.
    """

    tier: str | None = None
    tf32: bool = False


@dataclass(frozen=True, slots=True)
class Preference:
    """A row of the table.

    Parameters
    ----------
    tier
        Which tier.
    why
        In words, of the problems that it is for.
    fits
        Whether a problem is one of them.
    """

    tier: str
    why: str
    fits: Callable[[ConvGeometry, Wishes], bool]


@dataclass(frozen=True, slots=True)
class Choice:
    """The tier that computes a problem, and why.

    Parameters
    ----------
    tier
        Which tier.
    why
        In words.
    """

    tier: str
    why: str

    def __str__(self) -> str:
        return f"tier {self.tier}: {self.why}"


def is_pointwise(geometry: ConvGeometry) -> bool:
    """Whether every window is a single position: one matrix product makes the result."""
    return all(_is_pointwise(window) for window in geometry.windows)


def _is_pointwise(window: Window) -> bool:
    return window.kernel == window.stride == 1 and window.before == 0


def _is_thin(geometry: ConvGeometry) -> bool:
    return min(geometry.in_channels, geometry.out_channels) < THIN


def _has_tensor_cores(geometry: ConvGeometry, wishes: Wishes) -> bool:
    return geometry.dtype in SIXTEEN_BITS or (geometry.dtype == "float32" and wishes.tf32)


TABLE = (
    Preference(
        "gemm",
        "one matrix product makes the result",
        lambda geometry, wishes: (
            is_pointwise(geometry) and not (wishes.tf32 and geometry.dtype == "float32")
        ),
    ),
    Preference(
        "simt",
        f"fewer than {THIN} channels on one side leave tensor cores idle",
        lambda geometry, wishes: _has_tensor_cores(geometry, wishes) and _is_thin(geometry),
    ),
    Preference(
        "cudnn",
        "cuDNN is installed, and its engines have tensor cores for these operands",
        _has_tensor_cores,
    ),
    Preference(
        "tensor",
        "tensor cores take these operands as they lie",
        _has_tensor_cores,
    ),
    Preference("simt", "these sums need CUDA cores", lambda geometry, wishes: True),
)


@lru_cache(maxsize=1024)
def choose(geometry: ConvGeometry, traits: Traits, wishes: Wishes) -> Choice:
    """Return the tier for a problem that is not empty.

    Raises
    ------
    UnsupportedByBackend
        If the tier that the caller asks for cannot take it.
    """
    if wishes.tier is not None:
        if reason := refusal(wishes.tier, geometry, traits, wishes):
            raise UnsupportedByBackend(f"backend 'cupy': tier {wishes.tier}: {reason}")
        return Choice(wishes.tier, "it was asked for")
    for row in TABLE:
        if row.fits(geometry, wishes) and not refusal(row.tier, geometry, traits, wishes):
            return Choice(row.tier, row.why)
    raise AssertionError("simt takes every problem")


def refusal(tier: str, geometry: ConvGeometry, traits: Traits, wishes: Wishes) -> str | None:
    """Say why a tier cannot take a problem on a device, or None."""
    if tier == "simt":
        return None
    if tier == "tensor":
        return _refusal_of_tensor(geometry, traits, wishes)
    without = dict(traits.without)
    if tier == "cudnn":
        return without.get("cudnn") or _refusal_of_cudnn(geometry)
    return without.get("cublas") or _refusal_of_gemm(geometry)


def _refusal_of_gemm(geometry: ConvGeometry) -> str | None:
    taps = prod(window.kernel for window in geometry.windows)
    largest = max(taps * geometry.in_channels, geometry.out_channels)
    if is_pointwise(geometry):
        places = geometry.batch * prod(window.input for window in geometry.windows)
        largest = max(largest, places)
    if largest > MOST_FOR_CUBLAS:
        return f"cuBLAS counts in 32-bit integers; given {largest}"
    return None


def _refusal_of_tensor(geometry: ConvGeometry, traits: Traits, wishes: Wishes) -> str | None:
    if geometry.dtype == "float64":
        return "its tensor cores' kernels are for float16, bfloat16 and, as TF32, float32"
    if geometry.dtype == "float32" and not wishes.tf32:
        return "float32 on tensor cores is TF32; OPSPEC_CUPY_TF32=1 allows it"
    if traits.capability < TENSOR_CAPABILITY:
        return (
            f"it needs compute capability {TENSOR_CAPABILITY / 10}; "
            f"this device has {traits.capability / 10}"
        )
    return None


def _refusal_of_cudnn(geometry: ConvGeometry) -> str | None:
    sides = (geometry.input_shape, geometry.output_shape, geometry.filter_shape)
    largest = max(prod(shape) for shape in sides)
    if largest > MOST_FOR_CUDNN:
        return f"cuDNN counts elements in 32-bit integers; given {largest}"
    return None
