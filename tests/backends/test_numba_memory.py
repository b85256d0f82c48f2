"""Threads keep to the memory that they are promised to need, on every layer that we know of."""

from math import prod

import pytest

pytest.importorskip("numba", reason="numba is not installed; it comes with opspec[numba]")

from opspec.backends.numba.dots_layout import dots_layout
from opspec.backends.numba.layout import forward_layout, gather_layout
from opspec.backends.numba.scatter_layout import scatter_layout, scatters
from opspec.backends.numba.target import AVX2, AVX512, NEON, PORTABLE
from opspec.geometry import ConvGeometry, Window

# batch, large side, made channels, source channels, kernel, strides, padding
LAYERS = (
    (1, (96, 96, 96), 32, 64, (2, 2, 2), (2, 2, 2), "SAME"),
    (2, (16, 320, 320), 64, 128, (1, 2, 2), (1, 2, 2), "SAME"),
    (8, (8, 8, 8), 256, 512, (4, 4, 4), (2, 2, 2), "SAME"),
    (1, (40, 40, 40), 32, 32, (3, 3, 3), (1, 1, 1), "SAME"),
    (1, (16, 112, 112), 3, 64, (3, 3, 3), (1, 1, 1), "SAME"),
    (4, (64, 64, 64), 1, 64, (4, 4, 4), (2, 2, 2), "SAME"),
    (1, (256, 256, 256), 16, 16, (5, 5, 5), (2, 2, 2), "SAME"),
    (16, (7, 302, 302), 4, 4, (3, 3, 3), (1, 1, 1), "VALID"),
    (8, (38, 38, 38), 68, 3, (23, 23, 23), (1, 1, 1), "VALID"),
    (1, (176, 176, 176), 3, 3, (32, 32, 32), (8, 8, 8), "VALID"),
    (200, (28, 28, 1), 1, 50, (28, 28, 1), (1, 1, 1), "VALID"),
    (1, (64, 64, 64), 1, 32, (9, 9, 9), (2, 2, 2), "SAME"),
)


@pytest.mark.parametrize("target", [AVX2, AVX512, NEON, PORTABLE], ids=lambda target: target.name)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_a_thread_needs_at_most_two_megabytes(target, dtype, data_format, layer) -> None:  # type: ignore[no-untyped-def]
    batch, sizes, made, contracted, kernel, strides, padding = layer
    depth, height, width = (
        Window.fitted(size, taps, stride, 1, padding)
        for size, taps, stride in zip(sizes, kernel, strides, strict=True)
    )
    geometry = ConvGeometry(batch, made, contracted, (depth, height, width), data_format, dtype)
    scattered = scatters(geometry, target)
    found = (scatter_layout if scattered else gather_layout)(geometry, target, 2, 10**9)
    dots = dots_layout(geometry, target, 2, 10**9)
    assert dots.room_bytes <= 2 * 2**20
    assert dots.packed_bytes == 0
    assert found.room_bytes <= 2 * 2**20
    # The made channels are rounded up to a vector, of all taps together or of each.
    itemsize = 8 if dtype == "float64" else 4
    lanes = target.lanes(itemsize)
    taps = prod(kernel)
    if scattered:
        padded = -(-taps * made // lanes) * lanes
    else:
        padded = taps * -(-made // lanes) * lanes
    assert found.packed_bytes <= padded * contracted * itemsize


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_a_thread_of_the_convolution_itself_too(dtype, data_format, layer) -> None:  # type: ignore[no-untyped-def]
    batch, sizes, contracted, made, kernel, strides, padding = layer
    depth, height, width = (
        Window.fitted(size, taps, stride, 1, padding)
        for size, taps, stride in zip(sizes, kernel, strides, strict=True)
    )
    geometry = ConvGeometry(batch, contracted, made, (depth, height, width), data_format, dtype)
    found = forward_layout(geometry, AVX2, 2, 10**9)
    itemsize = 8 if dtype == "float64" else 4
    # One position alone reads as much as this, and boxes are copied.
    window = prod(kernel) * contracted * itemsize
    assert found.room_bytes <= 2 * 2**20 + window
    lanes = AVX2.lanes(itemsize)
    padded = -(-made // lanes) * lanes
    assert found.packed_bytes <= prod(kernel) * padded * contracted * itemsize
