"""The order of axes that libraries with channels first want."""

import numpy as np

from peers import Array


def channels_first(array: Array, data_format: str) -> Array:
    """Return a view of `array` as NCDHW."""
    return array if data_format == "NCDHW" else np.moveaxis(array, -1, 1)


def from_channels_first(array: Array, data_format: str) -> Array:
    """Return a view of an NCDHW array in `data_format`."""
    return array if data_format == "NCDHW" else np.moveaxis(array, 1, -1)


def filters_for_channels_first(filters: Array) -> Array:
    """Return a view of the filters as in channels, out channels, depth, height, width."""
    return np.transpose(filters, (4, 3, 0, 1, 2))
