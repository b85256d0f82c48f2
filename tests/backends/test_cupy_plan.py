"""The CuPy backend's arithmetic, which needs neither CuPy nor a GPU."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from opspec.backends.cupy import choice, columns, filter_kernels, kernels, settings, spread
from opspec.backends.cupy.choice import Choice, Wishes, choose
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.phases import forward_phase, phase, phases, step_back, step_of_taps
from opspec.backends.cupy.pieces import cut, forward_cut, pieces
from opspec.backends.cupy.plan import MOST_BLOCKS, Lie, best_tile, canonical, contiguous, products
from opspec.backends.cupy.port import Traits
from opspec.backends.cupy.problem import PHASES_AT_ONCE, problems
from opspec.backends.cupy.warm import warm
from opspec.errors import UnsupportedByBackend
from opspec.geometry import ConvGeometry, Side, Window

SIDES: tuple[Side, ...] = ("input", "output", "filter")
NO_CUDNN = ("cudnn", "it is not installed")
H200 = Traits(capability=90, processors=132, shared_bytes=227 * 1024, without=(NO_CUDNN,))
WITHOUT_CUBLAS = replace(H200, without=(NO_CUDNN, ("cublas", "it cannot be loaded")))
TURING = Traits(75, 40, 64 * 1024, (NO_CUDNN,))

# What a tap carries: (position of the result, tap, position of out_backprop).
Meetings = set[tuple[int, int, int]]


def geometry(
    windows: tuple[Window, Window, Window] | None = None,
    *,
    batch: int = 2,
    channels: tuple[int, int] = (16, 24),
    data_format: str = "NDHWC",
    dtype: str = "float32",
    kernel: int = 3,
    stride: int = 2,
    size: int = 8,
) -> ConvGeometry:
    window = Window.fitted(size, kernel, stride, 1, "SAME")
    return ConvGeometry(
        batch, channels[0], channels[1], windows or (window, window, window), data_format, dtype
    )


def backward(*arguments: Any, **facts: Any) -> Convolution:
    return Convolution(geometry(*arguments, **facts), "input")


def lie_of(problem: Convolution) -> Lie:
    data, other = (problem.geometry.shape_of(side) for side in (problem.read, problem.other))
    return Lie(contiguous(data), contiguous(other), aligned=True)


def met_by_definition(window: Window) -> Meetings:
    return {
        (window.landing(position, tap), tap, position)
        for tap in range(window.kernel)
        for position in window.positions(tap)
    }


def met_by_phases(window: Window) -> Meetings:
    found: Meetings = set()
    for remainder in range(phases(window)):
        part = phase(window, remainder)
        assert part.positions == len(range(remainder, window.input, window.stride))
        for number in range(part.taps):
            reads = [j + part.first - number * step_back(window) for j in range(part.positions)]
            inside = [(j, o) for j, o in enumerate(reads) if 0 <= o < window.output]
            assert inside, "a tap that reaches nothing"
            tap = part.first_tap + number * step_of_taps(window)
            found |= {(remainder + window.stride * j, tap, o) for j, o in inside}
    return found


def met_forward(window: Window) -> Meetings:
    found: Meetings = set()
    part = forward_phase(window)
    assert part.positions == window.output
    for number in range(part.taps):
        reads = [
            o * window.stride + part.first + number * window.dilation for o in range(part.positions)
        ]
        tap = part.first_tap + number
        found |= {(i, tap, o) for o, i in enumerate(reads) if 0 <= i < window.input}
    return found


def random_windows(count: int) -> Iterator[tuple[Window, random.Random]]:
    rng = random.Random(20261202)
    for _ in range(count):
        size, kernel, stride = rng.randint(1, 14), rng.randint(1, 6), rng.randint(1, 8)
        padding = rng.choice(["SAME", "VALID"])
        yield Window.fitted(size, kernel, stride, rng.randint(1, 7), padding), rng


def test_phases_meet_what_the_definition_meets_and_no_tap_in_vain() -> None:
    for window, _ in random_windows(4000):
        assert met_by_phases(window) == met_by_definition(window), window
        assert met_forward(window) == met_by_definition(window), window


def test_paddings_that_nothing_fits_are_met_as_they_are() -> None:
    rng = random.Random(20261204)
    for _ in range(4000):
        size, kernel, stride, dilation = (rng.randint(1, most) for most in (9, 5, 6, 4))
        before, after = rng.randint(0, 12), rng.randint(0, 12)
        spanned = size + before + after - (kernel - 1) * dilation - 1
        if spanned < 0:
            continue
        window = Window(size, spanned // stride + 1, kernel, stride, dilation, before, after)
        assert met_by_phases(window) == met_by_definition(window), window
        assert met_forward(window) == met_by_definition(window), window


def test_pieces_together_meet_what_the_whole_meets() -> None:
    for window, rng in random_windows(4000):
        length = rng.randint(1, 6)
        together: Meetings = set()
        for start in range(0, window.input, length):
            part, read, made = cut(window, start, min(start + length, window.input))
            assert made == slice(start, start + part.input)
            met = met_by_phases(part)
            assert {o for _, _, o in met} <= set(range(read.stop - read.start))
            together |= {(z + start, t, o + read.start) for z, t, o in met}
        assert together == met_by_definition(window), (window, length)
        together = set()
        for start in range(0, window.output, length):
            part, read, made = forward_cut(window, start, min(start + length, window.output))
            assert made == slice(start, start + part.output)
            assert read.stop - read.start == part.input
            met = met_forward(part)
            assert met == met_by_definition(part)
            together |= {(i + read.start, t, o + start) for i, t, o in met}
        assert together == met_by_definition(window), (window, length)


def test_pieces_cover_a_side_once() -> None:
    problem = geometry(data_format="NCDHW", size=7)
    sides: tuple[tuple[Side, Side], ...] = (("input", "output"), ("output", "input"))
    for side, other in sides:
        times = np.zeros(problem.shape_of(side), int)
        for piece in pieces(problem, side, 1, (3, 7, 2)):
            times[piece.box] += 1
            assert times[piece.box].shape == piece.geometry.shape_of(side)
            read = np.zeros(problem.shape_of(other))[piece.read]
            assert read.shape == piece.geometry.shape_of(other)
        assert (times == 1).all()


def rows_of(problem: np.ndarray[Any, Any], numbers: tuple[int, int, int], m: int) -> list[int]:
    """Return where row m of a phase lies in the result, as `row_of` in problem.cuh says."""
    places: list[int] = []
    rest = m
    for axis, number in reversed(list(zip(problem["axis"], numbers, strict=True))):
        rest, j = divmod(rest, int(axis["phase"][number]["positions"]))
        places.insert(0, int(axis["first_phase"]) + number + int(axis["stride"]) * j)
    return [rest, *places]


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize(
    ("size", "stride", "batch", "channels"),
    [
        ((2048, 1024, 513), (2, 3, 1), 2, (3, 1)),
        ((5, 70000, 70001), (1, 2, 2), 1, (1, 2)),
        ((2**31 + 5, 1, 1), (1, 1, 1), 1, (1, 1)),
        ((3, 2, 2**32 + 1), (2, 1, 5), 1, (2, 1)),
    ],
)
@pytest.mark.parametrize("side", ["input", "output"])
def test_plans_beyond_what_32_bits_count(
    side: Side,
    data_format: str,
    size: tuple[int, int, int],
    stride: tuple[int, int, int],
    batch: int,
    channels: tuple[int, int],
) -> None:
    depth, height, width = (
        Window.fitted(n, 3, s, 1, "SAME") for n, s in zip(size, stride, strict=True)
    )
    whole = geometry(
        (depth, height, width), batch=batch, channels=channels, data_format=data_format
    )
    problem = Convolution(whole, side)
    assert prod(whole.input_shape) > 2**31
    made = 0
    last = 0
    for part in products(problem, lie_of(problem), H200, Choice("simt", "")):
        start = [cut.start or 0 for cut in canonical_slices(part.piece.box, data_format)]
        for launch in part.launches:
            axes = launch.problem["axis"]
            assert launch.blocks <= MOST_BLOCKS
            steps = launch.problem["to_strides"]
            for numbers in product(*(range(int(axis["phases"])) for axis in axes)):
                chosen = zip(axes, numbers, strict=True)
                counts = [int(axis["phase"][n]["positions"]) for axis, n in chosen]
                rows = int(launch.problem["batch"]) * prod(counts)
                made += rows * problem.made_channels
                row = rows_of(launch.problem, (numbers[0], numbers[1], numbers[2]), rows - 1)
                place = [first + at for first, at in zip(start, row, strict=True)]
                offset = sum(int(at) * int(s) for at, s in zip(place, steps[:4], strict=True))
                last = max(last, offset + (problem.made_channels - 1) * int(steps[4]))
            largest = axes["phase"]["positions"].max(axis=1) * launch.problem["gap"]
            assert 0 < largest.max() <= 2**30
    assert made == prod(problem.result_shape)
    assert last == prod(problem.result_shape) - 1


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize(
    ("size", "stride", "batch", "channels"),
    [
        ((2048, 1024, 513), (2, 3, 1), 2, (3, 1)),
        ((2**31 + 5, 1, 1), (1, 1, 1), 1, (1, 1)),
        ((3, 2, 2**32 + 1), (2, 1, 5), 1, (2, 1)),
    ],
)
def test_a_gradient_by_the_filter_takes_every_place_once_beyond_32_bits(
    data_format: str,
    size: tuple[int, int, int],
    stride: tuple[int, int, int],
    batch: int,
    channels: tuple[int, int],
) -> None:
    depth, height, width = (
        Window.fitted(n, 3, s, 1, "SAME") for n, s in zip(size, stride, strict=True)
    )
    whole = geometry(
        (depth, height, width), batch=batch, channels=channels, data_format=data_format
    )
    problem = Convolution(whole, "filter")
    found = filter_kernels.planned(problem, lie_of(problem), H200, Choice("simt", ""), 2**28)
    taken = parts = 0
    for part in found.parts:
        for launch in part.launches:
            facts = launch.problem
            assert int(facts["first_split"]) == parts
            assert int(facts["axis"]["input"].max()) < 2**31
            reach = (facts["axis"]["output"].astype(int) - 1) * facts["axis"]["stride"]
            assert reach.max() < 2**30
            splits = -(-int(facts["places"]) // int(facts["per_split"]))
            assert launch.blocks % splits == 0
            taken += int(facts["places"])
            parts += splits
    assert taken == batch * prod(window.output for window in whole.windows)
    assert found.count == parts > 1
    assert found.total is not None
    assert int(found.total.problem["count"]) == parts


def test_what_a_filter_adds_up_apart_stays_within_its_room() -> None:
    problem = Convolution(geometry(channels=(64, 64), size=64), "filter")
    sums = 4 * prod(problem.result_shape)
    for room, most in ((2**28, 1000), (7 * sums, 7), (2 * sums, 2), (sums, 1), (0, 1)):
        found = filter_kernels.planned(problem, lie_of(problem), H200, Choice("simt", ""), room)
        assert 1 <= found.count <= most
        assert (found.total is None) == (found.count == 1)
        assert bool(found.parts[0].launches[0].problem["whole"]) == (found.count == 1)
    assert (
        filter_kernels.planned(problem, lie_of(problem), H200, Choice("simt", ""), 2**28).count > 10
    )


def canonical_slices(slices: tuple[slice, ...], data_format: str) -> tuple[slice, ...]:
    return (slices[0], *(slices[1:4] if data_format == "NDHWC" else slices[2:5]))


def test_a_stride_above_the_table_of_phases_takes_several_launches() -> None:
    window = Window.fitted(100, 3, 70, 1, "SAME")
    problem = backward((window, Window.fitted(2, 1, 1, 1, "SAME"), window))
    (part,) = products(problem, lie_of(problem), H200, Choice("simt", ""))
    assert len(part.launches) == (-(-70 // PHASES_AT_ONCE)) ** 2
    firsts = {tuple(int(a["first_phase"]) for a in x.problem["axis"]) for x in part.launches}
    assert firsts == set(product((0, 32, 64), (0,), (0, 32, 64)))


def test_an_ordinary_call_is_one_launch() -> None:
    for stride in (1, 2, 4, PHASES_AT_ONCE):
        problem = backward(stride=stride, size=64)
        (part,) = products(problem, lie_of(problem), H200, Choice("simt", ""))
        assert len(part.launches) == 1


def test_more_blocks_than_a_grid_has_are_several_launches() -> None:
    point = Window.fitted(1, 1, 1, 1, "SAME")
    windows = (Window.fitted(2**30, 1, 1, 1, "SAME"), point, point)
    problem = backward(windows, batch=2**11, channels=(1, 1))
    (part,) = products(problem, lie_of(problem), H200, Choice("simt", ""))
    assert len(part.launches) > 1
    assert sum(launch.blocks for launch in part.launches) == 2**41 // 256
    ends = [int(x.problem["first_tile"]) + x.blocks for x in part.launches]
    assert [int(x.problem["first_tile"]) for x in part.launches] == [0, *ends[:-1]]


def test_extents_that_cannot_be_counted_are_refused_in_words() -> None:
    problem = backward(channels=(2**31, 1))
    with pytest.raises(UnsupportedByBackend, match=r"up to 2147483647 channels.*given 2147483648"):
        products(problem, lie_of(problem), H200, Choice("simt", ""))


def test_a_plan_is_made_once() -> None:
    problem = backward()
    first = products(problem, lie_of(problem), H200, Choice("simt", ""))
    assert products(problem, lie_of(problem), H200, Choice("simt", "")) is first


@pytest.mark.parametrize(
    ("dtype", "channels", "data_format", "aligned", "way"),
    [
        ("float32", (16, 24), "NDHWC", True, "vector"),
        ("float32", (16, 24), "NDHWC", False, "by_channel"),
        ("float32", (16, 23), "NDHWC", True, "by_channel"),
        ("float32", (16, 24), "NCDHW", True, "by_row"),
        ("float64", (16, 2), "NDHWC", True, "vector"),
        ("float16", (16, 4), "NDHWC", True, "by_channel"),
        ("float16", (16, 8), "NDHWC", True, "vector"),
    ],
)
def test_operands_are_read_as_they_lie(
    dtype: str, channels: tuple[int, int], data_format: str, aligned: bool, way: str
) -> None:
    problem = backward(channels=channels, data_format=data_format, dtype=dtype)
    lie = replace(lie_of(problem), aligned=aligned)
    (part,) = products(problem, lie, H200, Choice("simt", ""))
    assert part.launches[0].kernel.name.endswith(f"-{way}")


def test_a_line_that_starts_between_vectors_is_not_read_in_vectors() -> None:
    problem = backward()
    lie = lie_of(problem)
    gaps = (*(stride + 1 for stride in lie.data[:4]), 1)
    (part,) = products(problem, replace(lie, data=gaps), H200, Choice("simt", ""))
    assert part.launches[0].kernel.name.endswith("-by_channel")


def test_thin_results_get_thin_tiles_and_large_ones_large_tiles() -> None:
    assert best_tile("simt", backward(channels=(3, 64)), 10**6, 1, 132).channels == 4
    assert best_tile("simt", backward(channels=(256, 64)), 10**6, 1, 132).channels == 128
    assert best_tile("tensor", backward(channels=(16, 64)), 10**6, 1, 132).channels == 16
    small = best_tile("tensor", backward(channels=(64, 64)), 640, 1, 132)
    assert small.rows * small.channels < 128 * 128


@pytest.mark.parametrize(
    ("problem", "traits", "tf32", "tier"),
    [
        (backward(kernel=1, stride=1), H200, False, "gemm"),
        (backward(kernel=1, stride=1), WITHOUT_CUBLAS, False, "simt"),
        (backward(kernel=1, stride=1), H200, True, "tensor"),
        (backward(), H200, False, "simt"),
        (backward(), H200, True, "tensor"),
        (backward(dtype="float64"), H200, True, "simt"),
        (backward(dtype="float16"), H200, False, "tensor"),
        (backward(dtype="bfloat16"), H200, False, "tensor"),
        (backward(dtype="float16", data_format="NCDHW"), H200, False, "tensor"),
        (backward(dtype="float16", channels=(3, 64)), H200, False, "simt"),
        (backward(dtype="float16"), TURING, False, "simt"),
        (backward(dtype="bfloat16", size=2048, batch=8), H200, False, "tensor"),
    ],
)
def test_the_table_chooses(problem: Convolution, traits: Traits, tf32: bool, tier: str) -> None:
    chosen = choose(problem, traits, Wishes(tf32=tf32))
    assert chosen.tier == tier
    assert str(chosen).startswith(f"tier {tier}: ")


@pytest.mark.parametrize(
    ("tier", "problem", "traits", "words"),
    [
        ("tensor", backward(), H200, "float32 on tensor cores is TF32; OPSPEC_CUPY_TF32=1 allows"),
        ("tensor", backward(dtype="float64"), H200, "are for float16, bfloat16 and, as TF32"),
        (
            "tensor",
            backward(dtype="float16"),
            TURING,
            "capability 8.0; this device has 7.5",
        ),
        ("gemm", backward(), WITHOUT_CUBLAS, "it cannot be loaded"),
        (
            "gemm",
            backward(kernel=1, stride=1, size=2048, channels=(1, 1)),
            H200,
            "cuBLAS counts in 32-bit integers; given 17179869184",
        ),
    ],
)
def test_a_tier_that_is_asked_for_runs_or_says_why_not(
    tier: str, problem: Convolution, traits: Traits, words: str
) -> None:
    with pytest.raises(UnsupportedByBackend, match=words) as caught:
        choose(problem, traits, Wishes(tier=tier))
    assert str(caught.value).startswith(f"backend 'cupy': tier {tier}: ")


def test_a_tier_that_is_asked_for_runs() -> None:
    for tier in ("gemm", "simt"):
        assert choose(backward(), H200, Wishes(tier=tier)).tier == tier


def test_the_variables_are_read_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.asked_tier() is None
    assert not settings.tf32_is_allowed()
    monkeypatch.setenv("OPSPEC_CUPY_TIER", "simt")
    monkeypatch.setenv("OPSPEC_CUPY_TF32", "1")
    assert settings.asked_tier() == "simt"
    assert settings.tf32_is_allowed()
    with settings.allow_tf32(False):
        assert not settings.tf32_is_allowed()
    monkeypatch.setenv("OPSPEC_CUPY_TIER", "fast")
    monkeypatch.setenv("OPSPEC_CUPY_TF32", "yes")
    with pytest.raises(ValueError, match="one of gemm, simt, tensor, cudnn; given 'fast'"):
        settings.asked_tier()
    with pytest.raises(ValueError, match="is 0 or 1; given 'yes'"):
        settings.tf32_is_allowed()


def test_slabs_of_columns_stay_within_the_workspace() -> None:
    problem = geometry(channels=(8, 4), size=32, batch=3)
    whole = columns.columns_bytes(problem)
    for room in (whole, whole // 2, whole // 40):
        found = columns.slabs(problem, room)
        assert all(columns.columns_bytes(piece.geometry) <= room for piece, _ in found)
        assert len(found) >= whole // room
        times = np.zeros(problem.input_shape, int)
        for piece, _ in found:
            times[piece.box] += 1
        assert (times == 1).all()


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_slabs_of_what_windows_read_take_every_place_once(data_format: str) -> None:
    problem = geometry(channels=(8, 4), size=16, batch=3, data_format=data_format)
    line = 27 * 8 * 4
    places = 3 * 8**3
    for room in (line * places, line * places // 7, line, 1):
        found = spread.slabs(problem, room)
        taken = []
        for slab in found:
            assert slab.launch is not None
            first, stop = (int(slab.launch.problem[name]) for name in ("first_place", "places"))
            assert stop - first == slab.places.stop - slab.places.start
            assert (stop - first) * line <= max(room, line)
            taken += list(range(first, stop))
        assert taken == list(range(places))


def test_columns_that_cannot_be_counted_are_refused_in_words() -> None:
    long = Window.fitted(2**31, 3, 2, 1, "SAME")
    point = Window.fitted(1, 1, 1, 1, "SAME")
    for side in SIDES[1:]:
        problem = Convolution(geometry((long, point, point), channels=(1, 1)), side)
        with pytest.raises(UnsupportedByBackend, match=r"columns are of up to 1073741824 pos"):
            choose(problem, H200, Wishes(tier="gemm"))


def test_padding_beyond_the_only_tap_is_no_product_of_matrices() -> None:
    for before, after in ((0, 0), (1, 0), (0, 1)):
        window = Window(8, 8 + before + after, 1, 1, 1, before, after)
        problem = geometry((window, window, window))
        assert choice.is_pointwise(problem) == (before == after == 0)
        for side in SIDES:
            tier = choose(Convolution(problem, side), H200, Wishes()).tier
            assert tier == ("gemm" if before == after == 0 else "simt")


def test_the_problem_names_every_kernel_once() -> None:
    names = [kernel.name for kernel in kernels.every_kernel()]
    assert len(names) == len(set(names)) >= 80
    assert all(kernel.shared_bytes <= 99 * 1024 for kernel in kernels.every_kernel())


def test_problem_of_a_phase_says_what_phases_say() -> None:
    problem = geometry(data_format="NCDHW", stride=3)
    ((made, rows, count),) = problems(
        Convolution(problem, "input"),
        (1,) * 5,
        (1,) * 5,
        canonical(contiguous(problem.input_shape), "NCDHW"),
        wide=False,
    )
    assert (rows, count) == (2 * 3**3, 27)
    for axis, window in zip(made["axis"], problem.windows, strict=True):
        for remainder in range(3):
            assert tuple(map(int, axis["phase"][remainder])) == phase(window, remainder)


def test_the_table_ends_with_the_tier_that_takes_everything() -> None:
    assert [row.tier for row in choice.TABLE] == ["gemm", "simt", "cudnn", "tensor", "simt"]


class Preparing:
    """The part of a port that compiling ahead needs."""

    def __init__(self, traits: Traits) -> None:
        self._traits = traits
        self.prepared: list[str] = []

    def traits(self) -> Traits:
        return self._traits

    def prepare(self, kernel: kernels.Kernel) -> None:
        self.prepared.append(kernel.name)


def warmed(traits: Traits, dtype: str, data_format: str) -> set[str]:
    port = Preparing(traits)
    names = list(warm(port, dtype, data_format))  # type: ignore[arg-type]
    assert names == port.prepared
    assert len(set(names)) == len(names)
    return set(names)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("tf32", [False, True])
def test_what_is_compiled_ahead_is_what_calls_need(
    dtype: str, data_format: str, tf32: bool
) -> None:
    rng = random.Random(20261203)
    with settings.allow_tf32(tf32):
        ready = warmed(H200, dtype, data_format)
    needed = {kernels.gather(dtype).name}
    for _ in range(200):
        whole = geometry(
            batch=rng.randint(1, 4),
            channels=(rng.choice([1, 3, 8, 16, 64, 200]), rng.choice([1, 4, 7, 16, 33, 128])),
            data_format=data_format,
            dtype=dtype,
            kernel=rng.randint(1, 4),
            stride=rng.randint(1, 3),
            size=rng.choice([9, 30, 70]),
        )
        for side in SIDES:
            problem = Convolution(whole, side)
            choice = choose(problem, H200, Wishes(tf32=tf32))
            if choice.tier == "gemm":
                continue
            lie = lie_of(problem)
            parts = (
                filter_kernels.planned(problem, lie, H200, choice, 2**28).parts
                if side == "filter"
                else products(problem, lie, H200, choice)
            )
            needed |= {launch.kernel.name for part in parts for launch in part.launches}
    assert needed <= ready
    assert len(needed) > len(ready) / 2


def test_what_a_device_cannot_run_is_not_compiled_ahead() -> None:
    assert not any(name.startswith("tensor") for name in warmed(TURING, "float16", "NDHWC"))
    assert not any(name.startswith("tensor") for name in warmed(H200, "float32", "NDHWC"))
