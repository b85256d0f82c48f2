"""Where taps land, against a walk of the forward convolution's windows, one by one."""

import pickle
import subprocess
import sys
from dataclasses import replace
from itertools import product

import pytest

from opspec.geometry import (
    ConvGeometry,
    Window,
    channel_axis,
    extent,
    input_sizes_for,
    output_size,
    spatial_axes,
)

SMALL = list(product(range(13), range(1, 5), range(1, 7), range(1, 4), ("SAME", "VALID")))
FAR = 2**40


def walked_windows(input: int, kernel: int, stride: int, dilation: int, padding: str) -> list[int]:
    """Where a forward convolution's windows start, padding left out, found by walking."""
    starts: list[int] = []
    start = 0
    while True:
        taps = [start + tap * dilation for tap in range(kernel)]
        inside = start < input if padding == "SAME" else taps[-1] < input
        if not inside:
            return starts
        starts.append(start)
        start += stride


def walked_padding(input: int, kernel: int, dilation: int, starts: list[int]) -> tuple[int, int]:
    """The least padding with which the last SAME window ends inside, the odd one after."""
    missing = 0
    while starts and starts[-1] + (kernel - 1) * dilation >= input + missing:
        missing += 1
    return missing // 2, missing - missing // 2


def test_as_many_windows_as_a_walk_finds() -> None:
    for input, kernel, stride, dilation, padding in SMALL:
        walked = len(walked_windows(input, kernel, stride, dilation, padding))
        problem = (input, kernel, stride, dilation, padding)
        assert output_size(input, kernel, stride, dilation, padding) == walked, problem


def test_the_input_sizes_for_an_output_size_are_exactly_those_that_a_walk_finds() -> None:
    outputs, kernels, strides, dilations = range(5), range(1, 5), range(1, 7), range(1, 4)
    for output, kernel, stride, dilation in product(outputs, kernels, strides, dilations):
        for padding in ("SAME", "VALID"):
            walked = [
                input
                for input in range(60)
                if len(walked_windows(input, kernel, stride, dilation, padding)) == output
            ]
            found = list(input_sizes_for(output, kernel, stride, dilation, padding))
            assert found == walked, (output, kernel, stride, dilation, padding)


def test_a_fitted_window_has_the_walked_padding() -> None:
    for input, kernel, stride, dilation, padding in SMALL:
        starts = walked_windows(input, kernel, stride, dilation, padding)
        if input == 0:
            continue  # nothing to pad for: no window stands anywhere
        pads = walked_padding(input, kernel, dilation, starts) if padding == "SAME" else (0, 0)
        window = Window.fitted(input, kernel, stride, dilation, padding)
        expected = Window(input, len(starts), kernel, stride, dilation, *pads)
        assert window == expected, (input, kernel, stride, dilation, padding)


def test_positions_and_landings_are_the_meetings_of_the_walk() -> None:
    for input, kernel, stride, dilation, padding in SMALL:
        starts = walked_windows(input, kernel, stride, dilation, padding)
        pads = walked_padding(input, kernel, dilation, starts)
        before = pads[0] if padding == "SAME" else 0
        window = Window.fitted(input, kernel, stride, dilation, padding)
        for tap in range(kernel):
            walked = {
                position: start + tap * dilation - before
                for position, start in enumerate(starts)
                if 0 <= start + tap * dilation - before < input
            }
            found = {position: window.landing(position, tap) for position in window.positions(tap)}
            assert found == walked, (input, kernel, stride, dilation, padding, tap)


@pytest.mark.parametrize(
    ("input", "kernel", "stride", "padding", "output", "before", "after"),
    [
        (4, 4, 1, "SAME", 4, 1, 2),
        (4, 3, 2, "SAME", 2, 0, 1),
        (3, 3, 2, "SAME", 2, 1, 1),
        (5, 2, 3, "SAME", 2, 0, 0),
        (7, 1, 5, "SAME", 2, 0, 0),
        (9, 2, 8, "SAME", 2, 0, 1),
        (2, 3, 1, "VALID", 0, 0, 0),
        (0, 3, 2, "VALID", 0, 0, 0),
    ],
)
def test_windows_worked_out_by_hand(
    input: int, kernel: int, stride: int, padding: str, output: int, before: int, after: int
) -> None:
    window = Window.fitted(input, kernel, stride, 1, padding)
    assert (window.output, window.before, window.after) == (output, before, after)


def test_with_a_stride_far_above_the_kernel_the_filter_starts_at_position_zero() -> None:
    window = Window.fitted(input=201, kernel=2, stride=100, dilation=1, padding="SAME")
    assert (window.output, window.before, window.after) == (3, 0, 1)
    assert [window.landing(position, 0) for position in window.positions(0)] == [0, 100, 200]
    assert [window.landing(position, 1) for position in window.positions(1)] == [1, 101]


def test_a_kernel_beyond_the_input_is_zero_windows_and_not_a_negative_number() -> None:
    assert [output_size(size, 9, 4, 1, "VALID") for size in (0, 1, 4, 5, 8, 9)] == [0] * 5 + [1]


def test_huge_sizes_do_not_wrap() -> None:
    assert extent(2**31, 2**31 - 1) == 4611686014132420610
    assert output_size(2**63 - 1, 3, 2, 1, "VALID") == 4611686018427387903
    assert output_size(2**63 - 1, 3, 2, 1, "SAME") == 4611686018427387904
    sizes = input_sizes_for(2**62, 3, 4, 1, "SAME")
    assert (sizes.start, sizes.stop) == (18446744073709551613, 18446744073709551617)


def test_a_huge_dilation_lands_only_where_it_should() -> None:
    window = Window.fitted(input=3, kernel=2, stride=1, dilation=FAR, padding="SAME")
    # The window lacks FAR positions: half of them stand before, so neither tap lands inside.
    assert (window.before, window.after) == (549755813888, 549755813888)
    assert list(window.positions(0)) == []
    assert list(window.positions(1)) == []


def test_positions_of_a_huge_dimension_are_counted_and_not_listed() -> None:
    window = Window.fitted(input=FAR, kernel=3, stride=2, dilation=1, padding="SAME")
    assert window.positions(0) == range(549755813888)
    assert window.positions(2) == range(549755813887)


def test_the_axes_of_both_layouts() -> None:
    assert channel_axis("NDHWC") == 4
    assert channel_axis("NCDHW") == 1
    assert spatial_axes("NDHWC") == (1, 2, 3)
    assert spatial_axes("NCDHW") == (2, 3, 4)


def geometry(
    batch: int = 2, channels: int = 3, contracted: int = 4, data_format: str = "NDHWC"
) -> ConvGeometry:
    windows = (
        Window.fitted(10, 2, 2, 1, "SAME"),
        Window.fitted(12, 3, 2, 1, "SAME"),
        Window.fitted(14, 4, 2, 1, "SAME"),
    )
    return ConvGeometry(batch, channels, contracted, windows, data_format, "float32")


def test_shapes_follow_the_layout_and_the_filter_does_not() -> None:
    last, first = geometry(), geometry(data_format="NCDHW")
    assert last.input_shape == (2, 10, 12, 14, 3)
    assert first.input_shape == (2, 3, 10, 12, 14)
    assert last.output_shape == (2, 5, 6, 7, 4)
    assert first.output_shape == (2, 4, 5, 6, 7)
    assert last.filter_shape == first.filter_shape == (2, 3, 4, 3, 4)


@pytest.mark.parametrize(
    ("batch", "channels", "contracted", "empty"),
    [(2, 3, 4, False), (0, 3, 4, True), (2, 0, 4, True), (2, 3, 0, True)],
)
def test_a_problem_without_elements_anywhere_is_empty(
    batch: int, channels: int, contracted: int, empty: bool
) -> None:
    assert geometry(batch, channels, contracted).empty is empty


def test_one_dilation_above_one_makes_the_problem_dilated() -> None:
    plain = Window.fitted(9, 2, 1, 1, "SAME")
    wide = Window.fitted(9, 2, 1, 2, "SAME")
    undilated = ConvGeometry(1, 1, 1, (plain, plain, plain), "NDHWC", "float32")
    dilated = ConvGeometry(1, 1, 1, (plain, plain, wide), "NDHWC", "float32")
    assert undilated.dilated is False
    assert dilated.dilated is True


def test_equal_problems_hash_alike_in_every_process() -> None:
    window = Window.fitted(8, 3, 2, 1, "SAME")
    one = ConvGeometry(1, 2, 3, (window, window, window), "NDHWC", "float32")
    twin = ConvGeometry(1, 2, 3, (window, window, window), "NDHWC", "float32")
    assert one == twin
    assert hash(one) == hash(twin)
    assert hash(replace(one, batch=2)) != hash(one)
    program = (
        "import pickle, sys; g = pickle.loads(sys.stdin.buffer.read()); "
        "import opspec.geometry as o; w = o.Window.fitted(8, 3, 2, 1, 'SAME'); "
        "sys.exit(o.ConvGeometry(1, 2, 3, (w, w, w), 'NDHWC', 'float32') not in {g})"
    )
    subprocess.run([sys.executable, "-c", program], input=pickle.dumps(one), check=True)


def test_segments_have_the_taps_that_are_inside() -> None:
    for input, kernel, stride, dilation, padding in SMALL:
        window = Window.fitted(input, kernel, stride, dilation, padding)
        seen = []
        for segment in window.segments():
            assert segment.positions
            for position in segment.positions:
                landings = [window.landing(position, tap) for tap in range(kernel)]
                inside = [tap for tap, place in enumerate(landings) if 0 <= place < input]
                assert list(segment.taps) == inside, (window, position)
                seen.append(position)
        assert seen == list(range(window.output))
