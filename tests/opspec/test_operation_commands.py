"""`opspec infer` and `opspec explain`: a call spelled on the command line, without its data."""

import re
import shlex
from pathlib import Path

import pytest

import opspec
from opspec import ops
from opspec.cli import main

CALL = "--strides 2 --input float32:1,4,4,4,3 --filters float32:3,3,3,2,3"
EXPLAIN = f"explain conv3d_transpose {CALL} --output-shape 1,8,8,8,2"


@pytest.fixture(autouse=True)
def no_backend_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPSPEC_BACKEND", raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def printed(capsys: pytest.CaptureFixture[str], line: str, code: int = 0) -> str:
    assert main(shlex.split(line)) == code
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["infer", "explain"])
@pytest.mark.parametrize("op", ops.names())
def test_the_examples_of_the_help_run(
    command: str, op: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, op, "--help"])
    _, _, examples = capsys.readouterr().out.partition("examples:\n")
    line = examples.replace("\\\n", " ").strip().removeprefix("opspec ")
    assert line.startswith(f"{command} {op} ")
    assert printed(capsys, line)


def test_explain_says_what_the_python_function_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, EXPLAIN)
    data, filters = (
        opspec.TensorSpec("float32", shape) for shape in ((1, 4, 4, 4, 3), (3, 3, 3, 2, 3))
    )
    said = opspec.explain("conv3d_transpose", data, filters, [1, 8, 8, 8, 2], 2)
    assert said.chosen == "numpy"
    assert " ".join(text.split()) == " ".join(str(said).split())
    assert re.search(r"^  numpy: runs \(expected cost 0\.15\d ms\)$", text, re.MULTILINE)
    assert "  cupy: not used: it computes on cupy.ndarray, not on numpy.ndarray\n" in text
    assert "  numba: not used: " in text
    assert max(map(len, text.splitlines())) <= 80


def test_explain_takes_a_backend_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, f"{EXPLAIN} --backend numpy")
    assert "named by backend=" in text
    assert "numba: not used: numpy was named" in text


def test_explain_fails_where_no_backend_runs_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty_backend.py").write_text(
        "from opspec.registry import Backend, Capabilities\n"
        "nothing = Capabilities(operations=(), dtypes=(), data_formats=())\n"
        "backend = Backend('empty', 'numpy.ndarray', nothing)\n"
    )
    monkeypatch.chdir(tmp_path)
    text = printed(capsys, f"{EXPLAIN} --backend empty_backend:backend", code=1)
    assert "does not declare the operation Conv3DBackpropInputV2" in " ".join(text.split())
    assert "no backend runs this call" in text


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (EXPLAIN.replace("1,8,8,8,2", "1,9,8,8,2"), 1, "output_shape[1] (depth) must be 7 or 8"),
        (EXPLAIN.replace("1,8,8,8,2", "1,-1,8,8,2"), 1, "a call needs every size"),
        (EXPLAIN.replace("1,4,4,4,3", "-1,4,4,4,3"), 1, "a call needs every extent"),
        (EXPLAIN.replace("1,4,4,4,3", "1,4,4,4,30000000000000"), 1, "conv3d_transpose"),
        (EXPLAIN.replace("float32:1", "int8:1"), 1, "rule:     conv3d_transpose.input.dtype_is"),
        (f"{EXPLAIN} --backend nobody", 2, "no backend named 'nobody' is installed"),
        (f"{EXPLAIN} --backend no_such_module:backend", 2, "ModuleNotFoundError"),
        ("check nobody", 2, "no backend named 'nobody' is installed; installed: cupy, numba"),
        ("check numpy nobody", 2, "no backend named 'nobody'"),
        ("warmup nobody", 2, "no backend named 'nobody'"),
        ("show Conv4D", 2, "no operation is named 'Conv4D'; operations are"),
    ],
)
def test_a_broken_rule_ends_with_1_and_an_unknown_name_with_2(
    line: str, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(line)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert max(map(len, captured.err.splitlines())) <= 80


def test_a_module_whose_own_import_fails_is_broken_not_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "needs_more.py").write_text("import no_such_module_either\n")
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(f"{EXPLAIN} --backend needs_more:backend")) == 1
    error = " ".join(capsys.readouterr().err.split())
    assert error.endswith("ModuleNotFoundError: No module named 'no_such_module_either'")
