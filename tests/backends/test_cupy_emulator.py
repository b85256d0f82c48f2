"""The CuPy backend without a GPU: every kernel against exact sums, and planted faults."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opspec
from opspec import dtypes
from opspec.conformance.oracle import exact_sum
from opspec.errors import UnsupportedByBackend
from opspec.geometry import ConvGeometry, Window

cupy = pytest.importorskip(
    "cupy", reason="CuPy is not installed; it comes with opspec[emulator] and needs no GPU here"
)

from opspec.backends.cupy import columns, kernels, plan, settings  # noqa: E402
from opspec.backends.cupy.conv3d_backprop_input_v2 import compute  # noqa: E402
from opspec.backends.cupy.emulator import build, memory  # noqa: E402
from opspec.backends.cupy.emulator.host import ORDERS, TRAITS, HostPort  # noqa: E402
from opspec.backends.cupy.kernels import Kernel, Tile  # noqa: E402
from opspec.backends.cupy.problem import problems  # noqa: E402

if why := build.unavailable():
    pytest.skip(why, allow_module_level=True)

Array = np.ndarray[Any, Any]
WAYS = ("vector", "by_channel", "by_row")
# cuDNN's plans have a test of their own.
OWN_TIERS = tuple(tier for tier in settings.TIERS if tier != "cudnn")


@dataclass(frozen=True)
class Call:
    """A problem of whole numbers, with the sums that are right."""

    geometry: ConvGeometry
    filter: Array
    data: Array
    expected: Array


def call(
    dtype: str = "float32",
    way: str = "vector",
    *,
    size: tuple[int, int, int] = (7, 6, 5),
    kernel: tuple[int, int, int] = (3, 2, 4),
    stride: tuple[int, int, int] = (2, 3, 1),
    dilation: tuple[int, int, int] = (1, 2, 3),
    channels: tuple[int, int] = (11, 24),
    batch: int = 2,
    padding: str = "SAME",
) -> Call:
    """Return a call that the kernels read in a certain way; nothing about it is alike twice."""
    data_format = "NCDHW" if way == "by_row" else "NDHWC"
    made, contracted = channels
    contracted -= way != "vector"
    depth, height, width = (
        Window.fitted(n, k, s, d, padding)
        for n, k, s, d in zip(size, kernel, stride, dilation, strict=True)
    )
    geometry = ConvGeometry(batch, made, contracted, (depth, height, width), data_format, dtype)
    rng = np.random.default_rng(20261202)
    kind = dtypes.numpy_dtype(dtype)
    filter = rng.integers(-1, 2, geometry.filter_shape).astype(kind)
    data = rng.integers(-2, 3, geometry.output_shape).astype(kind)
    steps = (1, *stride, 1) if way != "by_row" else (1, 1, *stride)
    spacing = (1, *dilation, 1) if way != "by_row" else (1, 1, *dilation)
    expected = exact_sum(
        input_sizes=list(geometry.input_shape),
        filter=filter,
        out_backprop=data,
        strides=list(steps),
        padding=padding,
        data_format=data_format,
        dilations=list(spacing),
    )
    return Call(geometry, filter, data, expected)


def computed(port: HostPort, tier: str, given: Call) -> Array:
    made = compute(
        port,
        tier,
        given.geometry,
        memory.from_numpy(given.filter),
        memory.from_numpy(given.data),
        None,
    )
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
    plan.products.cache_clear()
    yield
    plan.products.cache_clear()


def every_tile() -> Iterator[Any]:
    for dtype, tiles in kernels.SIMT_TILES.items():
        for tile in tiles:
            yield pytest.param("simt", dtype, tile, id=f"simt-{dtype}-{tile.rows}x{tile.channels}")
    for dtype in ("float16", "bfloat16", "float32"):
        for tile in kernels.TENSOR_TILES:
            yield pytest.param(
                "tensor", dtype, tile, id=f"tensor-{dtype}-{tile.rows}x{tile.channels}"
            )


@pytest.mark.parametrize(("tier", "dtype", "tile"), list(every_tile()))
def test_every_kernel_is_right_in_every_order_of_threads(
    tier: str, dtype: str, tile: Tile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "TENSOR_TILES", (tile,))
    monkeypatch.setattr(kernels, "SIMT_TILES", {dtype: (tile,)})
    with settings.allow_tf32(dtype == "float32" and tier == "tensor"):
        for way in WAYS:
            for order in ORDERS:
                port = HostPort(order)
                assert is_right(port, tier, call(dtype, way)), (way, order)
                (name,) = port.launched
                assert name.startswith(f"{tier}-{dtype}-{tile.rows}x{tile.channels}")
                assert name.endswith(f"-{way}")


@pytest.mark.parametrize("dtype", dtypes.FLOATING)
@pytest.mark.parametrize("way", WAYS)
def test_columns_are_added_up_in_every_order_of_threads(dtype: str, way: str) -> None:
    for order in ORDERS:
        assert is_right(HostPort(order), "gemm", call(dtype, way))


@pytest.mark.parametrize("dtype", dtypes.FLOATING)
@pytest.mark.parametrize("way", WAYS)
def test_one_tap_is_one_product_and_no_kernel(dtype: str, way: str) -> None:
    port = HostPort()
    ones = (1, 1, 1)
    given = call(dtype, way, kernel=ones, stride=ones, dilation=ones)
    assert is_right(port, "gemm", given)
    assert port.launched == []


@pytest.mark.parametrize("tier", OWN_TIERS)
def test_strides_far_above_the_filter(tier: str) -> None:
    given = call("float16", size=(71, 3, 40), kernel=(2, 1, 3), stride=(70, 2, 37), batch=1)
    assert is_right(HostPort("shuffled"), tier, given)


@pytest.mark.parametrize("tier", OWN_TIERS)
def test_a_filter_that_no_window_fits_gives_zeros(tier: str) -> None:
    given = call("float16", size=(2, 3, 4), kernel=(3, 4, 5), padding="VALID")
    assert given.geometry.empty
    assert is_right(HostPort(), tier, given)
    assert not given.expected.any()


class Scarce(HostPort):
    """Has memory for arrays up to a size only."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.released = 0

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if dtype == np.float32 and size > self.most:
            raise MemoryError(f"{size} bytes")
        return super().empty(shape, dtype)

    def release_memory(self) -> None:
        self.released += 1


def test_a_shortage_of_memory_makes_slabs_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    given = call("float16", size=(20, 18, 16))
    need = columns.columns_bytes(given.geometry)
    monkeypatch.setattr(columns, "WORKSPACE", need)
    monkeypatch.setattr(columns, "LEAST_WORKSPACE", need // 16)
    port = Scarce(need // 3)
    assert is_right(port, "gemm", given)
    assert port.released == 2
    assert len(port.launched) >= 4
    assert all(name.startswith("gather") for name in port.launched)


def test_where_there_is_no_memory_for_columns_another_tier_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = call("float16")
    monkeypatch.setattr(columns, "LEAST_WORKSPACE", columns.WORKSPACE // 4)
    port = Scarce(0)
    assert is_right(port, "gemm", given)
    assert port.released == 3
    assert [name.split("-")[0] for name in port.launched] == ["simt"]


def test_no_memory_for_the_result_is_the_callers_to_know() -> None:
    given = call("float32")
    with pytest.raises(MemoryError):
        computed(Scarce(0), "simt", given)


def test_operands_on_two_devices_are_refused() -> None:
    given = call()
    data = memory.from_numpy(given.data)
    elsewhere = cupy.ndarray(
        given.filter.shape,
        given.filter.dtype,
        memptr=cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(1, 2**20, None, device_id=1), 0),
    )
    with pytest.raises(UnsupportedByBackend, match="filter on device 1, out_backprop on device 0"):
        compute(HostPort(), "simt", given.geometry, elsewhere, data, None)


def test_tf32_rounds_operands_and_ieee_does_not() -> None:
    given = call("float32", channels=(8, 8))
    fine = np.float32(1 + 2**-12)
    whole = Call(given.geometry, given.filter, given.data * fine, given.expected)
    exact = given.expected * np.float64(fine)
    with settings.allow_tf32():
        rough = computed(HostPort(), "tensor", whole)
    assert np.array_equal(rough, given.expected)
    assert np.allclose(computed(HostPort(), "simt", whole), exact, rtol=1e-6)
    assert not np.array_equal(rough, exact)


def test_what_lies_beyond_32_bits_is_read_and_written() -> None:
    # Memory that nobody touches costs nothing, so arrays may span what this machine does not have.
    ones = (1, 1, 1)
    given = call("float16", kernel=ones, stride=ones, dilation=ones, size=(1, 1, 9))
    far = 2**33
    port = HostPort()
    data = memory.empty(given.data.shape, np.float16, (far, 0, 0, 48, 2))
    memory.as_numpy(data)[...] = given.data
    result = memory.empty(given.expected.shape, np.float16, (far, 0, 0, 22, 2))
    filter = memory.from_numpy(given.filter)
    steps = [tuple(s // 2 for s in x.strides) for x in (data, filter, result)]
    for family, tile in (
        (kernels.simt, kernels.SIMT_TILES["float16"][1]),
        (kernels.tensor, kernels.TENSOR_TILES[2]),
    ):
        for vector in (True, False):
            memory.as_numpy(result)[...] = np.nan
            ((problem, _, _),) = problems(given.geometry, *steps, wide=False)
            kernel = family("float16", tile, vector=vector, by_row=False)
            port.launch(kernel, 1, (data, filter, result, problem))
            assert (memory.to_numpy(result).astype(float) == given.expected).all()


# A fault planted in a kernel's source: what is replaced by what, and the call that shows it.
FAULTS: dict[str, tuple[str, str, str, str, Callable[[], Call]]] = {
    "barrier-after-the-rows-removed": (
        "simt",
        "row_of(problem, phases, tile.row + i);\n        __syncthreads();",
        "row_of(problem, phases, tile.row + i);",
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
        "if (c < problem.in_channels)\n                    result",
        "if (c < problem.in_channels + 64)\n                    result",
        "",
        partial(call, "float32", batch=1),
    ),
    "filter-read-beyond-its-end": (
        "simt",
        "at.line < CHANNELS && c < problem.in_channels && k",
        "at.line < CHANNELS && c < problem.in_channels + 4096 && k",
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
        "copy_16_bytes(line + part * 4, there ? from + offset : from, there);",
        "copy_16_bytes(line + part * 4, there ? from + offset + 1 : from, there);",
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
        "k < problem.out_channels && depth.meets(problem, row)",
        "depth.meets(problem, row)",
        "",
        partial(call, "float16"),
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
def test_a_fault_planted_in_a_kernel_is_noticed(fault: str) -> None:
    family, right, wrong, words, make = FAULTS[fault]
    given = make()
    assert is_right(HostPort(), family, given), "the kernel is wrong as it is"

    def planted(kernel: Kernel) -> str:
        source = kernel.source()
        assert right in source
        return source.replace(right, wrong)

    def judge() -> int:
        for order in ORDERS:
            try:
                if not is_right(HostPort(order, source_of=planted), family, given):
                    return UNNOTICED if words else NOTICED
            except RuntimeError as error:
                return NOTICED if words and words in str(error) else UNNOTICED
        return UNNOTICED

    code = ended(judge)
    # A guard page ends the process: that is noticed too.
    assert code == NOTICED or code < 0, (fault, code)


@pytest.mark.parametrize("tier", OWN_TIERS)
def test_no_behaviour_is_undefined(tier: str) -> None:
    def judge() -> int:
        for dtype in ("float16", "bfloat16") if tier == "tensor" else dtypes.FLOATING:
            for way in WAYS:
                if not is_right(HostPort("shuffled", sanitized=True), tier, call(dtype, way)):
                    return UNNOTICED
        return NOTICED

    assert ended(judge) == 0


def test_a_vector_read_between_vectors_is_undefined_behaviour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan, "_in_vectors", lambda strides, width: True)
    given = call()
    gaps = np.zeros((*given.data.shape[:4], 25), np.float32)
    gaps[..., :24] = given.data
    apart = Call(given.geometry, given.filter, gaps[..., :24], given.expected)

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
    tile = kernels.TENSOR_TILES[0]
    with pytest.raises(ValueError, match="needs compute capability 80"):
        old.launch(kernels.tensor("float16", tile, vector=True, by_row=False), 1, ())


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_arrays_keep_how_they_lie(dtype: Any) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4).astype(dtype)
    for form in (array, array[:, ::-1, ::2], array.T, np.broadcast_to(array[:1], (5, 3, 4))):
        made = memory.from_numpy(form)
        assert made.strides == form.strides
        assert made.dtype == form.dtype
        assert np.array_equal(memory.to_numpy(made), form)
    assert np.isnan(memory.to_numpy(memory.empty((3,), dtype)).astype(float)).all()
