"""The two executions of the definition, against values probed from TensorFlow and each other."""

from typing import Any

import numpy as np
import pytest

from opspec.conformance.oracle import direct_sum, exact_sum, forward_sum

PROBES = [
    # (taps, stride, size, data, padding, result), recorded from TensorFlow 2.21
    ([1, 2, 4, 8], 1, 4, [1, 0, 0, 0], "SAME", [2, 4, 8, 0]),
    ([1, 2, 4], 2, 4, [1, 0], "SAME", [1, 2, 4, 0]),
    ([1, 2, 4], 2, 3, [1, 0], "SAME", [2, 4, 0]),
    ([1, 2], 3, 5, [1, 1], "SAME", [1, 2, 0, 1, 2]),
]


def along(axis: int, numbers: list[int]) -> np.ndarray[Any, Any]:
    shape = [1, 1, 1, 1, 1]
    shape[axis] = len(numbers)
    return np.array(numbers, np.float32).reshape(shape)


def problem(axis: int, probe: tuple[Any, ...], data_format: str) -> dict[str, Any]:
    taps, stride, size, data, padding, _ = probe
    place = data_format.index("DHW"[axis])
    sizes, strides = [1] * 5, [1] * 5
    sizes[place], strides[place] = size, stride
    return {
        "input_sizes": sizes,
        "filter": along(axis, taps),
        "out_backprop": along(place, data),
        "strides": strides,
        "padding": padding,
        "data_format": data_format,
        "dilations": [1] * 5,
    }


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("probe", PROBES)
def test_both_oracles_give_what_tensorflow_was_seen_to_give(
    probe: tuple[Any, ...], axis: int, data_format: str
) -> None:
    given = problem(axis, probe, data_format)
    assert exact_sum(**given).ravel().tolist() == probe[-1]
    assert direct_sum(**given)[0].ravel().tolist() == probe[-1]


def test_the_magnitude_is_the_sum_of_absolute_values() -> None:
    given = problem(2, ([1, -2], 1, 2, [3, -4], "SAME", []), "NDHWC")
    values, magnitude = direct_sum(**given)
    assert values.ravel().tolist() == [3, -6 - 4]
    assert magnitude.ravel().tolist() == [3, 6 + 4]


def test_the_exact_oracle_refuses_fractions() -> None:
    given = problem(0, PROBES[0], "NDHWC") | {"filter": np.full((1, 1, 1, 1, 1), 0.5)}
    with pytest.raises(ValueError, match="whole numbers"):
        exact_sum(**given)


def test_the_exact_oracle_refuses_what_could_overflow() -> None:
    given = problem(0, PROBES[0], "NDHWC")
    given["filter"] = np.full((4, 1, 1, 1, 1), 2.0**40)
    given["out_backprop"] = given["out_backprop"] * 2.0**30
    with pytest.raises(ValueError, match="too large"):
        exact_sum(**given)


def forward_problem(given: dict[str, Any], input: list[float]) -> dict[str, Any]:
    shape = given["input_sizes"]
    kept = {k: v for k, v in given.items() if k not in ("input_sizes", "out_backprop")}
    return kept | {"input": np.array(input, np.float32).reshape(shape)}


def test_the_forward_convolution_reads_under_each_tap() -> None:
    given = problem(2, ([1, 2, 4], 2, 5, [0, 0], "VALID", []), "NDHWC")
    forward = forward_sum(**forward_problem(given, [1, 10, 100, 1000, 10000]))
    assert forward.ravel().tolist() == [1 + 20 + 400, 100 + 2000 + 40000]
    given = problem(2, ([1, 2, 4], 2, 4, [0, 0], "SAME", []), "NDHWC")
    forward = forward_sum(**forward_problem(given, [1, 10, 100, 1000]))
    assert forward.ravel().tolist() == [1 + 20 + 400, 100 + 2000]


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("probe", PROBES)
def test_the_forward_convolution_is_the_adjoint_of_what_tensorflow_gave(
    probe: tuple[Any, ...], axis: int, data_format: str
) -> None:
    given = problem(axis, probe, data_format)
    size, data, result = probe[2], probe[3], probe[-1]
    for place in range(size):
        unit = [float(other == place) for other in range(size)]
        forward = forward_sum(**forward_problem(given, unit)).ravel()
        assert int(forward @ np.array(data)) == result[place]


def test_channels_of_the_forward_convolution_are_contracted_from_the_large_side() -> None:
    forward = forward_sum(
        input=np.array([1.0, 2.0]).reshape(1, 2, 1, 1, 1),
        filter=np.array([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]]).reshape(1, 1, 1, 2, 3),
        strides=[1] * 5,
        padding="SAME",
        data_format="NCDHW",
        dilations=[1] * 5,
    )
    assert forward.shape == (1, 3, 1, 1, 1)
    assert forward.ravel().tolist() == [5, 50, 500]


def test_a_forward_convolution_without_windows_is_empty() -> None:
    given = problem(2, ([1, 2, 4], 1, 2, [], "VALID", []), "NDHWC")
    assert forward_sum(**forward_problem(given, [1, 2])).shape == (1, 1, 1, 0, 1)


def test_the_forward_convolution_refuses_what_could_overflow() -> None:
    given = problem(0, PROBES[0], "NDHWC") | {"filter": np.full((4, 1, 1, 1, 1), 2.0**40)}
    with pytest.raises(ValueError, match="too large"):
        forward_sum(**forward_problem(given, [2.0**30] * 4))


def test_a_forward_convolution_without_channels_to_make_is_empty() -> None:
    given = problem(2, ([1, 2], 1, 2, [1, 2], "SAME", []), "NDHWC")
    given["filter"] = given["filter"][..., :0]
    assert forward_sum(**forward_problem(given, [1, 2])).shape == (1, 1, 1, 2, 0)
