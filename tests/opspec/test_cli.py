"""The opspec command: what it prints, and with which code it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opspec
from opspec import cli, ops
from opspec.cli import main
from opspec.out import out_rules

BACKEND = """
from opspec.backends.numpy.conv3d_backprop_input_v2 import conv3d_backprop_input_v2 as right
from opspec.registry import Backend, Capabilities

backend = Backend(
    name="mine",
    arrays="numpy.ndarray",
    capabilities=Capabilities(
        operations=("Conv3DBackpropInputV2",), dtypes=("float32",), data_formats=("NDHWC",)
    ),
)

@backend.implements("Conv3DBackpropInputV2")
def kernel(geometry, filter, out_backprop):
    return right(geometry, filter, out_backprop) + WRONG
"""


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(words) == code
    return capsys.readouterr().out


def test_list_names_every_operation(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "list").splitlines()
    assert [line.split()[0] for line in lines] == [
        "Conv3D",
        "Conv3DBackpropFilterV2",
        "Conv3DBackpropInputV2",
        "conv3d_transpose",
    ]
    table = printed(capsys, "list", "--markdown")
    assert "| `conv3d_transpose` | numpy | float16, bfloat16, float32, float64 |" in table


@pytest.mark.parametrize("name", ops.names())
def test_show_says_all_that_the_definition_says(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "show", name)
    definition = ops.get(name)
    flat = " ".join(text.split())
    for rule in (*definition.rules, *out_rules(name)):
        assert rule.id in text
        assert " ".join(rule.sentence.split()) in flat
        assert rule.source in flat
    for operand in definition.operands:
        assert f"{operand.name} ({', '.join(operand.dtypes)})" in text
    for source in definition.sources:
        assert source in text
    assert "default 'NDHWC'" in text
    assert max(map(len, text.splitlines())) <= 100


def test_show_gives_the_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(printed(capsys, "show", "Conv3DBackpropInputV2", "--json-schema"))
    assert schema["required"] == ["strides", "padding"]
    assert schema["properties"]["padding"]["enum"] == ["SAME", "VALID"]
    assert schema["additionalProperties"] is False


def test_infer_gives_dtype_and_shape(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["infer", "Conv3DBackpropInputV2", "--strides", "1,2,2,1,1", "--padding", "SAME"]
    words += ["--filter", "bfloat16:3,3,3,2,4", "--out-backprop", "bfloat16:1,3,4,5,4"]
    assert printed(capsys, *words, "--input-sizes", "1,6,-1,-1,-1") == "bfloat16 [1, 6, -1, 5, 2]\n"


def test_an_unknown_batch_may_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["infer", "conv3d_transpose", "--strides", "2", "--input", "float32:2,4,4,4,3"]
    words += ["--filters", "float32:3,3,3,5,3", "--output-shape", "-1,8,8,8,-1"]
    assert printed(capsys, *words) == "float32 [2, 8, 8, 8, 5]\n"


@pytest.mark.parametrize("extents", ["1,,4", "1,4,", ","])
def test_a_missing_extent_is_not_passed_over(extents: str) -> None:
    words = ["infer", "conv3d_transpose", "--strides", "2", "--output-shape", "1"]
    with pytest.raises(SystemExit) as caught:
        main([*words, "--input", f"float32:{extents}", "--filters", "float32:1"])
    assert caught.value.code == 2


def test_a_folder_that_is_not_there_is_said_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "numpy", "--json", str(tmp_path / "none" / "x.json")]) == 2
    captured = capsys.readouterr()
    assert "there is no folder" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--json", "."], "--json . is a folder; name a file"),
        (
            ["--json", "x", "--html", "./x"],
            "--json and --html name the same file, x",
        ),
    ],
)
def test_a_report_that_cannot_be_written_is_said_before_the_run(
    options: list[str],
    error: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", "numpy", *options]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"opspec: {error}\n"
    assert captured.out == ""


def test_brackets_without_end_are_a_word_that_a_rule_refuses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    operands = ["--input", "float32:1", "--filters", "float32:1", "--output-shape", "1"]
    assert main(["infer", "conv3d_transpose", "--strides", "[" * 100_000, *operands]) == 1
    assert "strides.are_integers" in capsys.readouterr().err


def test_without_rich_the_whole_of_it_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n"
        "from opspec.cli import main; sys.exit(main(['check', 'numpy']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'opspec[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_spec_that_is_none_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["infer", "conv3d_transpose", "--strides", "2", "--output-shape", "1,1,1,1,1"]
    with pytest.raises(SystemExit) as caught:
        main([*words, "--input", "float32:1,x", "--filters", "float32:1,1,1,1,1"])
    assert caught.value.code == 2
    assert "is not DTYPE:EXTENTS" in capsys.readouterr().err


def test_an_unknown_operation_or_command_is_a_usage_error(
    complaint: Callable[[], str],
) -> None:
    assert main(["show", "conv4d"]) == 2
    assert f"operations are {', '.join(ops.names())}" in complaint()
    for words in ([], ["prove"], ["check"]):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2


def test_help_and_version_come_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for words, text in ((["--help"], "opspec check numpy"), (["--version"], opspec.__version__)):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 0
        assert text in capsys.readouterr().out


def test_check_passes_numpy_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.json"
    text = printed(capsys, "check", "numpy", "--json", str(file), "--strict")
    assert "numpy: passed all that it declares" in text
    (report,) = json.loads(file.read_text("utf-8"))["reports"]
    assert report["ok"] is True
    assert report["counts"] == {"pass": len(report["results"])}
    assert report["executed"] > 140


def test_check_of_nothing_or_what_cannot_run_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no case was executed" in printed(capsys, "check", "numpy", "-k", "no such", code=1)
    assert "cannot run here" in printed(capsys, "check", "cupy", code=1)


def test_a_partial_check_says_that_it_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "partial run" in printed(capsys, "check", "numpy", "-k", "/real/")


@pytest.mark.parametrize(("wrong", "code"), [("0", 0), ("1", 1)])
def test_check_takes_a_module_from_the_folder_where_one_is(
    wrong: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(BACKEND.replace("WRONG", wrong), "utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("opspec"), "check", "mine:backend"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "80"},
    )
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "again: opspec check mine:backend -k conv3d_backprop_input_v2/exact/" in done.stdout
        assert "expected exactly" in done.stdout
    # Programs are to be copied; they alone may be wider.
    told = [line for line in done.stdout.splitlines() if not line.startswith("    ")]
    assert max(map(len, told)) <= 80


def test_a_second_backend_that_fails_makes_the_whole_check_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "check", "numpy", "cupy", code=1)
    assert "numpy: passed all that it declares" in text


def test_ctrl_c_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("opspec.conformance.runner.check", interrupted)
    assert main(["check", "numpy"]) == 130
    assert "stopped" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("rich.console", ["check", "numpy"], "cli"),
        ("opspec.conformance.runner", ["check", "numpy"], "conformance"),
        ("opspec.conformance.generate.verify", ["golden", "verify"], "conformance"),
    ],
)
def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(
    module: str,
    words: list[str],
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    complaint: Callable[[], str],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert cli.main(words) == 2
    assert f"pip install 'opspec[{extra}]'" in complaint()


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    command = f"'{Path(sys.executable).with_name('opspec')}' show conv3d_transpose | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("conv3d_transpose: ")
    assert done.stderr == ""


def test_golden_verify_counts_what_it_made_anew(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "golden", "verify")
    assert text.endswith("golden: 507 cases made anew without TensorFlow, 0 differences\n")
