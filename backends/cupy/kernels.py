"""Every kernel there is, as data: its source, its template's arguments, and what it needs.

The numbers are mirrored from the sources, which refuse to compile if they do not agree.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opspec.backends.cupy.problem import PROBLEM
from opspec.dtypes import size_of
from opspec.geometry import channel_axis

SOURCES = Path(__file__).parent / "cuda"
HEADERS = ("numbers.cuh", "tensor.cuh", "problem.cuh")
C_TYPES = {
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
}
PROBLEM_BYTES = PROBLEM.itemsize
ROW_BYTES = 32
# A line of a tensor core's slice: 64 bytes of k, and 16 that keep the banks apart.
LINE_BYTES = 80
# From which compute capability on there is cp.async, and mma.sync for these shapes.
TENSOR_CAPABILITY = 80


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a product that one block makes.

    Parameters
    ----------
    rows, channels
        Its extents.
    parameters
        What else the template takes: of simt.cu a step in depth and a thread's rows and channels,
        of tensor.cu a warp's rows and channels and the stages of the ring.
    rate
        How fast a multiprocessor makes it, relative to the best tile for the same numbers:
        estimated from how often each value is used once it is in shared memory, not measured.
    """

    rows: int
    channels: int
    parameters: tuple[int, int, int]
    rate: float


# With a step in depth of 16 bytes or more, so that there is something to read 16 bytes of.
SIMT_TILES = {
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
SIMT_TILES["bfloat16"] = SIMT_TILES["float16"]

TENSOR_TILES = (
    Tile(128, 128, (64, 32, 3), 1.0),
    Tile(128, 64, (32, 32, 3), 0.85),
    Tile(64, 64, (32, 32, 4), 0.7),
    Tile(128, 16, (32, 16, 4), 0.4),
)

GATHER_THREADS = 256
# How out_backprop is read: (sixteen bytes at a time, along a row of positions or along channels).
WAYS = ((True, False), (False, False), (False, True))


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel that can be compiled and launched.

    Parameters
    ----------
    name
        Unique among all, and readable.
    file
        Its source.
    dtype
        Of operands and result.
    body
        The statement that a launch runs, with `data`, `filter`, `result` and `problem`.
    parameters
        The kernel's parameters in C++.
    checks
        What must hold when it is compiled.
    threads
        Of a block.
    shared_bytes
        Of a block.
    capability
        The least compute capability, such as 80 for 8.0.
    """

    name: str
    file: str
    dtype: str
    body: str
    parameters: str
    checks: tuple[str, ...]
    threads: int
    shared_bytes: int
    capability: int

    def source(self) -> str:
        """Return the whole translation unit."""
        parts = [_text(name) for name in (*HEADERS, self.file)]
        checks = [f'static_assert({check}, "kernels.py disagrees");' for check in self.checks]
        entry = (
            f'extern "C" __global__ void __launch_bounds__({self.threads}) '
            f"kernel({self.parameters}) {{ {self.body} }}"
        )
        return "\n".join([*parts, *checks, entry, ""])


@cache
def _text(name: str) -> str:
    text = (SOURCES / name).read_text("utf-8")
    return text.replace("#pragma once\n", "")


def simt(dtype: str, tile: Tile, *, vector: bool, by_row: bool) -> Kernel:
    """Return the kernel for CUDA cores."""
    step, my_rows, my_channels = tile.parameters
    sum_bytes = 8 if dtype == "float64" else 4
    threads = tile.rows // my_rows * (tile.channels // my_channels)
    slice_bytes = step * (tile.rows + 4 + tile.channels + 4) * sum_bytes
    return _product("simt", dtype, tile, vector, by_row, threads, 2 * slice_bytes, 50)


def tensor(dtype: str, tile: Tile, *, vector: bool, by_row: bool) -> Kernel:
    """Return the kernel for tensor cores."""
    warp_rows, warp_channels, stages = tile.parameters
    threads = tile.rows // warp_rows * (tile.channels // warp_channels) * 32
    item = size_of(dtype)
    ring = stages * (tile.rows + tile.channels) * LINE_BYTES
    kept = tile.rows * (tile.channels * item + 16)
    return _product(
        "tensor", dtype, tile, vector, by_row, threads, max(ring, kept), TENSOR_CAPABILITY
    )


def _product(
    family: str,
    dtype: str,
    tile: Tile,
    vector: bool,
    by_row: bool,
    threads: int,
    slices: int,
    capability: int,
) -> Kernel:
    c_type = C_TYPES[dtype]
    numbers = (tile.rows, tile.channels, *tile.parameters)
    flags = (str(flag).lower() for flag in (vector, by_row))
    template = f"{family.capitalize()}<{', '.join([c_type, *map(str, numbers), *flags])}>"
    shared = tile.rows * ROW_BYTES + slices
    way = "vector" if vector else "by_row" if by_row else "by_channel"
    return Kernel(
        name=f"{family}-{dtype}-{'x'.join(map(str, numbers))}-{way}",
        file=f"{family}.cu",
        dtype=dtype,
        body=f"{template}::run(data, filter, result, problem);",
        parameters=f"const {c_type}* data, const {c_type}* filter, {c_type}* result, "
        "const __grid_constant__ Problem problem",
        checks=(
            f"sizeof(Problem) == {PROBLEM_BYTES}",
            f"sizeof({template}::Memory) == {shared}",
            f"{template}::THREADS == {threads}",
        ),
        threads=threads,
        shared_bytes=shared,
        capability=capability,
    )


def gather(dtype: str) -> Kernel:
    """Return the kernel that adds up columns."""
    c_type = C_TYPES[dtype]
    sum_type = "double" if dtype == "float64" else "float"
    return Kernel(
        name=f"gather-{dtype}",
        file="gather.cu",
        dtype=dtype,
        body=f"gather<{c_type}, {GATHER_THREADS}>(data, result, problem);",
        parameters=f"const {sum_type}* data, {c_type}* result, "
        "const __grid_constant__ Problem problem",
        checks=(f"sizeof(Problem) == {PROBLEM_BYTES}",),
        threads=GATHER_THREADS,
        shared_bytes=0,
        capability=50,
    )


def every_kernel() -> tuple[Kernel, ...]:
    """Return all that a call can need."""
    return tuple(kernel for dtype in C_TYPES for kernel in kernels_of(dtype, WAYS))


def usual_kernels(dtype: str, data_format: str) -> tuple[Kernel, ...]:
    """Return what calls with operands in C order can need."""
    ways = WAYS[:2] if channel_axis(data_format) == 4 else WAYS[2:]
    return tuple(kernels_of(dtype, ways))


def kernels_of(dtype: str, ways: Iterable[tuple[bool, bool]]) -> Iterator[Kernel]:
    """Yield the kernels of a dtype that read in these ways."""
    yield gather(dtype)
    for vector, by_row in ways:
        for tile in SIMT_TILES[dtype]:
            yield simt(dtype, tile, vector=vector, by_row=by_row)
        for tile in TENSOR_TILES if dtype != "float64" else ():
            yield tensor(dtype, tile, vector=vector, by_row=by_row)
