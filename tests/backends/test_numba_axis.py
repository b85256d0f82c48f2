"""A dimension taken apart covers each index once, with just the taps that land there."""

import numpy as np
import pytest

from opspec.backends.numba.axis import axis, joinable
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


def test_huge_strides_and_dilations_take_no_time() -> None:
    far = 2**31 - 1
    assert len(axis(Window(5, 1, 1, far, 1, 0, 0)).runs) == 1
    assert len(axis(Window(5, 5, 3, 1, far, far, far)).phases) == 1
