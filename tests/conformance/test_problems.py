"""Random problems are of every kind, and their sums are exact."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from opspec.conformance.problems import LARGEST_SUM, Problem, problems
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS
from opspec.registry import Capabilities

ALL = Capabilities(
    operations=("Conv3DBackpropInputV2",), dtypes=FLOATING, data_formats=DATA_FORMATS
)

KINDS: dict[str, Callable[[Problem], bool]] = {
    "no batch": lambda p: p.input_sizes[0] == 0,
    "no contraction": lambda p: p.filter.shape[4] == 0,
    "no position": lambda p: 0 in [p.out_backprop.shape[a] for a in p.spatial_axes],
    "channels beyond 16": lambda p: p.filter.shape[4] > 16,
    "channels beyond 40": lambda p: max(p.filter.shape[3:]) > 40,
    "batch beyond 8": lambda p: p.input_sizes[0] > 8,
    "kernel beyond 6": lambda p: max(p.filter.shape[:3]) > 6,
    "stride beyond 4": lambda p: max(p.strides) > 4,
    "dilation beyond 3": lambda p: max(p.dilations) > 3,
    "made channels beyond 8": lambda p: p.filter.shape[3] > 8,
    "width beyond 16": lambda p: p.out_backprop.shape[p.spatial_axes[2]] > 16,
    "depth beyond 16": lambda p: p.out_backprop.shape[p.spatial_axes[0]] > 16,
    "dilation and stride": lambda p: max(p.dilations) > 1 and max(p.strides) > 1,
    "stride above the kernel": lambda p: p.strides[2] > p.filter.shape[1] and p.padding == "SAME",
    **{f"dtype {name}": lambda p, name=name: p.dtype == name for name in FLOATING},  # type: ignore[misc]
}


SEARCH = settings(
    max_examples=1000,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_every_kind_of_problem_is_drawn() -> None:
    seen: set[str] = set()

    @SEARCH
    @given(problems(ALL))
    def examine(problem: Problem) -> None:
        seen.update(kind for kind, is_such in KINDS.items() if is_such(problem))

    examine()
    assert seen == set(KINDS)


def test_every_sum_has_room_to_spare() -> None:
    loud: list[float] = []

    @SEARCH
    @given(problems(ALL))
    def examine(problem: Problem) -> None:
        absolute = replace(
            problem, filter=abs(problem.filter), out_backprop=abs(problem.out_backprop)
        )
        largest = absolute.exact_result().max(initial=0)
        assert 4 * largest <= LARGEST_SUM[problem.dtype]
        loud.append(largest)

    examine()
    assert max(loud) > 50
