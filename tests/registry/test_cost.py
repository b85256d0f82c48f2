"""Where the arrays decide, the backend that declares the least cost for a call takes it."""

import itertools
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

import opspec
from opspec.backends.numpy import backend as numpy_backend
from opspec.geometry import ConvGeometry
from opspec.registry import Backend, BackendContractError, Capabilities, Cost, discovery
from opspec.registry.backend import DEFAULT_COST
from opspec.registry.cost import EXPECTED_CALLS

OPERATION = "Conv3DBackpropInputV2"
FLOAT32 = Capabilities(
    operations=(OPERATION,), dtypes=("float32", "float64"), data_formats=("NDHWC",)
)
# As the Numba backend declares.
COMPILED = Cost(start=4.0, call=15e-6, per_multiply_add=1.5e-11)

Install = Callable[..., Backend]


def made(name: str, cost: Cost, **settings: Any) -> Backend:
    backend = Backend(name, "numpy.ndarray", FLOAT32, cost=cost, **settings)

    @backend.implements(OPERATION)
    def kernel(geometry: ConvGeometry, filter: Any, out_backprop: Any) -> Any:
        return np.zeros(geometry.input_shape, geometry.dtype)

    return backend


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install backends beside NumPy's, and no others."""
    found: dict[str, Backend] = {"numpy": numpy_backend}

    def entry_points() -> list[EntryPoint]:
        return [EntryPoint(name, f"nowhere:{name}", discovery.GROUP) for name in found]

    def installed(name: str, cost: Cost, **settings: Any) -> Backend:
        found[name] = made(name, cost, **settings)
        discovery.forget()
        return found[name]

    monkeypatch.setattr(discovery, "entry_points", entry_points)
    monkeypatch.setattr(EntryPoint, "load", lambda point: found[point.name])
    monkeypatch.delenv("OPSPEC_BACKEND", raising=False)
    discovery.forget()
    yield installed
    monkeypatch.undo()
    discovery.forget()


def explained(multiply_adds: int, dtype: str = "float32") -> opspec.registry.Explanation:
    """Explain a call of that many multiply-adds: one position, one tap."""
    one = np.ones((1, 1, 1, 1, 1), dtype)
    filters = np.broadcast_to(one, (1, 1, 1, multiply_adds, 1))
    return opspec.explain("conv3d_transpose", one, filters, [1, 1, 1, 1, multiply_adds], 1)


def chosen(multiply_adds: int, dtype: str = "float32") -> str | None:
    return explained(multiply_adds, dtype).chosen


def test_what_one_call_is_expected_to_cost() -> None:
    cost = Cost(start=5.0, call=0.25, per_multiply_add=0.5)
    assert cost.expected(3, started=True) == 1.75
    assert cost.expected(3, started=False) == 1.75 + 5 / EXPECTED_CALLS
    assert EXPECTED_CALLS == 5000


def test_a_small_call_does_not_repay_compiling_and_a_large_one_does(install: Install) -> None:
    install("compiled", COMPILED)
    even = (4.0 / EXPECTED_CALLS + 15e-6 - 150e-6) / (1e-10 - 1.5e-11)
    assert chosen(1) == "numpy"
    assert chosen(round(0.999 * even)) == "numpy"
    assert chosen(round(1.001 * even)) == "compiled"


def test_numpy_comes_last_among_backends_that_declare_no_cost(install: Install) -> None:
    assert chosen(1) == "numpy"
    assert install("zz", DEFAULT_COST).cost == Backend("x", "numpy.ndarray", FLOAT32).cost
    assert chosen(1) == chosen(10**6) == "zz"


def test_of_equals_the_first_by_name_runs_and_the_other_says_so(install: Install) -> None:
    for name in ("bb", "aa", "cc"):
        install(name, DEFAULT_COST)
    found = explained(7)
    assert [candidate.name for candidate in found.candidates] == ["aa", "bb", "cc", "numpy"]
    assert found.chosen == "aa"
    assert "bb: not used: an equally fast backend comes before it by name" in str(found)


def test_the_candidates_stand_in_the_order_of_their_cost(install: Install) -> None:
    install("middle", Cost(0, 100e-6, 0))
    install("first", Cost(0, 1e-6, 1e-12), unavailable=lambda: "no device")
    found = explained(10)
    assert [candidate.name for candidate in found.candidates] == ["first", "middle", "numpy"]
    assert found.chosen == "middle"


def test_a_dear_call_may_be_cheap_by_the_multiply_add(install: Install) -> None:
    install("batches", Cost(0, 10e-3, 0))
    assert chosen(10**7) == "numpy"
    assert chosen(10**8) == "batches"


def test_the_multiply_adds_are_counted_from_the_geometry(install: Install) -> None:
    data = np.ones((2, 3, 4, 5, 7), np.float32)
    filters = np.ones((2, 3, 1, 11, 7), np.float32)
    found = opspec.explain("conv3d_transpose", data, filters, [2, 3, 4, 5, 11], 1)
    assert found.demand.multiply_adds == 2 * (3 * 4 * 5) * (2 * 3 * 1) * 11 * 7
    assert f"{2 * 60 * 6 * 77} multiply-adds" in str(found).splitlines()[0]
    empty = opspec.explain("conv3d_transpose", data[:0], filters, [0, 3, 4, 5, 11], 1)
    assert empty.demand.multiply_adds == 0


def test_explain_says_that_compiling_does_not_repay_itself_and_what_to_do(
    install: Install,
) -> None:
    install("compiled", COMPILED, warm=lambda dtype, data_format: iter(()))
    text = str(explained(12288, "float64"))
    assert (
        "compiled: not used: compiling it (about 4 s, once) does not repay itself for 12288 "
        "multiply-adds; name it, or call "
        "opspec.warmup('compiled', dtypes=['float64'], data_formats=['NDHWC'])"
    ) in text
    refusals = {one.name: (one.refusal, one.passed_over) for one in explained(1).candidates}
    assert refusals["numpy"] == (None, None)
    assert refusals["compiled"][0] is None
    assert refusals["compiled"][1] is not None


def test_explain_promises_no_warmup_that_there_is_not(install: Install) -> None:
    install("compiled", COMPILED)
    text = str(explained(1))
    assert "for 1 multiply-adds; name it" in text
    assert "warmup" not in text


def test_explain_says_when_another_backend_is_simply_faster(install: Install) -> None:
    install("compiled", COMPILED)
    install("fast", Cost(0, 1e-6, 1e-12))
    text = str(explained(10))
    assert "compiled: not used: a faster backend takes the call" in text
    assert "numpy: not used: a faster backend takes the call" in text


def test_the_choice_does_not_depend_on_what_ran_before(install: Install) -> None:
    install("compiled", COMPILED)
    sizes = [1, 10**5, 10**7, 10**8]
    expected = {size: chosen(size) for size in sizes}
    assert set(expected.values()) == {"numpy", "compiled"}
    for order in itertools.permutations(sizes):
        discovery.forget()
        for size in order:
            one = np.ones((1, 1, 1, 1, 1), np.float32)
            filters = np.broadcast_to(one, (1, 1, 1, min(size, 10**6), 1))
            opspec.nn.conv3d_transpose(
                one, filters, [1, 1, 1, 1, min(size, 10**6)], 1, backend="compiled"
            )
            assert chosen(size) == expected[size]


def test_what_need_not_run_is_not_asked_whether_it_could(install: Install) -> None:
    asked: list[str] = []

    def unavailable() -> None:
        asked.append("compiled")

    install("compiled", COMPILED, unavailable=unavailable)
    one = np.ones((1, 1, 1, 1, 1), np.float32)
    opspec.nn.conv3d_transpose(one, one, [1] * 5, 1)
    assert asked == []
    explained(1)
    assert asked == ["compiled"]


def test_calls_find_a_backend_installed_later_once_the_registry_forgets(install: Install) -> None:
    one = np.ones((1, 1, 1, 1, 1), np.float32)
    assert opspec.nn.conv3d_transpose(one, one, [1] * 5, 1).ravel().tolist() == [1]
    install("zeros", Cost(0, 0, 0))
    assert opspec.nn.conv3d_transpose(one, one, [1] * 5, 1).ravel().tolist() == [0]


@pytest.mark.parametrize("part", ["start", "call", "per_multiply_add"])
@pytest.mark.parametrize("value", [-1e-9, float("nan"), float("inf"), "4", None, True, 1j])
def test_a_cost_that_is_none_is_refused(part: str, value: Any) -> None:
    whole: dict[str, Any] = {"start": 0, "call": 0.5, "per_multiply_add": 1e-9}
    with pytest.raises(BackendContractError, match=f"a Cost's {part} is in seconds") as caught:
        Cost(**whole | {part: value})
    assert repr(value) in str(caught.value)
