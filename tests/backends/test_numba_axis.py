"""A dimension taken apart covers each index once, with just the taps that land there."""

import numpy as np
import pytest

from opspec.backends.numba.axis import axis, forward_axis, joinable
from opspec.geometry import Window


def random_window(seed: int) -> Window:
    rng = np.random.default_rng([7, seed])
    kernel, stride, dilation, size = (int(rng.integers(1, most)) for most in (9, 6, 4, 25))
    return Window.fitted(size, kernel, stride, dilation, str(rng.choice(["SAME", "VALID"])))


@pytest.mark.parametrize("joined", [False, True])
def test_runs_and_phases_are_the_definition(joined: bool) -> None:
    taken = 0
    for seed in range(1500):
        window = random_window(seed)
        if window.output == 0 or (joined and not joinable(window)):
            continue
        taken += 1
        found: dict[int, list[tuple[int, int]]] = {}
        parts = axis(window, joined=joined)
        for run in parts.runs:
            for q in range(run.first, run.first + run.length):
                for phase, part in zip(parts.phases, run.parts, strict=True):
                    for place in part.residues:
                        index = q * window.stride + phase.residues[place] - window.before
                        assert index not in found
                        found[index] = sorted(
                            (q - phase.lags[lag], phase.taps[place][lag]) for lag in part.lags
                        )
        for index in range(window.input):
            meeting = [
                (position, tap)
                for position in range(window.output)
                for tap in range(window.kernel)
                if window.landing(position, tap) == index
            ]
            assert found.get(index, []) == meeting
            assert index in found or not parts.complete
    assert taken > 300


def test_runs_of_the_convolution_itself_are_the_definition() -> None:
    taken = 0
    for seed in range(1500):
        window = random_window(seed)
        if window.output == 0 or not any(window.positions(tap) for tap in range(window.kernel)):
            continue
        taken += 1
        parts = forward_axis(window)
        (phase,) = parts.phases
        assert phase.lags == tuple(sorted(phase.lags, reverse=True))
        found: dict[int, list[tuple[int, int]]] = {}
        for run in parts.runs:
            (part,) = run.parts
            reads = [
                (q, [(q * parts.gap - phase.lags[lag], phase.taps[0][lag]) for lag in part.lags])
                for q in range(run.first, run.first + run.length)
            ]
            found |= dict(reads)
            places = [place for _, pairs in reads for place, _ in pairs]
            if places:
                assert max(places) - min(places) < parts.read_by(run.length)
        for position in range(window.output):
            landings = [(window.landing(position, tap), tap) for tap in range(window.kernel)]
            assert found[position] == [pair for pair in landings if 0 <= pair[0] < window.input]
        assert (parts.source, parts.result) == (window.input, window.output)
    assert taken > 1000


def test_so_many_positions_read_no_more_than_is_said() -> None:
    parts = forward_axis(Window.fitted(40, 5, 3, 2, "VALID"))
    for positions in range(1, 40):
        length = parts.covered_by(positions)
        assert length < 1 or parts.read_by(length) <= positions
        assert parts.read_by(length + 1) > positions


def test_huge_strides_and_dilations_take_no_time() -> None:
    far = 2**31 - 1
    assert len(axis(Window(5, 1, 1, far, 1, 0, 0)).runs) == 1
    assert len(axis(Window(5, 5, 3, 1, far, far, far)).phases) == 1
