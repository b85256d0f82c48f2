"""What a backend's author hands in is checked at once."""

import sys
from pathlib import Path
from typing import Any

import pytest

from opspec.registry import Backend, BackendContractError, Capabilities, UnsupportedByBackend
from opspec.registry.table import declare_operation, declared_operations

OPERATION = "Conv3DBackpropInputV2"
NOTHING = Capabilities(operations=(), dtypes=(), data_formats=())


def made(**settings: Any) -> Backend:
    whole: dict[str, Any] = {"name": "mine", "arrays": "numpy.ndarray", "capabilities": NOTHING}
    return Backend(**whole | settings)


def right(geometry: Any, filter: Any, out_backprop: Any) -> Any:
    return None


def test_a_kernel_is_handed_in_and_found_unchanged() -> None:
    backend = made()
    assert backend.implements(OPERATION)(right) is right
    assert backend.kernel(OPERATION) is right


def swapped(geometry: Any, out_backprop: Any, filter: Any) -> Any: ...


def too_few(geometry: Any, filter: Any) -> Any: ...


def too_many(geometry: Any, filter: Any, out_backprop: Any, strides: Any) -> Any: ...


def keywords(geometry: Any, *, filter: Any, out_backprop: Any) -> Any: ...


def anything(*arguments: Any) -> Any: ...


@pytest.mark.parametrize("kernel", [swapped, too_few, too_many, keywords, anything])
def test_a_kernel_that_does_not_fit_is_refused_with_both_signatures(kernel: Any) -> None:
    with pytest.raises(BackendContractError) as caught:
        made().implements(OPERATION)(kernel)
    text = str(caught.value)
    assert "expected: (geometry, filter, out_backprop)" in text
    assert f"{kernel.__name__}(" in text
    assert isinstance(caught.value, TypeError)


def test_parameters_with_defaults_may_follow() -> None:
    def tuned(geometry: Any, filter: Any, out_backprop: Any, threads: int = 1) -> Any: ...

    made().implements(OPERATION)(tuned)


def filling(geometry: Any, filter: Any, out_backprop: Any, out: Any = None) -> Any: ...


def filling_by_keyword(
    geometry: Any, filter: Any, out_backprop: Any, *, out: Any = None
) -> Any: ...


def required_out(geometry: Any, filter: Any, out_backprop: Any, out: Any) -> Any: ...


def any_keywords(geometry: Any, filter: Any, out_backprop: Any, **out: Any) -> Any: ...


@pytest.mark.parametrize(
    ("kernel", "takes_out"), [(right, False), (filling, True), (filling_by_keyword, True)]
)
def test_whether_a_kernel_can_fill_an_array_is_read_off_its_parameters(
    kernel: Any, takes_out: bool
) -> None:
    backend = made()
    backend.implements(OPERATION)(kernel)
    assert backend.takes_out(OPERATION) is takes_out
    assert backend.takes_out("Conv4D") is False


@pytest.mark.parametrize("kernel", [required_out, any_keywords])
def test_out_is_optional_or_the_kernel_does_not_fit(kernel: Any) -> None:
    with pytest.raises(BackendContractError, match="and out=None if it can fill an array"):
        made().implements(OPERATION)(kernel)


def test_a_second_kernel_is_refused_and_the_first_one_named() -> None:
    backend = made()
    backend.implements(OPERATION)(right)
    with pytest.raises(BackendContractError, match=r"second kernel.*first one is .*right"):
        backend.implements(OPERATION)(right)


def test_a_kernel_for_no_operation_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BackendContractError, match="operations are Conv3D, "):
        made().implements("Conv4D")(right)
    # conv3d_transpose is computed by the same kernels and has none of its own.
    assert declared_operations() == ("Conv3D", "Conv3DBackpropFilterV2", OPERATION)


def test_an_operation_has_one_kernel_signature() -> None:
    declare_operation(OPERATION, ("geometry", "filter", "out_backprop"))
    with pytest.raises(BackendContractError, match="one kernel signature"):
        declare_operation(OPERATION, ("geometry", "input"))


@pytest.mark.parametrize("name", ["", " mine", "my:own"])
def test_an_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(BackendContractError, match="a backend's name"):
        made(name=name)


@pytest.mark.parametrize("given", [{}, {"from_numpy": id}, {"to_numpy": id}])
def test_foreign_arrays_need_both_conversions(given: dict[str, Any]) -> None:
    with pytest.raises(BackendContractError, match="from_numpy= and to_numpy="):
        made(arrays="torch.Tensor", **given)


def test_whether_it_can_run_is_asked_once_and_only_when_needed() -> None:
    asked: list[int] = []

    def unavailable() -> str:
        asked.append(1)
        return "no device"

    backend = made(unavailable=unavailable)
    assert asked == []
    assert backend.unavailable_reason() == backend.unavailable_reason() == "no device"
    assert asked == [1]
    assert made().unavailable_reason() is None


LAZY = """
from opspec.registry import Backend, Capabilities

backend = Backend(
    name="lazy",
    arrays="numpy.ndarray",
    capabilities=Capabilities(operations=(), dtypes=(), data_formats=()),
    kernel_modules=("lazy_kernels",),
)
"""
KERNELS = """
from lazy_backend import backend

@backend.implements("Conv3DBackpropInputV2")
def kernel(geometry, filter, out_backprop):
    return None
"""


def test_kernel_modules_are_imported_at_the_first_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lazy_backend.py").write_text(LAZY, "utf-8")
    (tmp_path / "lazy_kernels.py").write_text("raise OSError('no driver')", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import lazy_backend  # type: ignore[import-not-found]  # written by this test

    assert "lazy_kernels" not in sys.modules
    for _ in range(2):
        with pytest.raises(OSError, match="no driver"):
            lazy_backend.backend.kernel(OPERATION)
    (tmp_path / "lazy_kernels.py").write_text(KERNELS + "# longer than before\n", "utf-8")
    assert lazy_backend.backend.kernel(OPERATION).__module__ == "lazy_kernels"


HALF = """
from lazy_half_backend import backend

@backend.implements("Conv3DBackpropInputV2")
def kernel(geometry, filter, out_backprop):
    return None

raise OSError("no driver")
"""


FILLING_IN_TWO = """
from lazy_filling_backend import backend

@backend.implements("Conv3DBackpropInputV2")
def kernel(geometry, filter, out_backprop, out=None):
    return out
"""


def test_that_a_kernel_can_fill_an_array_survives_a_second_module_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = '"lazy_filling_kernels", "lazy_failing_kernels"'
    text = LAZY.replace('"lazy_kernels"', modules)
    (tmp_path / "lazy_filling_backend.py").write_text(text, "utf-8")
    (tmp_path / "lazy_filling_kernels.py").write_text(FILLING_IN_TWO, "utf-8")
    (tmp_path / "lazy_failing_kernels.py").write_text("raise OSError('no driver')", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import lazy_filling_backend  # type: ignore[import-not-found]  # written by this test

    with pytest.raises(OSError, match="no driver"):
        lazy_filling_backend.backend.kernel(OPERATION)
    assert lazy_filling_backend.backend.takes_out(OPERATION)


def test_of_a_kernel_module_that_fails_halfway_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = LAZY.replace("lazy_kernels", "lazy_half_kernels")
    (tmp_path / "lazy_half_backend.py").write_text(text, "utf-8")
    (tmp_path / "lazy_half_kernels.py").write_text(HALF, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import lazy_half_backend  # type: ignore[import-not-found]  # written by this test

    for _ in range(3):
        with pytest.raises(OSError, match="no driver"):
            lazy_half_backend.backend.kernel(OPERATION)


def test_a_question_whether_it_can_run_that_fails_is_a_no_with_its_reason() -> None:
    def unavailable() -> str:
        raise OSError("libcuda.so.1 is missing")

    assert made(unavailable=unavailable).unavailable_reason() == "OSError: libcuda.so.1 is missing"


def test_implements_without_an_operation_is_refused() -> None:
    with pytest.raises(BackendContractError, match="takes an operation's name"):
        made().implements(right)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("kernel", [5, max])
def test_a_kernel_that_is_no_function_of_ours_is_refused(kernel: Any) -> None:
    with pytest.raises(BackendContractError, match="must be a function of"):
        made().implements(OPERATION)(kernel)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": 5}, "a backend's name"),
        ({"capabilities": None}, "as Capabilities"),
        ({"kernel_modules": "json"}, "a tuple of names"),
        ({"cost": 5}, "as a Cost; given a int"),
        ({"warm": "float32"}, "warm is a function of a dtype and a data format"),
    ],
)
def test_a_backend_of_wrong_parts_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BackendContractError, match=words):
        made(**given)


def test_a_kernel_that_is_not_there_is_an_error_that_says_how_to_hand_it_in() -> None:
    with pytest.raises(UnsupportedByBackend, match=r'@backend.implements\("Conv3DBackpropInputV2"'):
        made().kernel(OPERATION)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"operations": ("Conv3DBackprop",)}, "operations names 'Conv3DBackprop', which no operat"),
        ({"dtypes": ("float32", "single")}, "dtypes names 'single', .*allowed are float16, bfloat"),
        ({"data_formats": ("ndhwc",)}, "data_formats names 'ndhwc', .*allowed are .*NDHWC"),
        (
            {"dtypes": "float32"},
            r"dtypes is a tuple of names, such as \('float16',\); given 'float",
        ),
        ({"dtypes": ["float32"]}, "dtypes is a tuple of names"),
        ({"operations": (7,)}, r"operations is a tuple of names.*given \(7,\)"),
    ],
)
def test_a_declaration_of_what_is_not_there_is_refused(changes: dict[str, Any], words: str) -> None:
    declared = {"operations": (OPERATION,), "dtypes": ("float32",), "data_formats": ("NDHWC",)}
    with pytest.raises(BackendContractError, match=words):
        Capabilities(**declared | changes)
