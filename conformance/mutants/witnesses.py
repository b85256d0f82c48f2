"""The calls that show what few calls show: unusual sizes, values or attributes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opspec.conformance.mutants.recipe import Array
from opspec.dtypes import numpy_dtype


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A valid call with SAME padding and strides of 1.

    Parameters
    ----------
    size, kernel
        Depth, height and width of the result and of the filter.
    dilation
        Along the width.
    batch, made, contracted
        Extents of batch, of the channels made and of those summed over.
    data_format, dtype
        Attributes.
    data, filter
        All elements of the operands; if empty, small whole numbers.
    """

    size: tuple[int, int, int] = (2, 3, 5)
    kernel: tuple[int, int, int] = (1, 1, 2)
    dilation: int = 1
    batch: int = 1
    made: int = 1
    contracted: int = 1
    data_format: str = "NDHWC"
    dtype: str = "float32"
    data: tuple[float, ...] = ()
    filter: tuple[float, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of Conv3DBackpropInputV2."""
        data_shape = self._arranged(self.size, self.batch, self.contracted)
        return {
            "input_sizes": self._arranged(self.size, self.batch, self.made),
            "filter": self._values(self.filter, (*self.kernel, self.made, self.contracted)),
            "out_backprop": self._values(self.data, data_shape),
            "strides": [1] * 5,
            "padding": "SAME",
            "data_format": self.data_format,
            "dilations": self._arranged((1, 1, self.dilation), 1, 1),
        }

    def _arranged(self, spatial: tuple[int, ...], batch: int, channels: int) -> list[int]:
        first = self.data_format == "NCDHW"
        return [batch, channels, *spatial] if first else [batch, *spatial, channels]

    def _values(self, given: tuple[float, ...], shape: Any) -> Array:
        drawn = np.random.default_rng(len(shape)).integers(1, 5, shape)
        values = np.array(given).reshape(shape) if given else drawn
        return values.astype(numpy_dtype(self.dtype))


ONE_OF_ALL = Problem(kernel=(1, 1, 1), data_format="NCDHW")
LINE = Problem(size=(1, 1, 5))
PAIR = Problem(size=(1, 1, 1), kernel=(1, 1, 1), contracted=2)
LARGEST = (2 - 2**-7) * 2.0**127

SHOWN_BY = {
    "taps-beyond-7-lost": Problem(size=(1, 1, 12), kernel=(1, 1, 9)),
    "taps-beyond-16-lost": Problem(size=(1, 1, 20), kernel=(1, 1, 18)),
    "places-in-8-bits": Problem(size=(1, 1, 300)),
    "places-in-16-bits": Problem(size=(1, 1, 66000), kernel=(1, 1, 1)),
    "places-in-16-bits-with-sign": Problem(size=(1, 1, 33000), kernel=(1, 1, 1)),
    "offsets-in-16-bits": Problem(size=(1, 1, 600), batch=4, made=32),
    "made-channels-beyond-64-repeat": Problem(made=66),
    "wrong-only-for-dilated-not-strided": Problem(dilation=2),
    "wrong-only-for-ncdhw-not-strided": ONE_OF_ALL,
    "wrong-only-for-ncdhw-batch-1": ONE_OF_ALL,
    "wrong-only-for-ncdhw-one-made-channel": ONE_OF_ALL,
    "wrong-only-for-ncdhw-one-contracted-channel": ONE_OF_ALL,
    "wrong-only-for-ncdhw-kernel-1": ONE_OF_ALL,
    "wrong-only-for-float16-dilated": Problem(dilation=2, dtype="float16"),
    "wrong-only-for-bfloat16-dilated": Problem(dilation=2, dtype="bfloat16"),
    "wrong-only-for-float64-dilated": Problem(dilation=2, dtype="float64"),
    "empty-result-of-another-dtype": Problem(batch=0, dtype="float64"),
    "float16-products-rounded": replace(PAIR, dtype="float16", data=(300, 300), filter=(300, -300)),
    "bfloat16-saturates": replace(PAIR, dtype="bfloat16", data=(LARGEST, 2.0**119), filter=(1, 1)),
    "zeros-in-the-data-skipped": replace(PAIR, data=(0, 1), filter=(np.inf, 1)),
    "dilated-filter-padded-with-zeros": replace(
        LINE, dilation=2, data=(1, 2, np.inf, 3, 4), filter=(1, 2)
    ),
    "data-returned-itself": Problem(kernel=(1, 1, 1), filter=(1,)),
}
