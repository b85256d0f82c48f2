"""The tiles of matrix products that one block makes, for each family of kernels: a table.

A tile's rate is how fast a multiprocessor makes it, relative to the family's best for the same
numbers: estimated from how often each value is used once it is in shared memory, not measured.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a product that one block makes.

    Parameters
    ----------
    rows, channels
        Its extents.
    parameters
        What else the template takes: on CUDA cores a step in depth and a thread's rows and
        channels, on tensor cores a warp's rows and channels and the stages of the ring.
    rate
        How fast it is made; see the module's text.
    """

    rows: int
    channels: int
    parameters: tuple[int, int, int]
    rate: float


_Table = dict[str, tuple[Tile, ...]]

# With a step in depth of 16 bytes or more, so that there is something to read 16 bytes of.
SIMT: _Table = {
    "float16": (
        Tile(128, 64, (16, 8, 4), 1.0),
        Tile(64, 32, (16, 4, 4), 0.7),
        Tile(128, 8, (16, 4, 2), 0.3),
    ),
    "float32": (
        Tile(128, 128, (8, 8, 8), 1.0),
        Tile(128, 64, (8, 8, 4), 0.85),
        Tile(64, 32, (16, 4, 4), 0.65),
        Tile(128, 8, (16, 4, 2), 0.3),
        Tile(256, 4, (16, 4, 2), 0.2),
    ),
    "float64": (
        Tile(64, 64, (8, 4, 4), 1.0),
        Tile(64, 16, (8, 4, 2), 0.6),
        Tile(128, 4, (8, 4, 1), 0.25),
    ),
}
TENSOR = (
    Tile(128, 128, (64, 32, 3), 1.0),
    Tile(128, 64, (32, 32, 3), 0.85),
    Tile(64, 64, (32, 32, 4), 0.7),
    Tile(128, 16, (32, 16, 4), 0.4),
)
# Of the forward convolution there are fewer: each has to be compiled, by CI for every architecture.
SIMT_FORWARD: _Table = {
    "float16": (SIMT["float16"][0], SIMT["float16"][2]),
    "float32": (SIMT["float32"][0], *SIMT["float32"][2:]),
    "float64": SIMT["float64"],
}
TENSOR_FORWARD = (TENSOR[0], *TENSOR[2:])
# The filter's gradient has few rows and channels, and a depth that is shared out.
FILTER_SIMT: _Table = {
    "float16": (Tile(64, 64, (16, 4, 4), 1.0), Tile(64, 16, (16, 4, 2), 0.5)),
    "float32": (Tile(128, 64, (8, 8, 4), 1.0), Tile(64, 16, (16, 4, 2), 0.5)),
    "float64": (Tile(64, 64, (8, 4, 4), 1.0), Tile(64, 16, (8, 4, 2), 0.6)),
}
FILTER_TENSOR = (Tile(128, 64, (32, 32, 3), 1.0), Tile(64, 32, (32, 16, 4), 0.5))


def _of_each_dtype(simt: _Table) -> _Table:
    return {**simt, "bfloat16": simt["float16"]}


def _of_tensor_cores(tiles: tuple[Tile, ...]) -> _Table:
    return dict.fromkeys(("float16", "bfloat16", "float32"), tiles)


# By family, then by dtype.
TILES = {
    "simt": _of_each_dtype(SIMT),
    "tensor": _of_tensor_cores(TENSOR),
    "simt_forward": _of_each_dtype(SIMT_FORWARD),
    "tensor_forward": _of_tensor_cores(TENSOR_FORWARD),
    "filter_simt": _of_each_dtype(FILTER_SIMT),
    "filter_tensor": _of_tensor_cores(FILTER_TENSOR),
}
