"""What holds between calls that mean the same: other spellings, the other operation."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from opspec.conformance.property_trial import Trial


def spellings_agree(trial: Trial) -> None:
    """Spell the arguments of conv3d_transpose in every legal way: the bits stay the same."""
    plain = trial.transpose()
    for name, value in _every_spelling(trial):
        shown = f"{value!r:.80}" if not isinstance(value, np.ndarray) else f"an array {value}"
        words = f"{name}={shown} gives another result than five integers in a list"
        trial.require_same_bits(trial.transpose(**{name: value}), plain, words)


def _every_spelling(trial: Trial) -> Iterator[tuple[str, Any]]:
    problem = trial.problem
    for name, five in (("strides", problem.strides), ("dilations", problem.dilations)):
        for value in _spelled_steps(five, tuple(five[axis] for axis in problem.spatial_axes)):
            yield name, value
    if problem.data_format == "NDHWC":
        yield "data_format", None
    for kind in (np.int32, np.int64):
        yield "output_shape", np.array(problem.input_sizes, kind)
    yield "output_shape", tuple(problem.input_sizes)


def _spelled_steps(five: tuple[int, ...], three: tuple[int, ...]) -> Iterator[Any]:
    counts = [five, three]
    if len(set(three)) == 1:
        yield three[0]
        counts.append(three[:1])
    if set(three) == {1}:
        yield None
    for numbers in counts:
        yield tuple(numbers)
        yield list(numbers)
        yield np.array(numbers, np.int32)
        yield np.array(numbers, np.int64)


def operations_agree(trial: Trial) -> None:
    """Compute through both operations: the bits are the same."""
    words = "conv3d_transpose gives another result than Conv3DBackpropInputV2"
    trial.require_same_bits(trial.transpose(), trial.compute(), words)
