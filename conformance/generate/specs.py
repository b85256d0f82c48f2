"""A value case before it has values: shapes and attributes, and what it is there to show."""

from dataclasses import dataclass, field
from typing import Any, Literal

LAYOUTS = ("NDHWC", "NCDHW")
PADDINGS = ("SAME", "VALID")
DTYPES = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A value case before it has values.

    Parameters
    ----------
    name, shows
        Its name and what it is there to show.
    lane
        "exact": whole numbers, bits must match. "bounded": zero-mean data. "accept": as exact, but
        about how the call is spelled, which no kernel sees.
    size
        Depth, height and width of the result.
    kernel, stride, dilation
        Of depth, height and width.
    batch, contracted, made
        Extents of batch, of the channels summed over and of the channels made.
    padding, data_format, dtype
        Attributes.
    public
        Which operation it calls.
    spelled
        Arguments to write in another legal spelling.
    special
        Values put into the first elements of data and filter.
    smallest, largest
        Of the numbers of an exact case, signs apart; by default 1 and what its sums allow.
    exponents
        Powers of two by which data and filter are scaled when all else is done.
    """

    name: str
    shows: str
    lane: Literal["exact", "bounded", "accept"] = "exact"
    size: tuple[int, int, int] = (9, 7, 11)
    kernel: tuple[int, int, int] = (3, 2, 4)
    stride: tuple[int, int, int] = (2, 1, 3)
    dilation: tuple[int, int, int] = (1, 1, 1)
    batch: int = 2
    contracted: int = 8
    made: int = 6
    padding: str = "SAME"
    data_format: str = "NDHWC"
    dtype: str = "float32"
    public: str = "Conv3DBackpropInputV2"
    spelled: dict[str, Any] = field(default_factory=dict)
    special: dict[str, float] = field(default_factory=dict)
    smallest: int = 1
    largest: int | None = None
    exponents: dict[str, int] = field(default_factory=dict)
