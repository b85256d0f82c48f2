"""Compiling ahead: each kernel is run once on the smallest problem that it takes."""

from collections.abc import Iterator

import numpy as np

from opspec import dtypes
from opspec.backends.numba.plain_ways import Way
from opspec.backends.numba.target import Target, host
from opspec.backends.numba.ways import directly, dotting, gathering, scattering
from opspec.geometry import ConvGeometry, Window

POINT = Window(1, 1, 1, 1, 1, 0, 0)


def warm(dtype: str, data_format: str) -> Iterator[str]:
    """Compile all that calls of a dtype and data format may need; yield the name of each piece."""
    yield from warm_for(host(), dtype, data_format)


def warm_for(target: Target, dtype: str, data_format: str) -> Iterator[str]:
    """Compile for a target."""
    geometry = ConvGeometry(1, 1, 1, (POINT, POINT, POINT), data_format, dtype)
    yield _ran(directly(geometry, target), geometry, "direct")
    yield _ran(dotting(geometry, target, 1), geometry, "dots")
    yield _ran(gathering(geometry, target, 1), geometry, "gather")
    yield _ran(scattering(geometry, target, 1), geometry, "scatter")


def _ran(way: Way, geometry: ConvGeometry, name: str) -> str:
    kind = dtypes.numpy_dtype(geometry.dtype)
    filter = np.zeros(geometry.filter_shape, kind)
    source = np.zeros(geometry.output_shape, kind)
    way(filter, source, None)
    return name
