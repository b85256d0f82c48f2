"""`out=`: the result lands in the caller's array, and nothing but a right one is written to."""

import inspect
import tracemalloc
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opspec
from opspec.errors import BackendContractError, OpError, OpMemoryError, OpTypeError
from opspec.geometry import ConvGeometry
from opspec.out import out_rules
from opspec.registry import Backend, Capabilities

OPERATION = "Conv3DBackpropInputV2"
ALL = Capabilities(
    operations=(OPERATION,),
    dtypes=("float16", "bfloat16", "float32", "float64"),
    data_formats=("NDHWC", "NCDHW"),
)
Array = np.ndarray[Any, Any]

SHAPE = (2, 5, 4, 3, 4)
DATA = (np.arange(2 * 3 * 2 * 3 * 6) % 5 - 2).astype(np.float32).reshape(2, 3, 2, 3, 6)
FILTERS = (np.arange(3 * 2 * 2 * 4 * 6) % 7 - 3).astype(np.float32).reshape(3, 2, 2, 4, 6)
STRIDES = (2, 2, 1)


def called(data: Any = DATA, filters: Any = FILTERS, **changes: Any) -> Any:
    arguments: dict[str, Any] = {"output_shape": SHAPE, "strides": STRIDES, "backend": "numpy"}
    return opspec.nn.conv3d_transpose(data, filters, **arguments | changes)


def backpropagated(**changes: Any) -> Any:
    arguments: dict[str, Any] = {"input_sizes": SHAPE, "filter": FILTERS, "out_backprop": DATA}
    arguments |= {"strides": [1, *STRIDES, 1], "padding": "SAME"}
    return opspec.raw_ops.Conv3DBackpropInputV2(**arguments | changes)


def garbage(shape: tuple[int, ...] = SHAPE, dtype: Any = np.float32) -> Array:
    return np.full(shape, np.nan, dtype)


def backend_of(kernel: Callable[..., Any]) -> Backend:
    backend = Backend("planted", "numpy.ndarray", ALL)
    backend.implements(OPERATION)(kernel)
    return backend


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_the_result_lands_in_out_and_out_is_returned(dtype: Any, data_format: str) -> None:
    data, filters, shape = DATA.astype(dtype), FILTERS.astype(dtype), SHAPE
    if data_format == "NCDHW":
        data, shape = np.moveaxis(data, -1, 1), (SHAPE[0], SHAPE[4], *SHAPE[1:4])
    arguments: dict[str, Any] = {"output_shape": shape, "data_format": data_format}
    out = garbage(shape, dtype)
    assert called(data, filters, **arguments, out=out) is out
    assert out.tobytes() == called(data, filters, **arguments).tobytes()


def test_the_raw_operation_takes_it_too() -> None:
    out = garbage()
    assert backpropagated(out=out) is out
    np.testing.assert_array_equal(out, called())


def test_lists_go_with_it() -> None:
    out = garbage()
    assert called(DATA.tolist(), FILTERS.tolist(), out=out) is out
    np.testing.assert_array_equal(out, called())


def test_none_is_no_out() -> None:
    np.testing.assert_array_equal(called(out=None), called())


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_numpys_kernel_writes_there_without_a_result_of_its_own(dtype: Any) -> None:
    data: Any = np.ones((1, 16, 128, 128, 8), dtype)
    filters: Any = np.ones((1, 1, 1, 32, 8), dtype)
    shape = (1, 16, 128, 128, 32)
    out = garbage(shape, dtype)
    tracemalloc.start()
    try:
        called(data, filters, output_shape=shape, strides=1, out=out)
        with_out = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        called(data, filters, output_shape=shape, strides=1)
        without = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (out == 8).all()
    assert without - with_out > 0.9 * out.nbytes


def test_a_kernel_that_takes_out_gets_the_callers_array() -> None:
    seen: list[Any] = []

    def kernel(geometry: Any, filter: Any, out_backprop: Any, out: Any = None) -> Any:
        seen.append(out)
        return np.full(geometry.input_shape, 3, np.float32) if out is None else out

    backend, out = backend_of(kernel), garbage()
    assert called(backend=backend, out=out) is out
    assert seen == [out]
    assert (called(backend=backend) == 3).all()
    assert seen[1] is None


def test_the_parameter_may_be_a_keyword_only() -> None:
    def kernel(geometry: Any, filter: Any, out_backprop: Any, *, out: Any = None) -> Any:
        out.fill(4)
        return out

    out = garbage()
    assert called(backend=backend_of(kernel), out=out) is out
    assert (out == 4).all()


def test_the_result_of_a_kernel_without_the_parameter_is_copied() -> None:
    def kernel(geometry: ConvGeometry, filter: Any, out_backprop: Any, tuned: int = 2) -> Array:
        return np.full(geometry.input_shape, tuned, np.float32)

    out = garbage()
    assert called(backend=backend_of(kernel), out=out) is out
    assert (out == 2).all()


def test_a_kernel_that_takes_out_and_returns_another_array_breaks_its_contract() -> None:
    def kernel(geometry: Any, filter: Any, out_backprop: Any, out: Any = None) -> Array:
        return np.zeros(geometry.input_shape, np.float32)

    with pytest.raises(BackendContractError, match=r"'planted'.*fill that array and return it"):
        called(backend=backend_of(kernel), out=garbage())


@pytest.mark.parametrize(
    "result", [np.zeros(SHAPE[1:], np.float32), np.zeros(SHAPE, np.float64)], ids=["shape", "dtype"]
)
def test_a_wrong_result_is_not_broadcast_or_converted_into_out(result: Array) -> None:
    def kernel(geometry: Any, filter: Any, out_backprop: Any) -> Array:
        return result

    out = garbage()
    with pytest.raises(BackendContractError, match=r"returned float.* for a result of float32"):
        called(backend=backend_of(kernel), out=out)
    assert np.isnan(out).all()


def test_when_the_kernel_fails_out_is_as_it_was() -> None:
    def kernel(geometry: Any, filter: Any, out_backprop: Any) -> Array:
        raise MemoryError("no room")

    out = garbage()
    with pytest.raises(OpMemoryError, match="no room") as caught:
        called(backend=backend_of(kernel), out=out)
    assert caught.value.rule == "conv3d_transpose.output_shape.fit_memory"
    assert np.isnan(out).all()


def test_an_error_inside_a_kernel_shows_two_frames_of_ours_with_out_as_well() -> None:
    def fails(geometry: Any, filter: Any, out_backprop: Any, out: Any = None) -> Array:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        called(backend=backend_of(fails), out=garbage())
    assert [entry.name for entry in caught.traceback][-2:] == ["conv3d_transpose", "fails"]


def unaligned() -> Array:
    raw = np.zeros(garbage().nbytes + 1, np.uint8)
    return raw[1:].view(np.float32).reshape(SHAPE)


def read_only() -> Array:
    array = garbage()
    array.flags.writeable = False
    return array


class Volume(np.ndarray[Any, Any]):
    """A subclass of NumPy's array."""


UNUSABLE: dict[str, tuple[Callable[[], Any], str, str, str]] = {
    "list": (lambda: garbage().tolist(), "array", "a builtins.list", "numpy.ndarray"),
    "tuple": (lambda: (garbage(),), "array", "a builtins.tuple", "numpy.ndarray"),
    "True": (lambda: True, "array", "a builtins.bool", "or None for a fresh array"),
    "subclass": (lambda: garbage().view(Volume), "array", "Volume", "numpy.ndarray"),
    "masked": (lambda: np.ma.masked_array(garbage()), "array", "MaskedArray", "numpy.ndarray"),
    "dtype": (lambda: garbage(dtype=np.float64), "dtype", "float64", "float32"),
    "integers": (lambda: np.zeros(SHAPE, np.int32), "dtype", "int32", "float32"),
    "byte order": (lambda: garbage(dtype=">f4"), "dtype", "other byte order", "float32"),
    "shape": (lambda: garbage((2, 5, 4, 4, 3)), "shape", "[2, 5, 4, 4, 3]", "[2, 5, 4, 3, 4]"),
    "rank": (lambda: garbage(SHAPE[1:]), "shape", "[5, 4, 3, 4]", "[2, 5, 4, 3, 4]"),
    "broadcast": (
        lambda: np.broadcast_to(np.float32(1), SHAPE),
        "layout",
        "strides (0, 0, 0, 0, 0)",
        "numpy.empty",
    ),
    "Fortran": (lambda: np.asfortranarray(garbage()), "layout", "strides", "numpy.empty"),
    "strided": (lambda: garbage((*SHAPE[:4], 8))[..., ::2], "layout", "strides", "numpy.empty"),
    "reversed": (lambda: garbage()[::-1], "layout", "strides", "numpy.empty"),
    "not aligned": (unaligned, "layout", "not aligned", "numpy.empty"),
    "read-only": (read_only, "writeable", "a read-only array", "a writeable one"),
}


@pytest.mark.parametrize("fault", UNUSABLE)
@pytest.mark.parametrize("op", ["conv3d_transpose", OPERATION])
def test_an_unusable_out_is_refused_in_words_and_not_written(op: str, fault: str) -> None:
    make, rule, given, allowed = UNUSABLE[fault]
    out = make()
    before = bytes(np.asarray(out))
    call: Callable[..., Any] = backpropagated if op == OPERATION else called
    with pytest.raises(OpError) as caught:
        call(out=out, name="up1")
    error = caught.value
    assert (error.op, error.argument, error.rule, error.name) == (
        op,
        "out",
        f"{op}.out.{rule}",
        "up1",
    )
    assert given in error.given
    assert allowed in error.allowed
    assert isinstance(error, OpTypeError) == (rule in ("array", "dtype"))
    assert bytes(np.asarray(out)) == before


def test_of_a_subclass_the_array_beneath_is_shown() -> None:
    out: Any = garbage().view(Volume)
    with pytest.raises(OpTypeError, match=r"numpy\.asarray\(out\) is a plain array"):
        called(out=out)
    assert called(out=np.asarray(out)) is not out
    np.testing.assert_array_equal(out, called())


def test_the_rules_of_the_definition_come_first() -> None:
    with pytest.raises(OpError) as caught:
        called(strides=0, out=[])
    assert caught.value.rule == "conv3d_transpose.strides.are_positive"


def shared(form: str) -> tuple[Any, Any, Any]:
    """Return an `out`, an input and a filter of which one shares memory with `out`."""
    room = np.zeros(4 * 480 + 216 * 4, np.uint8)
    out = room[: 4 * 480].view(np.float32).reshape(SHAPE)
    if form == "the filters":
        return out, DATA, out.reshape(-1)[: FILTERS.size].reshape(FILTERS.shape)
    if form == "the input":
        return out, out.reshape(-1)[-DATA.size :].reshape(DATA.shape), FILTERS
    if form == "one element":
        return out, room[4 * 479 :][: DATA.nbytes].view(np.float32).reshape(DATA.shape), FILTERS
    if form == "big-endian, which the kernel gets a copy of":
        return out, out.reshape(-1)[: DATA.size].reshape(DATA.shape).view(">f4"), FILTERS
    assert form == "a subclass"
    return out, out.reshape(-1)[: DATA.size].reshape(DATA.shape).view(Volume), FILTERS


@pytest.mark.parametrize(
    "form",
    [
        "the filters",
        "the input",
        "one element",
        "big-endian, which the kernel gets a copy of",
        "a subclass",
    ],
)
def test_an_out_that_shares_memory_with_an_operand_is_refused(form: str) -> None:
    out, data, filters = shared(form)
    operand = "filters" if form == "the filters" else "input"
    assert np.shares_memory(out, filters if operand == "filters" else data)
    before = out.tobytes(), data.tobytes(), filters.tobytes()
    with pytest.raises(OpError, match=f"within the memory that {operand} spans") as caught:
        called(data, filters, out=out)
    assert caught.value.rule == "conv3d_transpose.out.overlap"
    assert not isinstance(caught.value, TypeError)
    assert (out.tobytes(), data.tobytes(), filters.tobytes()) == before


def test_an_out_that_shares_memory_with_the_sizes_is_refused() -> None:
    out = np.zeros(SHAPE, np.float32)
    sizes = out.reshape(-1)[:10].view(np.int64)
    sizes[:] = SHAPE
    with pytest.raises(OpError, match="memory that output_shape spans"):
        called(output_shape=sizes, out=out)
    assert sizes.tolist() == list(SHAPE)


class Window:
    """An array-like that shows its array as it is."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.array


def test_an_out_that_lies_behind_an_array_like_is_refused() -> None:
    out, data, _ = shared("the input")
    with pytest.raises(OpError, match="memory that input spans"):
        called(Window(data), out=out)


def test_neighbours_in_one_buffer_are_fine() -> None:
    room = np.zeros((3, 480), np.float32)
    out = room[1].reshape(SHAPE)
    for before_or_after in (room[0, -DATA.size :], room[2, : DATA.size]):
        data = before_or_after.reshape(DATA.shape)
        data[...] = DATA
        np.testing.assert_array_equal(called(data, out=out), called())


def test_an_operand_that_leaves_out_the_bytes_of_out_but_lies_around_them_is_refused() -> None:
    room = np.zeros((3, 480), np.float32)
    out = room[1].reshape(SHAPE)
    around = room[::2, :108].reshape(DATA.shape)
    assert np.shares_memory(around, room)
    assert not np.shares_memory(around, out)
    with pytest.raises(OpError, match="if they interleave, copy input"):
        called(around, out=out)
    np.testing.assert_array_equal(called(around.copy(), out=out), called(around))


def test_empty_results_are_written_too() -> None:
    out = garbage((0, 5, 4, 3, 4))
    assert called(DATA[:0], output_shape=[0, *SHAPE[1:]], out=out) is out
    out = garbage()
    assert called(DATA[..., :0], FILTERS[..., :0], out=out) is out
    assert (out == 0).all()


def test_explain_takes_it_and_looks_at_nothing_of_it() -> None:
    found = opspec.explain("conv3d_transpose", DATA, FILTERS, SHAPE, STRIDES, out="anything")
    assert found.chosen is not None


@pytest.mark.parametrize("op", opspec.ops.names())
def test_its_rules_are_of_the_call_and_not_of_the_definition(op: str) -> None:
    definition = opspec.ops.get(op)
    own = {rule.id for rule in out_rules(op)}
    assert own == {
        f"{op}.out.{label}"
        for label in ("array", "dtype", "shape", "layout", "writeable", "overlap")
    }
    assert not own & {rule.id for rule in definition.rules}
    assert "out" not in definition.Attributes.model_fields
    assert "out" not in [operand.name for operand in definition.operands]


class Boxed:
    """A tiny array library of its own."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.dtype = array.dtype
        self.shape = array.shape

    def __setitem__(self, place: Any, value: "Boxed") -> None:
        self.array[place] = value.array


class OnDevice(Boxed):
    """A box that shows where on a device it lies, as CuPy's arrays do."""

    def __init__(self, array: Array, strides: bool = True) -> None:
        super().__init__(array)
        shown = dict(array.__array_interface__)
        if strides:
            shown["strides"] = array.strides
        self.__cuda_array_interface__ = shown


def kernel_on_boxes(geometry: ConvGeometry, filter: Any, out_backprop: Any) -> Any:
    return Boxed(np.full(geometry.input_shape, 6, np.float32))


boxes = Backend(
    "boxes",
    f"{Boxed.__module__}.{Boxed.__qualname__}",
    ALL,
    from_numpy=Boxed,
    to_numpy=lambda box: box.array,
)
boxes.implements(OPERATION)(kernel_on_boxes)


def boxed(data: Any = DATA, filters: Any = FILTERS, **changes: Any) -> Any:
    return called(Boxed(data), Boxed(filters), backend=boxes, **changes)


def test_arrays_of_another_library_take_an_out_of_it() -> None:
    out = Boxed(garbage())
    assert boxed(out=out) is out
    assert (out.array == 6).all()
    with pytest.raises(OpTypeError, match=r"given a numpy\.ndarray; allowed .*Boxed"):
        boxed(out=garbage())
    with pytest.raises(OpTypeError, match=r"given a .*Boxed; allowed numpy\.ndarray"):
        called(out=Boxed(garbage()))
    with pytest.raises(OpError, match=r"\.out\.shape"):
        boxed(out=Boxed(garbage(SHAPE[1:])))
    with pytest.raises(OpTypeError, match=r"\.out\.dtype"):
        boxed(out=Boxed(garbage(dtype=np.float16)))


def kernel_that_fills_boxes(
    geometry: ConvGeometry, filter: Any, out_backprop: Any, out: Any = None
) -> Any:
    out = Boxed(np.empty(geometry.input_shape, np.float32)) if out is None else out
    assert isinstance(out, Boxed)
    out.array.fill(6)
    return out


@pytest.mark.parametrize("kernel", [kernel_on_boxes, kernel_that_fills_boxes])
def test_numpy_arrays_given_to_a_named_backend_of_another_library_take_a_numpy_out(
    kernel: Callable[..., Any],
) -> None:
    backend = Backend("boxes", boxes.arrays, ALL, from_numpy=Boxed, to_numpy=lambda box: box.array)
    backend.implements(OPERATION)(kernel)
    for out in (garbage(), Boxed(garbage())):
        wrapped = type(out) if isinstance(out, Boxed) else np.asarray
        found = called(wrapped(DATA), wrapped(FILTERS), backend=backend, out=out)
        assert found is out
        assert (getattr(out, "array", out) == 6).all()


def test_an_operand_of_another_library_is_no_out() -> None:
    data = Boxed(np.zeros(SHAPE, np.float32))
    filters = Boxed(np.zeros((1, 1, 1, 4, 4), np.float32))
    with pytest.raises(OpError, match="memory that input spans"):
        called(data, filters, strides=1, backend=boxes, out=data)


@pytest.mark.parametrize("strides", [True, False])
def test_memory_on_a_device_is_compared_by_its_addresses(strides: bool) -> None:
    room = np.zeros(480 + 216, np.float32)
    out = OnDevice(room[:480].reshape(SHAPE), strides)
    apart = OnDevice(room[480:].reshape(DATA.shape), strides)
    meets = OnDevice(room[479:-1].reshape(DATA.shape), strides)
    assert called(apart, Boxed(FILTERS), backend=boxes, out=out) is out
    with pytest.raises(OpError, match="memory that input spans"):
        called(meets, Boxed(FILTERS), backend=boxes, out=out)
    empty = OnDevice(room[:480].reshape(SHAPE)[..., :0])
    taps = Boxed(FILTERS[:1, :1, :1, :, :0])
    assert called(empty, taps, strides=1, backend=boxes, out=out) is out


def test_a_device_array_that_runs_backwards_spans_what_it_reads() -> None:
    room = np.zeros(200 + DATA.size, np.float32)
    out = OnDevice(room[:240].reshape(2, 5, 4, 3, 2))
    # Its first element lies beyond `out`, its last ones within.
    backwards = OnDevice(room[200:].reshape(DATA.shape)[::-1])
    with pytest.raises(OpError, match="memory that input spans"):
        called(
            backwards,
            Boxed(FILTERS[..., :2, :]),
            output_shape=(2, 5, 4, 3, 2),
            backend=boxes,
            out=out,
        )


def test_the_public_functions_document_it() -> None:
    for function in (opspec.nn.conv3d_transpose, opspec.raw_ops.Conv3DBackpropInputV2):
        parameter = inspect.signature(function).parameters["out"]
        assert parameter.default is None
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
