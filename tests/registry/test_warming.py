"""`opspec.warmup`: what it compiles, what it refuses, and that only it changes who takes a call."""

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

import opspec
from opspec.backends.numpy import backend as numpy_backend
from opspec.geometry import ConvGeometry
from opspec.registry import (
    Backend,
    BackendContractError,
    BackendUnavailable,
    Capabilities,
    Cost,
    Piece,
    UnsupportedByBackend,
    discovery,
)

OPERATION = "Conv3DBackpropInputV2"
CAN = Capabilities(
    operations=(OPERATION,), dtypes=("float32", "float64"), data_formats=("NDHWC", "NCDHW")
)
COMPILED = Cost(start=4.0, call=15e-6, per_multiply_add=1.5e-11)


def pieces(dtype: str, data_format: str) -> Iterator[str]:
    yield "pack"
    yield "gather"


def compiling(warm: Any = pieces, name: str = "compiled", **settings: Any) -> Backend:
    """A backend whose every result is 9."""
    backend = Backend(name, "numpy.ndarray", CAN, cost=COMPILED, warm=warm, **settings)

    @backend.implements(OPERATION)
    def kernel(geometry: ConvGeometry, filter: Any, out_backprop: Any) -> Any:
        return np.full(geometry.input_shape, 9, geometry.dtype)

    return backend


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Backend], Backend]]:
    """Install a backend beside NumPy's, and no others."""
    found: dict[str, Backend] = {"numpy": numpy_backend}

    def entry_points() -> list[EntryPoint]:
        return [EntryPoint(name, f"nowhere:{name}", discovery.GROUP) for name in found]

    def installed(backend: Backend) -> Backend:
        found[backend.name] = backend
        discovery.forget()
        return backend

    monkeypatch.setattr(discovery, "entry_points", entry_points)
    monkeypatch.setattr(EntryPoint, "load", lambda point: found[point.name])
    monkeypatch.delenv("OPSPEC_BACKEND", raising=False)
    discovery.forget()
    yield installed
    monkeypatch.undo()
    discovery.forget()


def answer(dtype: str = "float32", data_format: Any = "NDHWC") -> float:
    """What a small call gives: 9 on the backend that compiles, 1 on NumPy's."""
    one = np.ones((1, 1, 1, 1, 1), dtype)
    result = opspec.nn.conv3d_transpose(one, one, [1] * 5, 1, data_format=data_format)
    return float(result.ravel()[0])


def test_after_it_small_calls_of_that_kind_go_to_the_backend(
    install: Callable[[Backend], Backend],
) -> None:
    install(compiling())
    kinds = [(dtype, layout) for dtype in CAN.dtypes for layout in CAN.data_formats]
    assert [answer(*kind) for kind in kinds] == [1, 1, 1, 1]
    opspec.warmup("compiled")
    assert [answer(*kind) for kind in kinds] == [9, 1, 1, 1]
    opspec.warmup("compiled", dtypes=["float64"], data_formats=("NDHWC", "NCDHW"))
    assert [answer(*kind) for kind in kinds] == [9, 1, 9, 9]
    explained = opspec.explain("conv3d_transpose", *[np.ones([1] * 5, np.float32)] * 2, [1] * 5, 1)
    assert explained.chosen == "compiled"
    assert "numpy: not used: a faster backend takes the call" in str(explained)


def test_what_was_warmed_stays_so_when_the_registry_forgets(
    install: Callable[[Backend], Backend],
) -> None:
    install(compiling())
    opspec.warmup("compiled")
    discovery.forget()
    assert answer() == 9


def test_it_says_what_it_did_and_reports_each_piece_as_it_is_done() -> None:
    seen: list[Piece] = []
    at_each: list[int] = []

    def warm(dtype: str, data_format: str) -> Iterator[str]:
        for name in ("pack", "gather"):
            at_each.append(len(seen))
            yield f"{name} {dtype}"

    backend = compiling(warm, cached_in=lambda: "/tmp/cache")
    done = opspec.warmup(backend, dtypes=("float64", "float32"), progress=seen.append)
    assert done.backend == "compiled"
    assert [(piece.name, piece.dtype, piece.data_format) for piece in seen] == [
        ("pack float64", "float64", "NDHWC"),
        ("gather float64", "float64", "NDHWC"),
        ("pack float32", "float32", "NDHWC"),
        ("gather float32", "float32", "NDHWC"),
    ]
    assert at_each == [0, 1, 2, 3]
    assert done.pieces == tuple(seen)
    assert done.cached_in == "/tmp/cache"
    assert done.seconds == sum(piece.seconds for piece in seen) >= 0
    assert str(done) == "compiled: 4 pieces ready in 0.0 s; kept in /tmp/cache"
    assert str(opspec.warmup(compiling(lambda *_: iter(["all"])))) == (
        "compiled: 1 piece ready in 0.0 s"
    )


def test_each_piece_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 13.0, 20.0, 21.5])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock, 30.0))
    # The clock is read again after `progress` returned, which is not the piece's time.
    done = opspec.warmup(compiling())
    assert [piece.seconds for piece in done.pieces] == [3.0, 1.5]


def test_a_single_name_is_one_name_and_a_name_twice_is_done_once() -> None:
    done = opspec.warmup(compiling(), dtypes="float64", data_formats=["NCDHW", "NCDHW"])
    assert [(piece.dtype, piece.data_format) for piece in done.pieces] == [
        ("float64", "NCDHW"),
        ("float64", "NCDHW"),
    ]


def test_a_backend_with_nothing_to_compile_says_so() -> None:
    done = opspec.warmup("numpy", dtypes=("bfloat16",))
    assert done.pieces == ()
    assert str(done) == "numpy: there is nothing to compile in advance"


def test_what_cannot_be_warmed_does_not_count_as_started(
    install: Callable[[Backend], Backend],
) -> None:
    install(compiling(None))
    opspec.warmup("compiled")
    assert answer() == 1


def test_stopped_between_pieces_it_keeps_what_is_whole(
    install: Callable[[Backend], Backend],
) -> None:
    install(compiling())
    closed: list[str] = []

    def warm(dtype: str, data_format: str) -> Iterator[str]:
        try:
            yield from pieces(dtype, data_format)
        finally:
            closed.append(dtype)

    install(compiling(warm))

    def stop(piece: Piece) -> None:
        if piece.dtype == "float64":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opspec.warmup("compiled", dtypes=("float32", "float64"), progress=stop)
    assert closed == ["float32", "float64"]
    assert answer("float32") == 9
    assert answer("float64") == 1


def test_a_compiler_that_fails_is_heard_and_nothing_counts_as_started(
    install: Callable[[Backend], Backend],
) -> None:
    def warm(dtype: str, data_format: str) -> Iterator[str]:
        yield "pack"
        raise OSError("the disk is full")

    install(compiling(warm))
    with pytest.raises(OSError, match="the disk is full"):
        opspec.warmup("compiled")
    assert answer() == 1


@pytest.mark.parametrize("returned", [None, ["pack"], 3])
def test_a_warm_that_is_no_generator_breaks_the_contract(returned: Any) -> None:
    with pytest.raises(BackendContractError, match="'compiled': warm yields what it has compiled"):
        opspec.warmup(compiling(lambda dtype, data_format: returned))


def test_an_unknown_or_unavailable_backend_is_refused_by_name() -> None:
    with pytest.raises(BackendUnavailable, match=r"'nobody' is installed; installed: .*numpy"):
        opspec.warmup("nobody")
    away = compiling(name="away", unavailable=lambda: "no compiler; install one")
    with pytest.raises(BackendUnavailable, match="'away' cannot run here: no compiler; install"):
        opspec.warmup(away, dtypes="float31")
    with pytest.raises(BackendUnavailable, match="given a int"):
        opspec.warmup(3)  # type: ignore[arg-type]  # that is the test


def test_what_the_backend_does_not_declare_is_refused_with_what_it_does() -> None:
    warmed: list[str] = []

    def warm(dtype: str, data_format: str) -> Iterator[str]:
        warmed.append(dtype)
        yield "all"

    backend = compiling(warm)
    with pytest.raises(UnsupportedByBackend, match="'float16' among its dtypes; it has float32, f"):
        opspec.warmup(backend, dtypes=("float32", "float16"))
    with pytest.raises(UnsupportedByBackend, match="'NHWC' among its data_formats; it has NDHWC"):
        opspec.warmup(backend, data_formats=["NHWC"])
    nothing = Capabilities(operations=(), dtypes=(), data_formats=())
    with pytest.raises(UnsupportedByBackend, match="'empty' declares no dtypes"):
        opspec.warmup(Backend("empty", "numpy.ndarray", nothing))
    assert warmed == []


@pytest.mark.parametrize("argument", ["dtypes", "data_formats"])
@pytest.mark.parametrize("given", [None, 5, [np.float32], ["float32", None]])
def test_what_is_no_name_is_a_type_error(argument: str, given: Any) -> None:
    arguments: dict[str, Any] = {argument: given}
    with pytest.raises(TypeError, match=f"{argument} must be names: of (float32|NDHWC)"):
        opspec.warmup(compiling(), **arguments)


@pytest.mark.parametrize("argument", ["dtypes", "data_formats"])
def test_no_name_at_all_is_a_value_error(argument: str) -> None:
    arguments: dict[str, Any] = {argument: ()}
    with pytest.raises(ValueError, match=f"{argument} must name at least one of"):
        opspec.warmup(compiling(), **arguments)
