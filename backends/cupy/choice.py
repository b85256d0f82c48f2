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
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.kernels import TENSOR_CAPABILITY
from opspec.backends.cupy.port import Traits
from opspec.backends.cupy.problem import MOST_POSITIONS
from opspec.backends.cupy.windows import rows_of
from opspec.geometry import ConvGeometry, Window, channel_axis
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
    fits: Callable[[Convolution, Wishes], bool]


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
    return window.kernel == window.stride == 1 and window.before == window.after == 0


def _is_thin(convolution: Convolution) -> bool:
    geometry = convolution.geometry
    # A tile of the filter's gradient has rows of several taps.
    if convolution.result == "filter":
        return min(rows_of(geometry), geometry.out_channels) < THIN
    return min(geometry.in_channels, geometry.out_channels) < THIN


def _has_tensor_cores(convolution: Convolution, wishes: Wishes) -> bool:
    dtype = convolution.geometry.dtype
    return dtype in SIXTEEN_BITS or (dtype == "float32" and wishes.tf32)


TABLE = (
    Preference(
        "gemm",
        "one matrix product makes the result",
        lambda convolution, wishes: (
            is_pointwise(convolution.geometry)
            and not (wishes.tf32 and convolution.geometry.dtype == "float32")
        ),
    ),
    Preference(
        "simt",
        f"fewer than {THIN} channels on one side leave tensor cores idle",
        lambda convolution, wishes: (
            _has_tensor_cores(convolution, wishes) and _is_thin(convolution)
        ),
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
    Preference("simt", "these sums need CUDA cores", lambda convolution, wishes: True),
)


@lru_cache(maxsize=1024)
def choose(convolution: Convolution, traits: Traits, wishes: Wishes) -> Choice:
    """Return the tier for a problem that is not empty.

    Raises
    ------
    UnsupportedByBackend
        If the tier that the caller asks for cannot take it.
    """
    if wishes.tier is not None:
        if reason := refusal(wishes.tier, convolution, traits, wishes):
            raise UnsupportedByBackend(f"backend 'cupy': tier {wishes.tier}: {reason}")
        return Choice(wishes.tier, "it was asked for")
    for row in TABLE:
        if row.fits(convolution, wishes) and not refusal(row.tier, convolution, traits, wishes):
            return Choice(row.tier, row.why)
    raise AssertionError("simt takes every problem")


def refusal(tier: str, convolution: Convolution, traits: Traits, wishes: Wishes) -> str | None:
    """Say why a tier cannot take a problem on a device, or None."""
    if tier == "simt":
        return None
    if tier == "tensor":
        return _refusal_of_tensor(convolution.geometry.dtype, traits, wishes)
    without = dict(traits.without)
    if tier == "cudnn":
        return without.get("cudnn") or _refusal_of_cudnn(convolution.geometry)
    return without.get("cublas") or _refusal_of_gemm(convolution)


def _refusal_of_gemm(convolution: Convolution) -> str | None:
    geometry = convolution.geometry
    largest = max(rows_of(geometry), geometry.out_channels)
    channels_first = channel_axis(geometry.data_format) == 1
    places = prod(window.output for window in geometry.windows)
    # Lines of a matrix are a layer of positions apart, or there is one product of all.
    if channels_first and convolution.result != "input":
        largest = max(largest, places)
    elif is_pointwise(geometry):
        largest = max(largest, geometry.batch * places)
    if largest > MOST_FOR_CUBLAS:
        return f"cuBLAS counts in 32-bit integers; given {largest}"
    if convolution.result == "input":
        return None
    reach = max(max(w.input, (w.output - 1) * w.stride) for w in geometry.windows)
    if reach >= MOST_POSITIONS:
        return (
            f"its columns are of up to {MOST_POSITIONS} positions in one dimension; given {reach}"
        )
    return None


def _refusal_of_tensor(dtype: str, traits: Traits, wishes: Wishes) -> str | None:
    if dtype == "float64":
        return "its tensor cores' kernels are for float16, bfloat16 and, as TF32, float32"
    if dtype == "float32" and not wishes.tf32:
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
