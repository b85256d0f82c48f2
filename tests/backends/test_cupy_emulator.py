"""The CuPy backend without a GPU: every kernel against exact sums, and planted faults."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opspec
from opspec import dtypes
from opspec.conformance.oracle import exact_sum, forward_sum
from opspec.conformance.oracle_siblings import exact_filter_sum
from opspec.errors import UnsupportedByBackend
from opspec.geometry import ConvGeometry, Side, Window

cupy = pytest.importorskip(
    "cupy", reason="CuPy is not installed; it comes with opspec[emulator] and needs no GPU here"
)

from opspec.backends.cupy import columns, filter_kernels, kernels, plan, settings  # noqa: E402
from opspec.backends.cupy.choice import Choice  # noqa: E402
from opspec.backends.cupy.compute import compute  # noqa: E402
from opspec.backends.cupy.convolution import Convolution  # noqa: E402
from opspec.backends.cupy.emulator import build, memory  # noqa: E402
from opspec.backends.cupy.emulator.host import ORDERS, TRAITS, HostPort  # noqa: E402
from opspec.backends.cupy.kernels import Kernel  # noqa: E402
from opspec.backends.cupy.plan import Lie, contiguous  # noqa: E402
from opspec.backends.cupy.problem import problems  # noqa: E402
from opspec.backends.cupy.tile import TILES, Tile  # noqa: E402

if why := build.unavailable():
    pytest.skip(why, allow_module_level=True)

Array = np.ndarray[Any, Any]
WAYS = kernels.WAYS
SIDES: tuple[Side, ...] = ("input", "output", "filter")
# cuDNN's plans have a test of their own.
OWN_TIERS = tuple(tier for tier in settings.TIERS if tier != "cudnn")


@dataclass(frozen=True)
class Call:
    """A problem of whole numbers, with the sums that are right."""

    convolution: Convolution
    operands: dict[Side, Array]
    expected: Array

    @property
    def geometry(self) -> ConvGeometry:
        return self.convolution.geometry


def call(
    dtype: str = "float32",
    way: str = "vector",
    result: Side = "input",
    *,
    size: tuple[int, int, int] = (7, 6, 5),
    kernel: tuple[int, int, int] = (3, 2, 4),
    stride: tuple[int, int, int] = (2, 3, 1),
    dilation: tuple[int, int, int] = (1, 2, 3),
    channels: tuple[int, int] = (11, 24),
    batch: int = 2,
    padding: str = "SAME",
) -> Call:
    """Return a call that the kernels read in a certain way; nothing about it is alike twice.

    The channels are those of the result, for a filter its last, and those of what is read.
    """
    data_format = "NCDHW" if way == "by_row" else "NDHWC"
    made, contracted = channels
    contracted -= way != "vector"
    # Tensor cores take vectors of a forward filter, and of a gradient, too.
    made += 5 * (result != "input" and way == "vector")
    sides = (made, contracted) if result == "input" else (contracted, made)
    depth, height, width = (
        Window.fitted(n, k, s, d, padding)
        for n, k, s, d in zip(size, kernel, stride, dilation, strict=True)
    )
    geometry = ConvGeometry(batch, *sides, (depth, height, width), data_format, dtype)
    rng = np.random.default_rng(20261202)
    kind = dtypes.numpy_dtype(dtype)
    most: dict[Side, int] = {"filter": 1, "input": 2, "output": 2}
    operands: dict[Side, Array] = {
        side: rng.integers(-most[side], most[side] + 1, geometry.shape_of(side)).astype(kind)
        for side in ("filter", "input", "output")
        if side != result
    }
    return Call(Convolution(geometry, result), operands, exact(geometry, operands, padding))


def exact(geometry: ConvGeometry, operands: dict[Side, Array], padding: str) -> Array:
    """Return the side that is missing, in whole numbers."""
    last = geometry.data_format == "NDHWC"
    steps, spacing = (
        [1, *numbers, 1] if last else [1, 1, *numbers]
        for numbers in zip(*((w.stride, w.dilation) for w in geometry.windows), strict=True)
    )
    attributes: dict[str, Any] = {
        "strides": steps,
        "padding": padding,
        "data_format": geometry.data_format,
        "dilations": spacing,
    }
    if "output" not in operands:
        return forward_sum(input=operands["input"], filter=operands["filter"], **attributes)
    attributes["out_backprop"] = operands["output"]
    if "filter" not in operands:
        sizes = list(geometry.filter_shape)
        return exact_filter_sum(input=operands["input"], filter_sizes=sizes, **attributes)
    sizes = list(geometry.input_shape)
    return exact_sum(input_sizes=sizes, filter=operands["filter"], **attributes)


def computed(port: HostPort, tier: str, given: Call) -> Array:
    operands: dict[Side, Any] = {
        side: memory.from_numpy(array) for side, array in given.operands.items()
    }
    made = compute(port, tier, given.convolution, operands, None)
    assert isinstance(made, cupy.ndarray)
    assert made.flags.c_contiguous
    return memory.to_numpy(made)


def is_right(port: HostPort, tier: str, given: Call) -> bool:
    made = computed(port, tier, given)
    return made.shape == given.expected.shape and bool(
        (made.astype(np.float64) == given.expected).all()
    )


@pytest.fixture(autouse=True)
def plans_made_anew() -> Iterator[None]:
    for planned in (plan.products, filter_kernels.planned):
        planned.cache_clear()
    yield
    for planned in (plan.products, filter_kernels.planned):
        planned.cache_clear()


def every_tile() -> Iterator[Any]:
    for (side, tier), family in kernels.FAMILY.items():
        for dtype, tiles in TILES[family].items():
            for tile in tiles:
                name = f"{family}-{dtype}-{tile.rows}x{tile.channels}"
                yield pytest.param(side, tier, dtype, tile, id=name)


@pytest.mark.parametrize(("side", "tier", "dtype", "tile"), list(every_tile()))
def test_every_kernel_is_right_in_every_order_of_threads(
    side: Side, tier: str, dtype: str, tile: Tile, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = kernels.FAMILY[side, tier]
    monkeypatch.setitem(TILES, family, {dtype: (tile,)})
    # So that several blocks share out the places of a filter's gradient.
    monkeypatch.setattr(filter_kernels, "LEAST_PLACES", 20)
    with settings.allow_tf32(dtype == "float32" and tier == "tensor"):
        for way in WAYS:
            given = call(dtype, way, side)
            for order in ORDERS:
                port = HostPort(order)
                assert is_right(port, tier, given), (way, order)
                name, *more = port.launched
                assert name.startswith(f"{family}-{dtype}-{tile.rows}x{tile.channels}")
                assert name.endswith(f"-{way}")
                assert more == ([f"total-{dtype}"] if side == "filter" else [])


@pytest.mark.parametrize("dtype", dtypes.FLOATING)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("side", SIDES)
def test_columns_are_right_in_every_order_of_threads(side: Side, dtype: str, way: str) -> None:
    given = call(dtype, way, side)
    for order in ORDERS:
        assert is_right(HostPort(order), "gemm", given)


@pytest.mark.parametrize("dtype", dtypes.FLOATING)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("side", SIDES)
def test_one_tap_is_one_product_and_no_kernel(side: Side, dtype: str, way: str) -> None:
    port = HostPort()
    ones = (1, 1, 1)
    given = call(dtype, way, side, kernel=ones, stride=ones, dilation=ones)
    assert is_right(port, "gemm", given)
    # Of a gradient by the filter each entry in NCDHW has a product; a half's are added up apart.
    halves = side == "filter" and way == "by_row" and dtype in ("float16", "bfloat16")
    assert port.launched == [f"total-{dtype}"] * halves


@pytest.mark.parametrize("tier", OWN_TIERS)
@pytest.mark.parametrize("side", SIDES)
def test_strides_far_above_the_filter(side: Side, tier: str) -> None:
    given = call(
        "float16",
        "vector",
        side,
        size=(71, 3, 40),
        kernel=(2, 1, 3),
        stride=(70, 2, 37),
        batch=1,
    )
    assert is_right(HostPort("shuffled"), tier, given)


@pytest.mark.parametrize("tier", OWN_TIERS)
@pytest.mark.parametrize("side", ["input", "filter"])
def test_a_filter_that_no_window_fits_gives_zeros(side: Side, tier: str) -> None:
    given = call("float16", "vector", side, size=(2, 3, 4), kernel=(3, 4, 5), padding="VALID")
    assert given.geometry.empty
    assert is_right(HostPort(), tier, given)
    assert not given.expected.any()


class Scarce(HostPort):
    """Has memory for arrays up to a size only, from the second on: the first is the result."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.made = 0
        self.released = 0

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        self.made += 1
        if self.made > 1 and size > self.most:
            raise MemoryError(f"{size} bytes")
        return super().empty(shape, dtype)

    def release_memory(self) -> None:
        self.released += 1


@pytest.mark.parametrize(
    ("side", "way", "kernel"),
    [
        ("input", "vector", "gather"),
        ("output", "vector", "spread"),
        ("output", "by_row", "spread"),
        ("filter", "vector", "spread"),
        ("filter", "by_row", "spread"),
    ],
)
def test_a_shortage_of_memory_makes_slabs_smaller(
    side: Side, way: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = call("float32", way, side, size=(20, 18, 16), stride=(1, 2, 1))
    need = columns.columns_bytes(given.geometry)
    monkeypatch.setattr(columns, "WORKSPACE", need)
    monkeypatch.setattr(columns, "LEAST_WORKSPACE", need // 16)
    port = Scarce(need // 7)
    assert is_right(port, "gemm", given)
    assert port.released == 3
    assert len(port.launched) >= 8
    assert all(name.startswith(kernel) for name in port.launched)


@pytest.mark.parametrize("side", SIDES)
def test_where_there_is_no_memory_for_columns_another_tier_computes(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = call("float16", "vector", side)
    monkeypatch.setattr(columns, "LEAST_WORKSPACE", columns.WORKSPACE // 4)
    port = Scarce(0)
    assert is_right(port, "gemm", given)
    assert port.released == 3
    assert [name.split("-")[0] for name in port.launched] == [kernels.FAMILY[side, "simt"]]


@pytest.mark.parametrize(("part", "splits"), [(1.0, 4), (0.5, 2), (0.2, 1)])
def test_a_shortage_of_memory_makes_splits_fewer(
    part: float, splits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_kernels, "LEAST_PLACES", 20)
    monkeypatch.setattr(filter_kernels, "BLOCKS", 100)
    given = call("float16", "vector", "filter")
    four = 4 * 4 * given.expected.size
    monkeypatch.setattr(filter_kernels, "WORKSPACE", four)

    def planned(room: int) -> int:
        choice = Choice("simt", "it was asked for")
        return filter_kernels.planned(given.convolution, lie_of(given), TRAITS, choice, room).count

    assert [planned(four), planned(four // 2), planned(four // 4)] == [4, 2, 1]
    port = Scarce(int(part * four))
    assert is_right(port, "simt", given)
    assert port.released == {4: 0, 2: 1, 1: 2}[splits]
    families = [name.split("-")[0] for name in port.launched]
    assert families == ["filter_simt", "total"][: 1 + (splits > 1)]


def lie_of(given: Call) -> Lie:
    data, other = (
        given.operands[side] for side in (given.convolution.read, given.convolution.other)
    )
    return Lie(contiguous(data.shape), contiguous(other.shape), aligned=True)


def test_no_memory_for_the_result_is_the_callers_to_know() -> None:
    given = call("float32")
    port = Scarce(0)
    port.made = 1
    with pytest.raises(MemoryError):
        computed(port, "simt", given)


def test_operands_on_two_devices_are_refused() -> None:
    given = call()
    data, filter = memory.from_numpy(given.operands["output"]), given.operands["filter"]
    elsewhere = cupy.ndarray(
        filter.shape,
        filter.dtype,
        memptr=cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(1, 2**20, None, device_id=1), 0),
    )
    operands: dict[Side, Any] = {"filter": elsewhere, "output": data}
    with pytest.raises(UnsupportedByBackend, match="filter on device 1, out_backprop on device 0"):
        compute(HostPort(), "simt", given.convolution, operands, None)


@pytest.mark.parametrize("side", SIDES)
def test_tf32_rounds_operands_and_ieee_does_not(side: Side) -> None:
    given = call("float32", "vector", side, channels=(8, 8))
    fine = np.float32(1 + 2**-12)
    read = given.convolution.read
    operands = {**given.operands, read: given.operands[read] * fine}
    whole = Call(given.convolution, operands, given.expected)
    exact = given.expected * np.float64(fine)
    with settings.allow_tf32():
        rough = computed(HostPort(), "tensor", whole)
    assert np.array_equal(rough, given.expected)
    assert np.allclose(computed(HostPort(), "simt", whole), exact, rtol=1e-6)
    assert not np.array_equal(rough, exact)


@pytest.mark.parametrize("side", ["input", "output"])
def test_what_lies_beyond_32_bits_is_read_and_written(side: Side) -> None:
    # Memory that nobody touches costs nothing, so arrays may span what this machine does not have.
    ones = (1, 1, 1)
    given = call("float16", "vector", side, kernel=ones, stride=ones, dilation=ones, size=(1, 1, 9))
    far = 2**33
    port = HostPort()
    read = given.operands[given.convolution.read]
    data = memory.empty(read.shape, np.float16, (far, 0, 0, 48, 2))
    memory.as_numpy(data)[...] = read
    line = given.expected.shape[4] * 2
    result = memory.empty(given.expected.shape, np.float16, (far, 0, 0, line, 2))
    filter = memory.from_numpy(given.operands["filter"])
    steps = [tuple(s // 2 for s in x.strides) for x in (data, filter, result)]
    if side == "output":
        steps[1] = (*steps[1][:3], steps[1][4], steps[1][3])
    for tier in ("simt", "tensor"):
        family = kernels.FAMILY[side, tier]
        for way in WAYS[:2]:
            memory.as_numpy(result)[...] = np.nan
            ((problem, _, _),) = problems(given.convolution, *steps, wide=False)
            tile = TILES[family]["float16"][1]
            kernel = kernels.product(family, "float16", tile, way)
            blocks = -(-given.convolution.made_channels // tile.channels)
            port.launch(kernel, blocks, (data, filter, result, problem))
            assert (memory.to_numpy(result).astype(float) == given.expected).all()


@pytest.mark.parametrize("tier", ["simt", "tensor"])
def test_a_gradient_by_the_filter_reads_beyond_32_bits(tier: str) -> None:
    given = call("float16", "vector", "filter", size=(1, 1, 9), kernel=(1, 1, 3))
    far = 2**33
    arrays: dict[Side, Any] = {}
    for side, array in given.operands.items():
        arrays[side] = memory.empty(array.shape, np.float16, (far, 0, 0, 2 * array.shape[4], 2))
        memory.as_numpy(arrays[side])[...] = array
    made = compute(HostPort(), tier, given.convolution, arrays, None)
    assert (memory.to_numpy(made).astype(float) == given.expected).all()


# A fault planted in a kernel's source: what is replaced by what, and the call that shows it.
FAULTS: dict[str, tuple[str, str, str, str, Callable[[], Call]]] = {
    "barrier-after-the-rows-removed": (
        "simt",
        "row_of<FORWARD>(problem, phases, tile.row + i);\n        __syncthreads();",
        "row_of<FORWARD>(problem, phases, tile.row + i);",
        "",
        partial(call, "float32"),
    ),
    "barrier-between-slices-removed": (
        "simt",
        "keep(memory.slice[step % 2], of_data, of_filter);\n            __syncthreads();",
        "keep(memory.slice[step % 2], of_data, of_filter);",
        "",
        partial(call, "float32"),
    ),
    "barrier-in-the-ring-removed": (
        "tensor",
        "wait_for_copies<STAGES - 2>();\n            __syncthreads();",
        "wait_for_copies<STAGES - 2>();",
        "",
        partial(call, "float16", channels=(11, 128)),
    ),
    "barrier-behind-the-result-removed": (
        "tensor",
        "keep(memory, sums);\n        __syncthreads();",
        "keep(memory, sums);",
        "",
        partial(call, "float16"),
    ),
    "barrier-between-the-ring-and-the-result-removed": (
        "tensor",
        "wait_for_copies<0>();\n        __syncthreads();\n        keep(memory, sums);",
        "wait_for_copies<0>();\n        keep(memory, sums);",
        "",
        # The last of its four slices lies at the ring's start, where the result's tile begins.
        partial(
            call,
            "float16",
            channels=(64, 128),
            kernel=(1, 1, 1),
            stride=(1, 1, 1),
            dilation=(1, 1, 1),
        ),
    ),
    "barrier-for-one-warp-only": (
        "simt",
        "keep(memory.slice[step % 2], of_data, of_filter);\n            __syncthreads();",
        "keep(memory.slice[step % 2], of_data, of_filter);\n            "
        "if (thread < 32) __syncthreads();",
        "deadlock",
        partial(call, "float32"),
    ),
    "copies-not-waited-for": (
        "tensor",
        "wait_for_copies<STAGES - 2>();",
        "",
        "",
        partial(call, "float16"),
    ),
    "copies-waited-for-a-step-too-late": (
        "tensor",
        "wait_for_copies<STAGES - 2>();",
        "wait_for_copies<STAGES - 1>();",
        "",
        partial(call, "float16"),
    ),
    "tap-shifted": (
        "simt",
        "unsigned(phases.of[d]->first) -",
        "unsigned(phases.of[d]->first + 1) -",
        "",
        partial(call, "float32"),
    ),
    "fragments-swapped": (
        "tensor",
        "right[j][1] = both[1];",
        "right[j][1] = both[2];",
        "",
        partial(call, "float16"),
    ),
    "rows-of-a-fragment-swapped": (
        "tensor",
        "[channel + j * 8 + n % 2]",
        "[channel + j * 8 + 1 - n % 2]",
        "",
        partial(call, "float16"),
    ),
    "written-beyond-the-last-channel": (
        "simt",
        "if (c < problem.made_channels)\n                    result",
        "if (c < problem.made_channels + 64)\n                    result",
        "",
        partial(call, "float32", batch=1),
    ),
    "filter-read-beyond-its-end": (
        "simt",
        "at.inside() && c < problem.made_channels && k",
        "at.inside() && c < problem.made_channels + 4096 && k",
        "",
        partial(call, "float32", channels=(3, 2048), kernel=(1, 1, 1)),
    ),
    "data-read-outside": (
        "simt",
        "if (depth.meets(problem, row))",
        "if (row.inside)",
        "",
        partial(call, "float32", channels=(11, 2048), batch=1),
    ),
    "vector-of-a-line-between-vectors": (
        "tensor",
        "copy_16_bytes(to + part * 4, there ? from + offset : from, there);",
        "copy_16_bytes(to + part * 4, there ? from + offset + 1 : from, there);",
        "unaligned",
        partial(call, "float16"),
    ),
    "phases-without-taps-not-written": (
        "simt",
        "if (tile.row >= phases.rows) return;",
        "if (tile.row >= phases.rows || phases.taps() == 0) return;",
        "",
        partial(call, "float32", stride=(4, 3, 5), kernel=(1, 1, 1)),
    ),
    "sums-not-cleared": (
        "simt",
        "sums[i][j] = 0;",
        ";",
        "",
        partial(call, "float32"),
    ),
    "depth-not-padded-with-zeros": (
        "tensor",
        "k < problem.read_channels && depth.meets(problem, row)",
        "depth.meets(problem, row)",
        "",
        partial(call, "float16"),
    ),
    "gap-between-windows-forgotten": (
        "simt",
        "FORWARD ? j * problem.gap[d] : j",
        "FORWARD ? j : j",
        "",
        partial(call, "float32", "vector", "output"),
    ),
    "forward-filter-not-turned": (
        "tensor",
        "load_turned_matrices(words, &value[k + lane / 8 % 2 * 8",
        "load_matrices(words, (const uint32_t*)&value[k + lane / 8 % 2 * 8",
        "",
        partial(call, "float16", "vector", "output"),
    ),
    "words-of-a-turned-panel-swapped": (
        "tensor",
        "[first + lane / 4 + n / 2 * 8]",
        "[first + lane / 4 + n % 2 * 8]",
        "",
        partial(call, "float32", "vector", "output"),
    ),
    "forward-filter-read-beyond-its-end": (
        "simt",
        "at.inside() && c < problem.made_channels && k < problem.read_channels",
        "at.inside() && c < problem.made_channels",
        "",
        # Its last tap reaches something, and behind it there is nothing.
        partial(call, "float32", "by_channel", "output", kernel=(3, 2, 2), dilation=(1, 1, 1)),
    ),
    "columns-outside-not-zero": (
        "gemm",
        "meets(windows, row, place) ? input[row.from + place.from]",
        "row.inside ? input[row.from + place.from]",
        "",
        partial(call, "float32", "vector", "output", channels=(11, 2048), batch=1),
    ),
    "barrier-before-the-places-removed": (
        "simt",
        "place_of(windows, tile.first + thread, tile.end);\n        __syncthreads();",
        "place_of(windows, tile.first + thread, tile.end);",
        "",
        partial(call, "float32", "vector", "filter"),
    ),
    "places-of-the-step-before": (
        "simt",
        "memory.place[(step + 1) % 2][thread] =",
        "memory.place[step % 2][thread] =",
        "",
        partial(call, "float32", "vector", "filter"),
    ),
    "barrier-behind-the-places-removed": (
        "tensor",
        "look_up(memory, windows, tile, step + 1);\n            __syncthreads();",
        "look_up(memory, windows, tile, step + 1);",
        "",
        partial(call, "float16", "vector", "filter"),
    ),
    "barrier-in-the-ring-of-places-removed": (
        "tensor",
        "wait_for_copies<STAGES - 2>();\n            __syncthreads();",
        "wait_for_copies<STAGES - 2>();",
        "",
        partial(call, "float16", "vector", "filter", size=(9, 9, 16), stride=(1, 1, 1)),
    ),
    "left-panel-not-turned": (
        "tensor",
        "load_turned_matrices(words, &value[k + lane / 16 * 8",
        "load_matrices(words, (const uint32_t*)&value[k + lane / 16 * 8",
        "",
        partial(call, "float16", "vector", "filter"),
    ),
    "a-split-reads-on-into-the-next": (
        "simt",
        "end = first + windows.per_split < windows.places ? first + windows.per_split",
        "end = first + windows.per_split < windows.places ? windows.places",
        "",
        partial(call, "float32", "vector", "filter"),
    ),
    "splits-in-one-place": (
        "simt",
        "(windows.first_split + rest) * windows.rows",
        "windows.first_split * windows.rows",
        "",
        partial(call, "float32", "vector", "filter"),
    ),
    "last-split-left-out-of-the-total": (
        "simt",
        "part < problem.count",
        "part < problem.count - 1",
        "",
        partial(call, "float16", "vector", "filter"),
    ),
    "gradient-read-beyond-its-end": (
        "simt",
        "at.inside() && c < windows.out_channels",
        "at.inside()",
        "",
        partial(call, "float32", "vector", "filter", channels=(2000, 8), size=(1, 1, 1)),
    ),
}

NOTICED, UNNOTICED, REFUSED = 0, 3, 4


def ended(judge: Callable[[], int]) -> int:
    """Run a judge in a process of its own; return its exit code, or the signal, negative."""
    child = os.fork()
    if child == 0:
        code = REFUSED
        try:
            code = judge()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_in_a_kernel_is_noticed(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier, right, wrong, words, make = FAULTS[fault]
    monkeypatch.setattr(filter_kernels, "LEAST_PLACES", 20)
    given = make()
    with settings.allow_tf32(tier == "tensor"):
        assert is_right(HostPort(), tier, given), "the kernel is wrong as it is"
        code = ended(lambda: noticed(tier, given, right, wrong, words))
    # A guard page ends the process: that is noticed too.
    assert code == NOTICED or code < 0, (fault, code)


def noticed(tier: str, given: Call, right: str, wrong: str, words: str) -> int:
    """Plant a fault, and say whether it was noticed; where it is, is found out at the launches."""
    sources: list[bool] = []

    def planted(kernel: Kernel) -> str:
        source = kernel.source()
        sources.append(right in source)
        return source.replace(right, wrong)

    for order in ORDERS:
        try:
            if not is_right(HostPort(order, source_of=planted), tier, given):
                return UNNOTICED if words or not any(sources) else NOTICED
        except RuntimeError as error:
            return NOTICED if words and words in str(error) else UNNOTICED
    return UNNOTICED


@pytest.mark.parametrize("tier", OWN_TIERS)
@pytest.mark.parametrize("side", SIDES)
def test_no_behaviour_is_undefined(side: Side, tier: str) -> None:
    # Of what is new in a dtype there is one kernel; the ways differ in theirs.
    pairs = list(zip(("float16", "float32", "float64"), WAYS, strict=True))
    if side == "input":
        pairs = list(product(dtypes.FLOATING, WAYS))

    def judge() -> int:
        for dtype, way in pairs:
            if tier == "tensor" and dtype not in ("float16", "bfloat16"):
                continue
            given = call(dtype, way, side)
            if not is_right(HostPort("shuffled", sanitized=True), tier, given):
                return UNNOTICED
        return NOTICED

    assert ended(judge) == 0


def test_a_vector_read_between_vectors_is_undefined_behaviour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan, "in_vectors", lambda strides, width: True)
    given = call()
    data = given.operands["output"]
    gaps = np.zeros((*data.shape[:4], 25), np.float32)
    gaps[..., :24] = data
    apart = Call(given.convolution, {**given.operands, "output": gaps[..., :24]}, given.expected)

    def judge() -> int:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        port = HostPort(sanitized=True)
        is_right(port, "simt", apart)
        assert port.launched[0].endswith("-vector")
        return UNNOTICED

    assert ended(judge) not in (UNNOTICED, REFUSED)


def test_explain_names_the_tier_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def detail(dtype: str) -> str | None:
        explained = opspec.explain(
            "conv3d_transpose",
            np.ones((1, 4, 4, 4, 16), dtype),
            np.ones((3, 3, 3, 16, 16), dtype),
            [1, 4, 4, 4, 16],
            1,
            backend="opspec.backends.cupy.emulator:backend",
        )
        assert f"runs, {explained.detail}" in str(explained)
        return explained.detail

    assert detail("float16") == "tier tensor: tensor cores take these operands as they lie"
    monkeypatch.setenv("OPSPEC_CUPY_TIER", "simt")
    assert detail("float16") == "tier simt: it was asked for"
    monkeypatch.setenv("OPSPEC_CUPY_TIER", "tensor")
    refused = detail("float64")
    assert refused is not None
    assert refused.startswith("but fails: backend 'cupy': tier tensor: its tensor cores'")


def test_a_launch_is_checked_against_the_kernel() -> None:
    port = HostPort()
    kernel = kernels.gather("float32")
    array = memory.empty((4,), np.float32)
    with pytest.raises(TypeError, match="takes 3 arguments; given 1"):
        port.launch(kernel, 1, (array,))
    with pytest.raises(TypeError, match="bytes given for a parameter of"):
        port.launch(kernel, 1, (array, array, np.zeros((), np.int32)))
    with pytest.raises(ValueError, match="0 blocks"):
        port.launch(kernel, 0, (array, array, np.zeros((), np.int32)))
    old = HostPort(traits=type(TRAITS)(75, 40, 64 * 1024))
    kernel = kernels.product("tensor", "float16", TILES["tensor"]["float16"][0], "vector")
    with pytest.raises(ValueError, match="needs compute capability 80"):
        old.launch(kernel, 1, ())


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_arrays_keep_how_they_lie(dtype: Any) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4).astype(dtype)
    for form in (array, array[:, ::-1, ::2], array.T, np.broadcast_to(array[:1], (5, 3, 4))):
        made = memory.from_numpy(form)
        assert made.strides == form.strides
        assert made.dtype == form.dtype
        assert np.array_equal(memory.to_numpy(made), form)
    assert np.isnan(memory.to_numpy(memory.empty((3,), dtype)).astype(float)).all()
