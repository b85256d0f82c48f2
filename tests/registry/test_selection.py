"""Which backend takes a call: the order, the reasons, and that nothing named ever gives way."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

import opspec
from opspec.geometry import ConvGeometry
from opspec.registry import (
    Backend,
    BackendUnavailable,
    Capabilities,
    Cost,
    UnsupportedByBackend,
    discovery,
)

OPERATION = "Conv3DBackpropInputV2"
FLOAT32 = Capabilities(operations=(OPERATION,), dtypes=("float32",), data_formats=("NDHWC",))
ONE = np.ones((1, 1, 1, 1, 1), np.float32)

Array = np.ndarray[Any, Any]


class Boxed:
    """A tiny array library of its own."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.dtype = array.dtype
        self.shape = array.shape


def made(name: str, value: float, **settings: Any) -> Backend:
    """A backend whose every result is `value`."""
    whole: dict[str, Any] = {"arrays": "numpy.ndarray", "capabilities": FLOAT32}
    backend = Backend(name=name, **whole | settings)

    @backend.implements(OPERATION)
    def constant(geometry: ConvGeometry, filter: Any, out_backprop: Any) -> Any:
        result = np.full(geometry.input_shape, value, np.float32)
        return Boxed(result) if isinstance(filter, Boxed) else result

    return backend


seven = made("seven", 7)
eight = made("eight", 8)
fast = made("fast", 9, cost=Cost(0, 1e-9, 0))
away = made("away", 0, cost=Cost(0, 0, 0), unavailable=lambda: "no device; buy one")
boxes = made(
    "boxes",
    5,
    arrays=f"{Boxed.__module__}.{Boxed.__qualname__}",
    from_numpy=Boxed,
    to_numpy=lambda box: box.array,
)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Backend]]:
    """Let tests say what is installed beside NumPy."""
    found: dict[str, Backend] = {"seven": seven}

    def entry_points() -> list[EntryPoint]:
        points = [EntryPoint("numpy", "opspec.backends.numpy:backend", discovery.GROUP)]
        return points + [EntryPoint(name, f"{__name__}:{name}", discovery.GROUP) for name in found]

    real_load = EntryPoint.load

    def load(point: EntryPoint) -> Any:
        return found[point.name] if point.name in found else real_load(point)

    monkeypatch.setattr(discovery, "entry_points", entry_points)
    monkeypatch.setattr(EntryPoint, "load", load)
    monkeypatch.delenv("OPSPEC_BACKEND", raising=False)
    discovery.forget()
    yield found
    monkeypatch.undo()
    discovery.forget()


def answer(**changes: Any) -> float:
    arguments: dict[str, Any] = {"input": ONE, "filters": ONE, "output_shape": [1] * 5}
    result: Array = opspec.nn.conv3d_transpose(**arguments | {"strides": 1} | changes)
    return float(result.ravel()[0])


def test_the_call_wins_over_the_block_over_the_environment_over_the_arrays(
    installed: dict[str, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed |= {"eight": eight, "fast": fast}
    assert answer() == 9
    monkeypatch.setenv("OPSPEC_BACKEND", "seven")
    assert answer() == 7
    with opspec.use_backend("eight"):
        assert answer() == 8
        assert answer(backend="numpy") == 1
        assert answer() == 8
    assert answer() == 7
    monkeypatch.setenv("OPSPEC_BACKEND", "")
    assert answer() == 9


def test_blocks_nest_and_end_with_an_exception(installed: dict[str, Backend]) -> None:
    with opspec.use_backend("numpy"):
        with opspec.use_backend("seven"):
            assert answer() == 7
        assert answer() == 1
        with pytest.raises(KeyError), opspec.use_backend("seven"):
            raise KeyError
        assert answer() == 1


def test_threads_do_not_see_each_others_blocks(installed: dict[str, Backend]) -> None:
    inside, outside = threading.Event(), threading.Event()
    seen: list[float] = []

    def other() -> None:
        inside.wait(10)
        seen.append(answer(backend=None))
        outside.set()

    thread = threading.Thread(target=other)
    thread.start()
    with opspec.use_backend("numpy"):
        inside.set()
        assert outside.wait(10)
        assert answer() == 1
    thread.join()
    assert seen == [7]


def test_tasks_do_not_see_each_others_blocks(installed: dict[str, Backend]) -> None:
    async def task(name: str) -> float:
        with opspec.use_backend(name):
            await asyncio.sleep(0)
            return answer()

    async def both() -> list[float]:
        return list(await asyncio.gather(task("numpy"), task("seven"), task("numpy")))

    assert asyncio.run(both()) == [1, 7, 1]


def test_a_backend_object_can_be_given(installed: dict[str, Backend]) -> None:
    assert answer(backend=eight) == 8
    with opspec.use_backend(eight) as used:
        assert used is eight
        assert answer() == 8


def test_a_named_backend_that_does_not_exist_is_an_error_that_lists_those_that_do(
    installed: dict[str, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BackendUnavailable, match=r"'nope'.*installed: numpy, seven"):
        answer(backend="nope")
    with pytest.raises(BackendUnavailable, match="'nope'"), opspec.use_backend("nope"):
        pytest.fail("the block was entered")
    monkeypatch.setenv("OPSPEC_BACKEND", "nope")
    with pytest.raises(BackendUnavailable, match="'nope'"):
        answer()


def test_a_named_backend_that_cannot_run_here_is_an_error_with_its_reason(
    installed: dict[str, Backend],
) -> None:
    installed["away"] = away
    with pytest.raises(BackendUnavailable, match="'away' cannot run here: no device; buy one"):
        answer(backend="away")
    with pytest.raises(BackendUnavailable, match="buy one"), opspec.use_backend("away"):
        pytest.fail("the block was entered")
    assert answer() == 7


@pytest.mark.parametrize("name", [3, ["numpy"], b"numpy", False, np.ones(3)], ids=str)
def test_what_is_no_name_of_a_backend_is_an_error(
    installed: dict[str, Backend], name: object
) -> None:
    with pytest.raises(BackendUnavailable, match="given by name"):
        answer(backend=name)


def test_a_named_backend_that_does_not_declare_the_call_is_an_error(
    installed: dict[str, Backend],
) -> None:
    wide = ONE.astype(np.float64)
    with pytest.raises(UnsupportedByBackend, match=r"'seven'.*dtype float64 \(it has float32\)"):
        answer(input=wide, filters=wide, backend="seven")
    with pytest.raises(UnsupportedByBackend, match="data_format NCDHW"):
        answer(data_format="NCDHW", backend="seven")
    assert answer(input=wide, filters=wide) == 1


@pytest.mark.parametrize(
    ("declared", "changes", "words"),
    [
        ({"dilation": False}, {"dilations": 2}, "dilations above 1"),
        (
            {"empties": False},
            {"input": ONE[:0], "output_shape": [0, 1, 1, 1, 1]},
            "empty tensors",
        ),
        ({"operations": ()}, {}, f"the operation {OPERATION}"),
    ],
)
def test_what_is_not_declared_is_refused_in_words(
    installed: dict[str, Backend], declared: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    whole = {"operations": (OPERATION,), "dtypes": ("float32",), "data_formats": ("NDHWC",)}
    few = made("few", 3, capabilities=Capabilities(**whole | declared))
    with pytest.raises(UnsupportedByBackend, match=words):
        answer(backend=few, **changes)


def test_a_declared_operation_without_a_kernel_is_an_error(installed: dict[str, Backend]) -> None:
    hollow = Backend(name="hollow", arrays="numpy.ndarray", capabilities=FLOAT32)
    with pytest.raises(UnsupportedByBackend, match="'hollow' hands in no kernel"):
        answer(backend=hollow)


def test_arrays_go_to_the_backend_that_computes_on_them(installed: dict[str, Backend]) -> None:
    installed["boxes"] = boxes
    result: Any = opspec.nn.conv3d_transpose(Boxed(ONE), Boxed(ONE), [1] * 5, 1)
    assert isinstance(result, Boxed)
    assert result.array.ravel().tolist() == [5]
    mixed: Any = opspec.nn.conv3d_transpose(Boxed(ONE), ONE.tolist(), [1] * 5, 1)
    assert isinstance(mixed, Boxed)


class Volume(np.ndarray[Any, Any]):
    """A subclass of NumPy's array that has a backend of its own."""


def test_a_subclass_goes_to_the_backend_that_names_it(installed: dict[str, Backend]) -> None:
    kind = f"{Volume.__module__}.{Volume.__qualname__}"
    seen: list[Any] = []
    volumes = Backend("volumes", kind, FLOAT32, from_numpy=np.asarray, to_numpy=np.asarray)

    @volumes.implements(OPERATION)
    def kernel(geometry: ConvGeometry, filter: Any, out_backprop: Any) -> Any:
        seen.append(type(out_backprop))
        return out_backprop.copy()

    assert answer(input=ONE.view(Volume)) == 7
    installed["volumes"] = volumes
    discovery.forget()
    result: Any = opspec.nn.conv3d_transpose(ONE.view(Volume), ONE.view(Volume), [1] * 5, 1)
    assert seen == [Volume]
    assert type(result) is Volume


def test_numpy_arrays_are_converted_both_ways_for_a_named_backend(
    installed: dict[str, Backend],
) -> None:
    installed["boxes"] = boxes
    result = opspec.nn.conv3d_transpose(ONE, ONE, [1] * 5, 1, backend="boxes")
    assert type(result) is np.ndarray
    assert result.ravel().tolist() == [5]
    assert answer() == 7


def test_arrays_are_never_copied_between_libraries_silently(installed: dict[str, Backend]) -> None:
    installed["boxes"] = boxes
    box: Any = Boxed(ONE)
    with pytest.raises(opspec.OpError) as caught:
        answer(input=box)
    assert caught.value.rule == "conv3d_transpose.input.library_equals_filters"
    with pytest.raises(opspec.OpError) as caught:
        opspec.raw_ops.Conv3DBackpropInputV2(
            input_sizes=[1] * 5, filter=ONE, out_backprop=box, strides=[1] * 5, padding="SAME"
        )
    assert caught.value.rule == f"{OPERATION}.out_backprop.library_equals_filter"
    with pytest.raises(UnsupportedByBackend, match=r"computes on numpy.ndarray, not on .*Boxed"):
        answer(input=box, filters=box, backend="numpy")


def test_without_any_backend_for_a_call_every_reason_is_listed(
    installed: dict[str, Backend],
) -> None:
    boxed = made("boxes", 5, arrays=boxes.arrays, from_numpy=Boxed, to_numpy=lambda box: box.array)
    installed["boxes"] = boxed
    wide: Any = Boxed(ONE.astype(np.float64))
    with pytest.raises(UnsupportedByBackend) as caught:
        answer(input=wide, filters=wide)
    text = str(caught.value)
    assert "boxes: it does not declare dtype float64" in text
    assert "numpy: it computes on numpy.ndarray" in text


def test_explain_says_who_runs_and_why_the_others_do_not(installed: dict[str, Backend]) -> None:
    installed |= {"away": away, "boxes": boxes}
    found = opspec.explain("conv3d_transpose", ONE, ONE, [1] * 5, 1)
    assert found.chosen == "seven"
    refusals = {candidate.name: candidate.refusal for candidate in found.candidates}
    assert refusals["away"] == "no device; buy one"
    assert refusals["numpy"] is None
    assert "computes on" in str(refusals["boxes"])
    lines = str(found).splitlines()
    assert "chosen by the arrays" in lines[0]
    assert "  seven: runs (expected cost 0.02 ms)" in lines
    assert "  numpy: not used: a faster backend takes the call (expected cost 0.15 ms)" in lines


def test_explain_of_a_named_backend_gives_its_refusal(installed: dict[str, Backend]) -> None:
    found = opspec.explain(opspec.nn.conv3d_transpose, ONE, ONE, [1] * 5, 1, backend="nope")
    assert found.chosen is None
    assert "no backend named 'nope'" in str(found)
    found = opspec.explain("conv3d_transpose", ONE, ONE, [1] * 5, 1, backend="numpy")
    assert found.chosen == "numpy"
    assert "seven: not used: numpy was named" in str(found)


def test_explain_of_no_operation_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match=r"operations are Conv3D, .*, conv3d_transpose"):
        opspec.explain("conv4d")
    with pytest.raises(LookupError):
        opspec.explain(print)


def test_the_debug_log_says_who_runs(
    installed: dict[str, Backend], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="opspec"):
        answer()
    assert "seven: runs" in caplog.text
    assert "numpy: not used" in caplog.text
