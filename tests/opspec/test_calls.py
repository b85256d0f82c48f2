"""The public calls: what they take, what they give back, and what they never do."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opspec
from opspec import memory
from opspec.errors import OpError, OpMemoryError, OpTypeError
from opspec.geometry import ConvGeometry
from opspec.registry import Backend, Capabilities

Array = np.ndarray[Any, Any]

DATA = np.arange(1, 19, dtype=np.float32).reshape(1, 3, 2, 1, 3)
FILTERS = (np.arange(24, dtype=np.float32) % 7 - 3).reshape(2, 2, 1, 2, 3)
SIZES = [1, 6, 3, 1, 2]
STRIDES = [2, 2, 1]


def called(data: Any = DATA, filters: Any = FILTERS, **changes: Any) -> Array:
    arguments = {"output_shape": SIZES, "strides": STRIDES} | changes
    result: Array = opspec.nn.conv3d_transpose(data, filters, **arguments)
    return result


def along_width(numbers: list[float]) -> Array:
    return np.array(numbers, np.float32).reshape(1, 1, 1, -1, 1)


@pytest.mark.parametrize(
    ("taps", "stride", "size", "data", "result"),
    [
        ([1, 2, 4, 8], 1, 4, [1, 0, 0, 0], [2, 4, 8, 0]),
        ([1, 2, 4], 2, 4, [1, 0], [1, 2, 4, 0]),
        ([1, 2, 4], 2, 3, [1, 0], [2, 4, 0]),
        ([1, 2], 3, 5, [1, 1], [1, 2, 0, 1, 2]),
    ],
)
def test_what_tensorflow_was_seen_to_answer(
    taps: list[float], stride: int, size: int, data: list[float], result: list[float]
) -> None:
    filters = along_width(taps).reshape(1, 1, -1, 1, 1)
    found = opspec.nn.conv3d_transpose(
        along_width(data), filters, [1, 1, 1, size, 1], [1, 1, stride]
    )
    assert found.ravel().tolist() == result


def test_both_operations_are_one() -> None:
    raw = opspec.raw_ops.Conv3DBackpropInputV2(
        input_sizes=SIZES,
        filter=FILTERS,
        out_backprop=DATA,
        strides=[1, 2, 2, 1, 1],
        padding="SAME",
    )
    np.testing.assert_array_equal(called(), raw)


def test_the_raw_operation_takes_keywords_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        opspec.raw_ops.Conv3DBackpropInputV2(SIZES, FILTERS, DATA, [1] * 5, "SAME")  # type: ignore[call-overload]  # that is the test


@pytest.mark.parametrize(
    "strides",
    [(2, 2, 1), [1, 2, 2, 1, 1], np.array([2, 2, 1]), np.array([1, 2, 2, 1, 1], np.int32)],
    ids=str,
)
def test_every_spelling_of_strides_means_the_same(strides: Any) -> None:
    np.testing.assert_array_equal(called(strides=strides), called())


@pytest.mark.parametrize(
    "sizes",
    [
        tuple(SIZES),
        np.array(SIZES, np.int32),
        np.array(SIZES, np.int64),
        [np.int64(size) for size in SIZES],
    ],
    ids=["tuple", "int32", "int64", "scalars"],
)
def test_every_spelling_of_sizes_means_the_same(sizes: Any) -> None:
    np.testing.assert_array_equal(called(output_shape=sizes), called())


def test_channels_first_is_channels_last_transposed() -> None:
    found = called(
        np.ascontiguousarray(DATA.transpose(0, 4, 1, 2, 3)),
        output_shape=[SIZES[axis] for axis in (0, 4, 1, 2, 3)],
        data_format="NCDHW",
    )
    np.testing.assert_array_equal(found.transpose(0, 2, 3, 4, 1), called())


def misaligned(array: Array) -> Array:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    shifted = raw[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    assert not shifted.flags.aligned
    return shifted


def read_only(array: Array) -> Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


FORMS: dict[str, Callable[[Array], Array]] = {
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: np.ascontiguousarray(a[:, ::-1, ::-1])[:, ::-1, ::-1],
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "big-endian": lambda a: a.astype(">f4"),
    "misaligned": misaligned,
    "subclass": lambda a: a.view(type("Volume", (np.ndarray,), {})),
    "transposed": lambda a: np.ascontiguousarray(a.transpose(4, 3, 2, 1, 0)).transpose(
        4, 3, 2, 1, 0
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_operands_of_any_form_give_the_same_and_stay_as_they_are(form: str) -> None:
    data, filters = FORMS[form](DATA), FORMS[form](FILTERS)
    before = data.tobytes(), filters.tobytes()
    found = called(data, filters)
    np.testing.assert_array_equal(found, called())
    assert (data.tobytes(), filters.tobytes()) == before
    assert type(found) is np.ndarray
    assert found.dtype == np.dtype("=f4")
    assert found.flags.c_contiguous
    assert found.flags.writeable
    assert found.flags.owndata or found.base is not data


def test_broadcast_operands_are_read_right() -> None:
    ones = np.broadcast_to(np.float32(1), DATA.shape)
    np.testing.assert_array_equal(called(ones), called(np.ones_like(DATA)))


def test_memory_maps_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", DATA)
    mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    np.testing.assert_array_equal(called(mapped), called())


class Proxy:
    """An array-like that only knows how to become an array, as files on disk do."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return DATA.astype(dtype or DATA.dtype)


def test_array_likes_are_read_as_numpy_arrays() -> None:
    np.testing.assert_array_equal(called(Proxy()), called())


class Broken:
    """An array-like that fails to become an array."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        raise OSError("the file is gone")


def test_an_array_like_that_fails_is_refused_with_its_reason() -> None:
    with pytest.raises(OpTypeError, match=r"Broken that becomes no array .*the file is gone"):
        called(Broken())


class Prickly:
    """An object that fails whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("not today")


def test_objects_that_fail_at_every_question_are_refused_in_words() -> None:
    with pytest.raises(OpTypeError, match="not today"):
        called(Prickly())
    with pytest.raises(OpTypeError, match="the file is gone"):
        called([Broken()])


class Foreign(Proxy):
    """An array of a library that no backend computes on."""

    def __dlpack__(self) -> object:
        raise AssertionError("never asked for")


def test_arrays_of_a_library_without_a_backend_are_refused_not_copied() -> None:
    with pytest.raises(OpTypeError, match="Foreign, which no installed backend takes"):
        called(Foreign())


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_lists_take_the_dtype_of_the_array_beside_them(dtype: Any) -> None:
    assert called(DATA.tolist(), FILTERS.astype(dtype)).dtype == dtype
    found = called(DATA.astype(dtype), FILTERS.tolist())
    assert found.dtype == dtype
    np.testing.assert_array_equal(
        found.astype(np.float64),
        called(DATA.astype(dtype), FILTERS.astype(dtype)).astype(np.float64),
    )


@pytest.mark.parametrize(
    ("number", "rounded"),
    [
        (1 + 2**-8 + 2**-40, 1.0078125),
        (1 + 2**-8, 1.0),
        (1 + 2**-8 - 2**-40, 1.0),
        (-(1 + 2**-8 + 2**-40), -1.0078125),
        (1 + 3 * 2**-8, 1.015625),
        (3, 3.0),
        (1.5 * 2**-134, 2.0**-133),
        (2**-140, 0.0),
        (1e39, float("inf")),
        (-1e39, float("-inf")),
        (0.0, 0.0),
        (float("inf"), float("inf")),
        (float("nan"), float("nan")),
    ],
)
def test_numbers_in_lists_are_rounded_once_to_bfloat16(number: float, rounded: float) -> None:
    one = np.ones((1, 1, 1, 1, 1), ml_dtypes.bfloat16)
    found = opspec.nn.conv3d_transpose([[[[[number]]]]], one, [1, 1, 1, 1, 1], 1)
    np.testing.assert_array_equal(found.astype(np.float64).ravel(), [rounded])


def test_lists_alone_are_float32() -> None:
    found = called(DATA.tolist(), FILTERS.tolist())
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, called())


def test_a_list_of_large_numbers_overflows_to_inf_in_float16_silently() -> None:
    found = opspec.nn.conv3d_transpose(
        [[[[[1e6]]]]], np.ones((1, 1, 1, 1, 1), np.float16), [1, 1, 1, 1, 1], 1
    )
    assert np.isinf(found).all()


@pytest.mark.parametrize(
    ("operand", "words"),
    [
        (None, "None"),
        ("text", "text"),
        ([[1.0], [2.0, 3.0]], "unequal lengths"),
        ([[[[["a"]]]]], "nested lists of str"),
        ([[[[[True]]]]], "nested lists of bool"),
        ([[[[[1j]]]]], "nested lists of complex128"),
        ([[[[[10**400]]]]], "nested lists of object"),
        (np.ma.masked_array(DATA), "masked"),
        (object(), "builtins.object"),
    ],
    ids=str,
)
def test_what_is_no_array_is_refused_in_words(operand: Any, words: str) -> None:
    with pytest.raises(OpTypeError, match=words) as caught:
        called(operand)
    assert caught.value.rule == "conv3d_transpose.input.is_array"


@pytest.mark.parametrize(
    "dtype", ["int32", "uint8", "bool", "complex64", "object", "longdouble", "M8[s]", "U3"]
)
def test_other_dtypes_are_refused(dtype: str) -> None:
    with pytest.raises(OpTypeError) as caught:
        called(np.zeros(DATA.shape, dtype))
    assert caught.value.rule == "conv3d_transpose.input.dtype_is_supported"


LOOK_ALIKES: list[Any] = [True, 1.0, np.float64(1), "1", [True, True, True], [1.0, 1.0, 1.0]]


def test_a_call_remembered_for_integers_is_not_taken_for_what_equals_them() -> None:
    one: Any = np.ones((1, 1, 1, 1, 1), np.float32)
    opspec.nn.conv3d_transpose(one, one, [1, 1, 1, 1, 1], 1)
    for strides in LOOK_ALIKES:
        with pytest.raises(OpTypeError):
            opspec.nn.conv3d_transpose(one, one, [1, 1, 1, 1, 1], strides)
    sizes: Any
    for sizes in ([1, 1, 1, 1, True], [1, 1, 1, 1, 1.0], [1.0] * 5, np.ones(5)):
        with pytest.raises(OpTypeError):
            opspec.nn.conv3d_transpose(one, one, sizes, 1)


def test_a_call_remembered_for_one_dtype_is_not_taken_for_another() -> None:
    assert called(DATA, FILTERS).dtype == np.float32
    assert called(DATA.astype(np.float64), FILTERS.astype(np.float64)).dtype == np.float64
    with pytest.raises(OpTypeError):
        called(DATA, FILTERS.astype(np.float64))


def test_sizes_that_this_machine_cannot_hold_fail_before_anything_is_allocated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("opspec.convolution_rules.total_memory", lambda: 1000)
    one = np.ones((1, 1, 1, 1, 1), np.float32)
    arguments: dict[str, Any] = {"strides": [1, 1, 300]}
    opspec.nn.conv3d_transpose(one, one, [1, 1, 1, 250, 1], **arguments)
    with pytest.raises(OpMemoryError, match=r"1004 bytes.*the 1000 bytes") as caught:
        opspec.nn.conv3d_transpose(one, one, [1, 1, 1, 251, 1], **arguments)
    assert isinstance(caught.value, MemoryError)


def test_memory_is_known_here() -> None:
    found = memory.total_memory()
    assert found is not None
    assert 2**28 < found < 2**50


def failing(error: Exception) -> Backend:
    backend = Backend(
        name="failing",
        arrays="numpy.ndarray",
        capabilities=Capabilities(
            operations=("Conv3DBackpropInputV2",), dtypes=("float32",), data_formats=("NDHWC",)
        ),
    )

    @backend.implements("Conv3DBackpropInputV2")
    def fails(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        raise error

    return backend


def test_memory_that_runs_out_inside_a_kernel_is_reported_with_the_sizes() -> None:
    with pytest.raises(OpMemoryError, match=r"'up1'.*\[1, 6, 3, 1, 2\] of float32") as caught:
        called(backend=failing(MemoryError("no room")), name="up1")
    assert caught.value.rule == "conv3d_transpose.output_shape.fit_memory"
    assert isinstance(caught.value.__cause__, MemoryError)


def test_an_error_inside_a_kernel_shows_two_frames_of_ours() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        called(backend=failing(ZeroDivisionError()))
    frames = [entry.name for entry in caught.traceback]
    assert frames[-2:] == ["conv3d_transpose", "fails"]


def test_the_name_is_in_the_error() -> None:
    with pytest.raises(OpError, match="conv3d_transpose 'decoder/up1': strides"):
        called(strides=0, name="decoder/up1")
    with pytest.raises(OpError, match="conv3d_transpose 'decoder/up1': the batch"):
        called(output_shape=[2, *SIZES[1:]], name="decoder/up1")


def test_calls_from_many_threads_at_once_are_all_right() -> None:
    expected = called()
    wrong: list[Array] = []

    def work() -> None:
        for _ in range(50):
            found = called()
            if not np.array_equal(found, expected):
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
