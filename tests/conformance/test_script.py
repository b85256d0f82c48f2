"""Scripts show a fault without the suite, in at most 15 lines, and pass where there is none."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opspec.conformance.forms import FORMS as JUDGED_FORMS
from opspec.conformance.script import MOST_LINES, failing_here, write
from opspec.conformance.script_forms import FORMS
from opspec.registry import discovery

Array = np.ndarray[Any, Any]

PLANTED = Path(__file__).parent / "planted"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLANTED))


def call(
    shape: tuple[int, ...] = (1, 3, 4, 5, 2),
    *,
    dtype: Any = np.float32,
    kernel: tuple[int, ...] = (2, 3, 2),
    channels: tuple[int, int] = (3, 2),
    scale: int = 4,
    **more: Any,
) -> dict[str, Any]:
    """Return arguments whose result is as large as out_backprop but for its channels."""
    generator = np.random.default_rng(1)
    first = more.get("data_format") == "NCDHW"
    spatial = shape[2:] if first else shape[1:4]
    sizes = (shape[0], channels[0], *spatial) if first else (shape[0], *spatial, channels[0])
    return {
        "input_sizes": list(sizes),
        "filter": generator.integers(-scale, scale + 1, (*kernel, *channels)).astype(dtype),
        "out_backprop": generator.integers(-scale, scale + 1, shape).astype(dtype),
        "strides": [1] * 5,
        "padding": "SAME",
        **more,
    }


def small() -> dict[str, Any]:
    given = call((1, 1, 1, 3, 1), kernel=(1, 1, 2), channels=(1, 1))
    given["filter"][...] = np.array([2, -3], np.float32).reshape(1, 1, 2, 1, 1)
    given["out_backprop"][...] = np.array([0, 4, -4], np.float32).reshape(1, 1, 1, 3, 1)
    return given


def filled(value: float) -> Array:
    return np.full((1, 1, 1, 1, 1), value, np.float32)


def starting_with(value: float) -> dict[str, Any]:
    """Return an out_backprop whose first element is `value`."""
    data = call()["out_backprop"]
    data[0, 0, 0, 0, 0] = value
    return {"out_backprop": data}


def run(script: str) -> "subprocess.CompletedProcess[str]":
    blocked = "import sys\nfor name in ('hypothesis', 'safetensors', 'pytest', 'rich'):\n"
    program = f"{blocked}    sys.modules[name] = None\n{script}"
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PLANTED)},
    )


def require_shown(script: str, name: str, words: str = "elements are wrong") -> None:
    """Raise unless the script fails on the backend, and passes on NumPy's."""
    assert len(script.splitlines()) <= MOST_LINES == 15
    assert "conformance" not in script
    assert all(len(line) <= 260 for line in script.splitlines() if "b85decode" not in line)
    shown = run(script)
    assert shown.returncode == 1
    assert words in shown.stderr.splitlines()[-1]
    well = run(script.replace(f"'script_faults:{name}'", "'numpy'"))
    # NumPy warns where NaN comes of 0 times infinity.
    said = [line for line in well.stderr.splitlines() if "RuntimeWarning: invalid" not in line]
    assert (well.returncode, said) == (0, [])


def written(name: str, arguments: dict[str, Any], **more: Any) -> str:
    discovery.forget()
    operation = "conv3d_transpose" if "filters" in arguments else "Conv3DBackpropInputV2"
    return write(operation, arguments, backend=f"script_faults:{name}", **more)


CALLS: dict[str, Callable[[], dict[str, Any]]] = {
    "small": small,
    "larger": call,
    "NCDHW": lambda: call((2, 2, 3, 4, 5), data_format="NCDHW", padding="SAME"),
    "VALID": lambda: call() | {"input_sizes": [1, 4, 6, 6, 3], "padding": "VALID"},
    "strided": lambda: call() | {"input_sizes": [1, 6, 11, 10, 3], "strides": [1, 2, 3, 2, 1]},
    "dilated": lambda: call(dilations=[1, 2, 1, 3, 1]),
    "float16": lambda: call(dtype=np.float16),
    "bfloat16": lambda: call(dtype=ml_dtypes.bfloat16, scale=2),
    "many channels": lambda: call((1, 3, 4, 5, 40), channels=(3, 40), dtype=np.float16),
    "arrays": lambda: call() | {"strides": np.array([1] * 5)},
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_fault_is_shown_whatever_the_call(kind: str) -> None:
    require_shown(written("flipped", CALLS[kind]()), "flipped")


def test_conv3d_transpose_is_called_as_it_was() -> None:
    given = call()
    arguments = {
        "input": given["out_backprop"],
        "filters": given["filter"],
        "output_shape": np.array(given["input_sizes"]),
        "strides": 1,
        "dilations": None,
        "data_format": None,
    }
    script = written("flipped", arguments)
    assert "opspec.nn.conv3d_transpose(" in script
    assert "strides=1, dilations=None, data_format=None" in script
    require_shown(script, "flipped")


def test_the_first_wrong_element_is_shown() -> None:
    arguments = small() | {"filter": np.full((1, 1, 1, 1, 1), 2.0, np.float32)}
    arguments["out_backprop"] = np.array([0, 5, 1], np.float32).reshape(1, 1, 1, 3, 1)
    script = written("of_zeros", arguments)
    words = "2 of 3 elements are wrong; (0, 0, 0, 1, 0) first: 0.0 given, 10.0 expected"
    require_shown(script, "of_zeros", words)


@pytest.mark.parametrize(
    ("name", "arguments", "bounded", "words"),
    [
        ("flipped", small(), False, "data = np.array([0, 4, -4], np.float32)"),
        ("flipped", call(), False, "default_rng(7).integers(-9, 10, (1, 3, 4, 5, 2))"),
        ("ten_bits", call(), True, "default_rng(7).standard_normal("),
        ("two_bits_less", call(), True, "units = np.sqrt(np.mean("),
        ("only_large", call(scale=99) | starting_with(77), False, "b85decode"),
        ("without_nan", call() | starting_with(np.nan), False, "b85decode"),
        (
            "without_nan",
            small() | {"filter": filled(np.nan)},
            False,
            "np.full((1, 1, 1, 1, 1), np.nan",
        ),
    ],
)
def test_operands_are_as_simple_as_shows_the_fault(
    name: str, arguments: dict[str, Any], bounded: bool, words: str
) -> None:
    script = written(name, arguments, bounded=bounded)
    assert words in script
    said = "root mean square" if name == "two_bits_less" else "elements are wrong"
    require_shown(script, name, said)


def test_ones_are_tried_when_whole_numbers_do_not_show_it() -> None:
    script = written("flipped", call(), shows=lambda program: "np.ones(" in program)
    assert "data = np.ones((1, 3, 4, 5, 2), np.float32)" in script


def test_what_nothing_shows_is_written_with_the_operands_themselves() -> None:
    script = written("flipped", call(), shows=lambda program: False)
    assert script.count("b85decode") == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("doubles", "AssertionError: (dtype('float64'), (1, 3, 4, 5, 3), True)"),
        ("fortran", "AssertionError: (dtype('float32'), (1, 3, 4, 5, 3), False)"),
        ("raising", "ZeroDivisionError: no"),
    ],
)
def test_other_faults_are_shown_too(name: str, words: str) -> None:
    error = ZeroDivisionError if name == "raising" else AssertionError
    shows = failing_here(f"script_faults:{name}", error)
    script = written(name, call(), shows=shows)
    assert "default_rng" in script
    shown = run(script)
    assert shown.returncode == 1
    assert words in shown.stderr


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("form", [None, *FORMS])
def test_a_right_backend_passes_in_every_form(
    form: str | None, data_format: str, dtype: str, bounded: bool
) -> None:
    shape = (2, 3, 4, 5, 2) if data_format == "NDHWC" else (2, 2, 3, 4, 5)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    arguments = call(shape, dtype=kind, data_format=data_format, scale=1)
    tried: list[str] = []

    def fails(program: str) -> bool:
        tried.append(program)
        return failing_here("numpy", Exception)(program)

    how: dict[str, Any] = {"backend": "numpy", "form": form, "bounded": bounded}
    script = write("Conv3DBackpropInputV2", arguments, **how, shows=fails)
    assert not fails(script)
    assert len(tried) >= 3
    assert all(len(program.splitlines()) <= MOST_LINES for program in tried)
    wrong = failing_here(discovery.find("script_faults:of_zeros"))
    assert all(wrong(program) for program in tried)


IN_FORM = {
    "strided": ("flat", "elements are wrong"),
    "negative-stride": ("flat", "elements are wrong"),
    "fortran": ("flat", "elements are wrong"),
    "read-only": ("writing", "read-only"),
    # The call itself sees to these two before any backend does.
    "big-endian": ("flipped", "elements are wrong"),
    "misaligned": ("flipped", "elements are wrong"),
    "broadcast": ("doubling", "elements are wrong"),
    "inputs-unchanged": ("writing", "an operand has changed"),
    "poisoned": ("leaving", "elements are wrong"),
    "out": ("adding", "elements are wrong"),
    "repeated": ("remembering", "another result at another time"),
    "threads": ("sharing", "elements are wrong"),
    "settings": ("unsettling", "the whole process shares"),
}


def test_every_form_of_the_suite_has_its_lines() -> None:
    assert {form.name for form in JUDGED_FORMS} <= set(FORMS) == set(IN_FORM)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("form", IN_FORM)
def test_a_fault_in_a_form_is_shown(form: str, bounded: bool) -> None:
    name, words = IN_FORM[form]
    arguments = call()
    if form == "poisoned":
        arguments["out_backprop"][...] = 0
        arguments["out_backprop"][0, 0, 0, 0, 0] = 1
    raises = Exception if form == "read-only" else AssertionError
    shows = failing_here(f"script_faults:{name}", raises)
    script = written(name, arguments, form=form, bounded=bounded, shows=shows)
    require_shown(script, name, words)


def test_a_result_that_is_an_operand_is_shown() -> None:
    arguments = call((1, 1, 1, 1, 1), kernel=(1, 1, 1), channels=(1, 1))
    arguments["out_backprop"][...] = 1
    script = written("aliasing", arguments, form="inputs-unchanged")
    require_shown(script, "aliasing", "the result shares memory with an operand")


def test_other_bits_within_the_bound_are_shown() -> None:
    shows = failing_here("script_faults:wavering")
    script = written("wavering", call(), form="repeated", bounded=True, shows=shows)
    require_shown(script, "wavering", "another result at another time")


def test_a_backend_without_a_place_is_tried_as_an_object() -> None:
    discovery.forget()
    backend = discovery.find("script_faults:ten_bits")
    script = write(
        "Conv3DBackpropInputV2",
        call(),
        backend="nowhere to be found",
        bounded=True,
        shows=failing_here(backend),
    )
    assert "standard_normal" in script
    assert script.count("backend='nowhere to be found'") == 1


def test_another_exception_is_not_the_fault() -> None:
    script = written("raising", small())
    assert failing_here("script_faults:raising", ZeroDivisionError)(script)
    assert not failing_here("script_faults:raising")(script)


def test_results_without_elements_are_written_down() -> None:
    arguments = call((0, 3, 4, 5, 2))
    require_shown(written("doubles", arguments), "doubles", "float64")


def test_an_unknown_form_is_an_error() -> None:
    with pytest.raises(LookupError, match="no form 'sideways'; forms are strided, "):
        written("flipped", small(), form="sideways")
