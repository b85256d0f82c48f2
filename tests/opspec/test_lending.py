"""Arrays of another library: lent through DLPack and given back, or refused with what to do.

The library here is a small one that knows just what is needed; test_interoperability.py has the
real ones.
"""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opspec
from opspec.errors import OpTypeError, UnsupportedByBackend
from opspec.registry import Backend, discovery

DATA = (np.arange(2 * 3 * 2 * 3 * 6) % 5 - 2).astype(np.float32).reshape(2, 3, 2, 3, 6)
FILTERS = (np.arange(3 * 2 * 2 * 4 * 6) % 7 - 3).astype(np.float32).reshape(3, 2, 2, 4, 6)
SHAPE = (2, 5, 4, 3, 4)
CPU, CUDA, METAL = 1, 2, 8


class Tensor:
    """An array that shows its memory through DLPack and nothing else."""

    def __init__(self, array: Any, device: tuple[int, int] = (CPU, 0)) -> None:
        self.array = array
        self.dtype, self.shape = array.dtype, array.shape
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)


class Sibling(Tensor):
    """A type of the same library."""


class Namespaced(Tensor):
    """An array that says itself where its library's functions are."""

    def __array_namespace__(self) -> Any:
        made = SimpleNamespace(from_dlpack=lambda lent: Namespaced(np.from_dlpack(lent)))
        made.__name__ = "spaced"
        return made


class Recorded(Tensor):
    """An array that gradients are wanted by."""

    requires_grad = True


class Traced(Tensor):
    """An array without memory, as in a program that is being compiled."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__dlpack_device__":
            raise AttributeError(name)
        return super().__getattribute__(name)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("small")
    library.from_dlpack = lambda lent: Tensor(np.from_dlpack(lent))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "small", library)
    for kind in (Tensor, Sibling, Recorded, Traced):
        monkeypatch.setattr(kind, "__module__", "small.tensors")


def called(data: Any = None, filters: Any = None, **changes: Any) -> Any:
    data = Tensor(DATA) if data is None else data
    filters = Tensor(FILTERS) if filters is None else filters
    return opspec.nn.conv3d_transpose(data, filters, SHAPE, (2, 2, 1), **changes)


EXPECTED = opspec.nn.conv3d_transpose(DATA, FILTERS, SHAPE, (2, 2, 1), backend="numpy")


@pytest.mark.parametrize("backend", [None, "numpy"])
def test_the_result_is_an_array_of_the_callers_library(backend: str | None) -> None:
    found = called(backend=backend)
    assert type(found) is Tensor
    np.testing.assert_array_equal(found.array, EXPECTED)


def test_the_library_may_say_itself_where_its_functions_are() -> None:
    found = called(Namespaced(DATA), Namespaced(FILTERS))
    assert type(found) is Namespaced
    np.testing.assert_array_equal(found.array, EXPECTED)


def test_no_operand_and_no_result_is_copied() -> None:
    seen = []

    def watched(geometry: Any, filter: Any, out_backprop: Any, out: Any = None) -> Any:
        seen.extend([filter, out_backprop])
        return result

    result = np.zeros(SHAPE, np.float32)
    backend = Backend("watched", "numpy.ndarray", discovery.find("numpy").capabilities)
    backend.implements("Conv3DBackpropInputV2")(watched)
    found = called(backend=backend)
    assert np.shares_memory(seen[0], FILTERS)
    assert np.shares_memory(seen[1], DATA)
    assert np.shares_memory(found.array, result)


def test_types_of_one_library_go_together_and_lists_with_any() -> None:
    for data in (Sibling(DATA), DATA.tolist()):
        found = called(data)
        assert type(found) is Tensor
        np.testing.assert_array_equal(found.array, EXPECTED)


@pytest.mark.parametrize(
    ("filters", "given"),
    [
        (FILTERS, "small beside numpy.ndarray"),
        (Namespaced(FILTERS), "small beside spaced"),
    ],
)
def test_arrays_of_two_libraries_are_refused(filters: Any, given: str) -> None:
    with pytest.raises(OpTypeError, match=given):
        called(filters=filters)


def test_out_is_an_array_of_the_library_too() -> None:
    out = Tensor(np.full(SHAPE, np.nan, np.float32))
    assert called(out=out) is out
    np.testing.assert_array_equal(out.array, EXPECTED)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.zeros(SHAPE, np.float32), "given numpy; allowed small"),
        (Namespaced(np.zeros(SHAPE, np.float32)), "given spaced; allowed small"),
        ("text", "a builtins.str, which no installed backend takes.*; allowed small"),
    ],
)
def test_any_other_out_is_refused(out: Any, words: str) -> None:
    with pytest.raises(OpTypeError, match=words) as caught:
        called(out=out)
    assert caught.value.rule == "conv3d_transpose.out.array"
    assert caught.value.hint is None


def test_out_shares_no_memory_with_what_was_lent() -> None:
    same = np.zeros((1, 1, 1, 1, 1), np.float32)
    with pytest.raises(opspec.OpError, match=r"out\.overlap"):
        opspec.nn.conv3d_transpose(
            Tensor(same), Tensor(same + 1), same.shape, 1, out=Tensor(same.view())
        )


@pytest.mark.parametrize(
    ("operand", "words"),
    [
        (Recorded(DATA), r"Recorded that requires grad, .*; \.detach\(\) it"),
        (Tensor(DATA, (METAL, 0)), "on metal, where no installed backend computes"),
        (Tensor(DATA, (99, 0)), "on DLPack's device 99"),
    ],
)
def test_what_cannot_be_lent_is_refused_with_the_reason(operand: Any, words: str) -> None:
    with pytest.raises(OpTypeError, match=words) as caught:
        called(operand)
    assert caught.value.rule == "conv3d_transpose.input.is_array"


def test_an_array_without_memory_is_refused_with_the_way_round() -> None:
    with pytest.raises(OpTypeError, match=r"no memory to lend; call opspec outside jax\.jit"):
        called(Traced(DATA))


def test_an_array_on_a_gpu_is_never_moved_to_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    words = r"on cuda, where only CuPy could compute, and cupy is not installed; move the array"
    with pytest.raises(OpTypeError, match=words):
        called(Tensor(DATA, (CUDA, 1)))


def test_an_array_on_a_gpu_is_lent_to_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = ModuleType("cupy")
    cupy.from_dlpack = lambda lent: lent.array  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    data, filters = Tensor(DATA, (CUDA, 1)), Tensor(FILTERS, (CUDA, 1))
    with pytest.raises(UnsupportedByBackend, match=r"numpy: .* not on cupy\.ndarray"):
        called(data, filters)
    with pytest.raises(UnsupportedByBackend, match=r"not on cupy\.ndarray; convert"):
        called(data, filters, backend="numpy")
    with pytest.raises(OpTypeError, match="small on cuda:1 beside small on cuda:0"):
        called(data, Tensor(FILTERS, (CUDA, 0)))


class Lazy:
    """An array whose library computes for NumPy's functions, as dask's and xarray's do."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise AssertionError("never asked for")

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("never asked for")

    def compute(self) -> Any:
        return DATA


def test_an_array_that_no_result_can_be_turned_back_into_is_refused() -> None:
    with pytest.raises(OpTypeError, match=r"turned back into; convert it first: \.compute\(\)"):
        called(Lazy(), FILTERS)


def test_gradients_are_the_callers_arrays() -> None:
    ones = np.ones(SHAPE, np.float32)
    given: tuple[Any, ...] = SHAPE, (2, 2, 1)
    _, pullback = opspec.vjp("conv3d_transpose", Tensor(DATA), Tensor(FILTERS), *given)
    _, expected = opspec.vjp("conv3d_transpose", DATA, FILTERS, *given)
    for name, found in pullback(Tensor(ones)).items():
        assert type(found) is Tensor
        np.testing.assert_array_equal(found.array, expected(ones)[name])
