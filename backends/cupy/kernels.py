"""Every kernel there is, as data: its source, its template's arguments, and what it needs.

The numbers are mirrored from the sources, which refuse to compile if they do not agree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from opspec.backends.cupy.problem import PROBLEM
from opspec.backends.cupy.tile import TILES, Tile
from opspec.backends.cupy.windows import PARTS, WINDOWS
from opspec.dtypes import size_of
from opspec.geometry import channel_axis

SOURCES = Path(__file__).parent / "cuda"
# A source and the headers before it.
FILES = {
    "gather.cu": ("numbers.cuh", "problem.cuh"),
    "spread.cu": ("numbers.cuh", "problem.cuh", "windows.cuh"),
    "total.cu": ("numbers.cuh",),
    "simt.cu": ("numbers.cuh", "problem.cuh", "simt.cuh"),
    "tensor.cu": ("numbers.cuh", "tensor.cuh", "problem.cuh", "tensor_tile.cuh"),
    "filter_simt.cu": ("numbers.cuh", "problem.cuh", "windows.cuh", "simt.cuh"),
    "filter_tensor.cu": (
        "numbers.cuh",
        "tensor.cuh",
        "problem.cuh",
        "windows.cuh",
        "tensor_tile.cuh",
    ),
}
C_TYPES = {
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
}
# A row and a place in shared memory, each a line of a table.
ROW_BYTES = 32
# Of a tensor core's slice: 64 bytes of depth, 16 more that keep the banks apart; where the depth
# goes from line to line, eight elements more.
LINE_BYTES, APART = 80, 8
# From which compute capability on there is cp.async, and mma.sync for these shapes.
TENSOR_CAPABILITY = 80


PLACE_BYTES = 32
DEPTH_BYTES = 64
THREADS = 256
# How what is read in windows is read: sixteen bytes at a time along channels, one by one along
# channels, or one by one along a row of positions.
WAYS = ("vector", "by_channel", "by_row")


@dataclass(frozen=True, slots=True)
class Family:
    """Kernels of one template.

    Parameters
    ----------
    file
        Their source.
    template
        Its struct.
    flags
        The template's last arguments.
    operands
        The kernels' parameters in C++ between the operands and the end, for the dtype's ``{sum}``.
    arguments
        What the template's function takes of them.
    """

    file: str
    template: str
    flags: tuple[str, ...]
    operands: str
    arguments: str


def _last(struct: str) -> str:
    return f"const __grid_constant__ {struct} problem"


_SIDE = (_last("Problem"), "problem")
_FILTER = ("{sum}* parts, " + _last("Windows"), "parts, problem")
FAMILIES = {
    "simt": Family("simt.cu", "Simt", ("false",), *_SIDE),
    "tensor": Family("tensor.cu", "Tensor", ("false",), *_SIDE),
    "simt_forward": Family("simt.cu", "Simt", ("true",), *_SIDE),
    "tensor_forward": Family("tensor.cu", "Tensor", ("true",), *_SIDE),
    "filter_simt": Family("filter_simt.cu", "FilterSimt", (), *_FILTER),
    "filter_tensor": Family("filter_tensor.cu", "FilterTensor", (), *_FILTER),
}
# The family that makes a side by a tier.
FAMILY = {
    ("input", "simt"): "simt",
    ("input", "tensor"): "tensor",
    ("output", "simt"): "simt_forward",
    ("output", "tensor"): "tensor_forward",
    ("filter", "simt"): "filter_simt",
    ("filter", "tensor"): "filter_tensor",
}


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
        The statement that a launch runs.
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
        parts = [f"#define OPSPEC_{self.dtype.upper()}"]
        parts += [_text(name) for name in (*FILES[self.file], self.file)]
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


def product(family: str, dtype: str, tile: Tile, way: str) -> Kernel:
    """Return the kernel of a family that makes such a tile and reads in such a way."""
    facts = FAMILIES[family]
    c_type = C_TYPES[dtype]
    numbers = (tile.rows, tile.channels, *tile.parameters)
    flags = (str(way == "vector").lower(), str(way == "by_row").lower(), *facts.flags)
    template = f"{facts.template}<{', '.join([c_type, *map(str, numbers), *flags])}>"
    threads, shared = _needs(family, dtype, tile)
    is_filter = family.startswith("filter")
    problem = _size("Windows", WINDOWS) if is_filter else _size("Problem", PROBLEM)
    return Kernel(
        name=f"{family}-{dtype}-{'x'.join(map(str, numbers))}-{way}",
        file=facts.file,
        dtype=dtype,
        body=f"{template}::run(data, other, result, {facts.arguments});",
        parameters=f"const {c_type}* data, const {c_type}* other, {c_type}* result, "
        + facts.operands.format(sum=_sum_type(dtype)),
        checks=(
            problem,
            f"sizeof({template}::Memory) == {shared}",
            f"{template}::THREADS == {threads}",
        ),
        threads=threads,
        shared_bytes=shared,
        capability=TENSOR_CAPABILITY if "tensor" in family else 50,
    )


def _needs(family: str, dtype: str, tile: Tile) -> tuple[int, int]:
    """Return how many threads make a tile, and the shared memory that they need."""
    rows, channels = tile.rows, tile.channels
    item = size_of(dtype)
    if "simt" in family:
        step, my_rows, my_channels = tile.parameters
        threads = rows // my_rows * (channels // my_channels)
        slices = 2 * step * (rows + 4 + channels + 4) * (8 if dtype == "float64" else 4)
    else:
        warp_rows, warp_channels, stages = tile.parameters
        step = DEPTH_BYTES // item
        threads = rows // warp_rows * (channels // warp_channels) * 32
        lines = {"filter_tensor": (0, rows, channels), "tensor_forward": (rows, channels)}
        straight, *turned = lines.get(family, (rows + channels,))
        slices = stages * (
            straight * LINE_BYTES + DEPTH_BYTES * sum(count + APART for count in turned)
        )
        if family != "filter_tensor":
            slices = max(slices, rows * (channels * item + 16))
    places = 2 * step * PLACE_BYTES if family.startswith("filter") else 0
    return threads, rows * ROW_BYTES + places + slices


def gather(dtype: str) -> Kernel:
    """Return the kernel that adds up columns."""
    c_type = C_TYPES[dtype]
    return _elementwise(
        f"gather-{dtype}",
        "gather.cu",
        dtype,
        f"gather<{c_type}, {THREADS}>(data, result, problem);",
        f"const {_sum_type(dtype)}* data, {c_type}* result, {_last('Problem')}",
        _size("Problem", PROBLEM),
    )


def spread(dtype: str, *, by_row: bool) -> Kernel:
    """Return the kernel that makes columns of what windows read."""
    c_type = C_TYPES[dtype]
    return _elementwise(
        f"spread-{dtype}-{'by_row' if by_row else 'by_channel'}",
        "spread.cu",
        dtype,
        f"spread<{c_type}, {THREADS}, {str(by_row).lower()}>(data, columns, problem);",
        f"const {c_type}* data, {c_type}* columns, {_last('Windows')}",
        _size("Windows", WINDOWS),
    )


def total(dtype: str) -> Kernel:
    """Return the kernel that adds up parts of sums and rounds."""
    c_type = C_TYPES[dtype]
    return _elementwise(
        f"total-{dtype}",
        "total.cu",
        dtype,
        f"total<{c_type}, {THREADS}>(parts, result, problem);",
        f"const {_sum_type(dtype)}* parts, {c_type}* result, {_last('Parts')}",
        _size("Parts", PARTS),
    )


def _elementwise(
    name: str, file: str, dtype: str, body: str, parameters: str, check: str
) -> Kernel:
    return Kernel(name, file, dtype, body, parameters, (check,), THREADS, 0, 50)


def _sum_type(dtype: str) -> str:
    return "double" if dtype == "float64" else "float"


def _size(name: str, layout: np.dtype[Any]) -> str:
    return f"sizeof({name}) == {layout.itemsize}"


def every_kernel() -> tuple[Kernel, ...]:
    """Return all that a call can need."""
    return tuple(kernel for dtype in C_TYPES for kernel in kernels_of(dtype, WAYS))


def usual_kernels(dtype: str, data_format: str) -> tuple[Kernel, ...]:
    """Return what calls with operands in C order can need."""
    ways = WAYS[:2] if channel_axis(data_format) == 4 else WAYS[2:]
    return tuple(kernels_of(dtype, ways))


def kernels_of(dtype: str, ways: Sequence[str]) -> Iterator[Kernel]:
    """Yield the kernels of a dtype that read in these ways."""
    yield gather(dtype)
    yield total(dtype)
    for by_row in sorted({way == "by_row" for way in ways}):
        yield spread(dtype, by_row=by_row)
    for way in ways:
        for family, tiles in TILES.items():
            for tile in tiles.get(dtype, ()):
                yield product(family, dtype, tile, way)
