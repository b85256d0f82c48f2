"""What holds for the operation whatever the numbers are, each law a function that raises if not.

Each takes a trial, computes results that the law relates, and compares. None but the first two
knows what the right result is.
"""

import numpy as np

from opspec.conformance.oracle import forward_sum
from opspec.conformance.problems import Array, Problem
from opspec.conformance.property_trial import Trial, require_equal_numbers, require_right_sums
from opspec.conformance.tolerance import MismatchError


def equals_the_definition(trial: Trial) -> None:
    """Compare with the definition in exact integers."""
    trial.require_equal(
        trial.compute(), trial.problem.exact_result(), "the result is not the definition's"
    )


def stays_within_the_bound(trial: Trial) -> None:
    """Compare normally distributed numbers with the definition in float64."""
    require_right_sums(trial.compute(), trial.problem)


def linear_in_filter(trial: Trial) -> None:
    """f(a x + b y) = a f(x) + b f(y) for two filters x and y."""
    filter = trial.problem.filter
    axis = int(trial.generator.integers(filter.ndim))
    # A rolled filter has as many zeros in each row, so that sums of both are still exact.
    _require_linear(trial, "filter", filter, np.roll(filter, 1, axis))


def linear_in_out_backprop(trial: Trial) -> None:
    """f(a x + b y) = a f(x) + b f(y) for two out_backprop x and y."""
    data = trial.problem.out_backprop
    other = trial.generator.permutation(data.ravel()).reshape(data.shape)
    _require_linear(trial, "out_backprop", data, other)


def _require_linear(trial: Trial, name: str, one: Array, permuted: Array) -> None:
    signs = trial.generator.choice([-1.0, 1.0], one.shape).astype(one.dtype)
    other = permuted * signs
    a, b = (int(number) for number in trial.generator.integers(-2, 3, 2))
    factors = np.array([a, b], one.dtype)
    combined = trial.compute(**{name: one * factors[0] + other * factors[1]})
    parts = [trial.compute(**{name: operand}).astype(np.float64) for operand in (one, other)]
    words = f"with two {name} x and y, f({a} x + {b} y) is not {a} f(x) + {b} f(y)"
    trial.require_equal(combined, a * parts[0] + b * parts[1], words)


def adjoint(trial: Trial) -> None:
    """<forward(x), y> = <x, f(y)>: the operation is the transpose of the forward convolution."""
    problem = trial.problem
    given = trial.generator.integers(-9, 10, problem.input_sizes)
    forward = forward_sum(
        input=given,
        filter=problem.filter,
        strides=list(problem.strides),
        padding=problem.padding,
        data_format=problem.data_format,
        dilations=list(problem.dilations),
    )
    result = trial.compute()
    there = float(np.vdot(forward.astype(np.float64), problem.out_backprop.astype(np.float64)))
    back = float(np.vdot(given.astype(np.float64), result.astype(np.float64)))
    if there != back:
        words = f"<forward(x), y> is {there:g}, but <x, f(y)> is {back:g}"
        trial.require_equal(result, problem.exact_result(), words)
        raise MismatchError(words)


def shifts_with_out_backprop(trial: Trial) -> None:
    """Move out_backprop by one position: the result moves by the stride."""
    problem = trial.problem
    for axis in problem.spatial_axes:
        stride, size = problem.strides[axis], problem.input_sizes[axis]
        sizes = tuple(s + stride * (a == axis) for a, s in enumerate(problem.input_sizes))
        before, after = (
            np.pad(problem.out_backprop, [ends if a == axis else (0, 0) for a in range(5)])
            for ends in ((0, 1), (1, 0))
        )
        still = trial.compute(input_sizes=sizes, out_backprop=before)
        moved = trial.compute(input_sizes=sizes, out_backprop=after)
        letter = problem.data_format[axis]
        words = f"out_backprop moved by 1 along {letter} does not move the result by {stride}"
        lead, rest = np.split(moved, [stride], axis)
        trial.require_equal(rest, still.take(range(size), axis), words)
        if problem.padding == "VALID":
            trial.require_equal(lead, np.zeros_like(lead), f"zeros moved in along {letter}")


def channels_permute(trial: Trial) -> None:
    """Permute made channels: the result permutes; permute contracted ones: nothing changes."""
    problem, axis = trial.problem, trial.problem.channel_axis
    plain = trial.compute()
    made = trial.generator.permutation(problem.filter.shape[3])
    permuted = trial.compute(filter=problem.filter[:, :, :, made])
    words = f"made channels in the order {made.tolist()} do not permute the result"
    trial.require_equal(permuted, plain.take(made, axis), words)
    contracted = trial.generator.permutation(problem.filter.shape[4])
    same = trial.compute(
        filter=problem.filter[..., contracted],
        out_backprop=problem.out_backprop.take(contracted, axis),
    )
    words = f"contracted channels of both operands in the order {contracted.tolist()} change it"
    trial.require_equal(same, plain, words)


def batch_entries_are_independent(trial: Trial) -> None:
    """Compute each batch entry alone: together they are the whole."""
    problem = trial.problem
    whole = trial.compute()
    for entry in range(problem.input_sizes[0]):
        alone = trial.compute(
            input_sizes=(1, *problem.input_sizes[1:]),
            out_backprop=problem.out_backprop[entry : entry + 1],
        )
        words = f"batch entry {entry} alone is not what it is in the whole"
        trial.require_equal(alone, whole[entry : entry + 1], words)


def layouts_agree(trial: Trial) -> None:
    """Compute in the other layout: the result is transposed, nothing else."""
    problem, order = trial.problem, (0, 4, 1, 2, 3)
    last = trial.compute()
    first = trial.compute(
        input_sizes=_in_order(problem.input_sizes, order),
        out_backprop=np.ascontiguousarray(problem.out_backprop.transpose(order)),
        strides=_in_order(problem.strides, order),
        dilations=_in_order(problem.dilations, order),
        data_format="NCDHW",
    )
    words = "NCDHW does not give the transpose of what NDHWC gives"
    require_equal_numbers(first, last.transpose(order), "NCDHW", words)


def _in_order(numbers: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(numbers[axis] for axis in order)


def powers_of_two_scale(trial: Trial) -> None:
    """Multiply an operand by a power of two: so is the result, exactly."""
    problem = trial.problem
    plain = trial.compute().astype(np.float64)
    for name, operand in (("filter", problem.filter), ("out_backprop", problem.out_backprop)):
        factor = 2.0 ** int(trial.generator.integers(*_exponents(problem)))
        scaled = trial.compute(**{name: operand * np.array(factor, operand.dtype)})
        words = f"{name} times {factor:g} does not scale the result by it"
        trial.require_equal(scaled, plain * factor, words)


def _exponents(problem: Problem) -> tuple[int, int]:
    """Return exponents, the last excluded, by which no number overflows or gets subnormal."""
    return (-10, 5) if problem.dtype == "float16" else (-60, 61)
