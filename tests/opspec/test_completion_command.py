"""`opspec completion`: in bash it is tried, elsewhere the script is looked at."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opspec import ops
from opspec.cli import main
from opspec.registry import discovery


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def in_bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    file = tmp_path_factory.mktemp("completion") / "opspec.bash"
    opspec = Path(sys.executable).with_name("opspec")
    done = subprocess.run([opspec, "completion", "bash"], capture_output=True, check=True)
    file.write_bytes(done.stdout)
    return file


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("expl", ["explain"]),
        ("show Conv3DB", ["Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"]),
        ("infer conv3d_tr", ["conv3d_transpose"]),
        ("explain conv3d_transpose --back", ["--backend"]),
        ("explain conv3d_transpose --backend nump", ["numpy"]),
        ("check nu", ["numba", "numpy"]),
        ("warmup numb", ["numba"]),
        ("completion z", ["zsh"]),
    ],
)
def test_bash_completes(line: str, completed: list[str], in_bash: Path) -> None:
    code = (
        'source "$1"; read -ra COMP_WORDS <<<"opspec $2"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n'
        '_shtab_opspec; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    words = ["bash", "-c", code, "bash", str(in_bash), line]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert found == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shells_script_names_commands_operations_and_backends(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = script(shell, capsys)
    for word in ("doctor", "explain", *ops.names(), *discovery.names(), "out-backprop"):
        assert word in text
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_without_its_library_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, complaint: Callable[[], str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert complaint() == "opspec: shtab is not installed; pip install 'opspec[cli]'"


def test_another_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["completion", "cmd"])
    assert caught.value.code == 2
    assert "choose from" in capsys.readouterr().err
