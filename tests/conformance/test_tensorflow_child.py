"""The child that runs TensorFlow, with a module in TensorFlow's place that does as it is told."""

from pathlib import Path

import numpy as np
import pytest

from opspec.conformance.generate.tensorflow_child import Outcome, TensorFlowChild
from opspec.dtypes import numpy_dtype

FAKE_TENSORFLOW = """
import os, sys, time, types
import numpy as np

__version__ = "0.fake"
print("chatter on the standard output")

def quiet(count): pass

def run(*, what, **given):
    print("more chatter")
    if what == "abort":
        os.abort()
    if what == "sleep":
        time.sleep(60)
    if what == "environment":
        return types.SimpleNamespace(numpy=lambda: os.environ["TF_ENABLE_ONEDNN_OPTS"])
    if what == "raise":
        raise TypeError("first line\\nsecond line")
    return types.SimpleNamespace(numpy=lambda: given["input"] + 1)

def function(traced, jit_compile, autograph):
    return lambda **given: types.SimpleNamespace(numpy=lambda: 10 * traced(**given).numpy())

threading = types.SimpleNamespace(
    set_intra_op_parallelism_threads=quiet, set_inter_op_parallelism_threads=quiet
)
config = types.SimpleNamespace(threading=threading)
nn = types.SimpleNamespace(conv3d_transpose=run)
raw_ops = types.SimpleNamespace(
    Conv3D=run, Conv3DBackpropFilterV2=run, Conv3DBackpropInputV2=run
)
"""


@pytest.fixture
def fake_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let children import a TensorFlow that does as it is told."""
    (tmp_path / "tensorflow.py").write_text(FAKE_TENSORFLOW, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("fake_tensorflow")
def test_child_outlives_crash_error_and_time_out() -> None:
    data = np.ones(3, numpy_dtype("bfloat16"))
    with TensorFlowChild(timeout=20.0) as child:

        def ask(what: str, *, xla: bool = False) -> Outcome:
            return child.call("conv3d_transpose", {"what": what, "input": data}, xla=xla)

        assert child.version == "0.fake"
        value, compiled = ask("").value, ask("", xla=True).value
        assert value is not None
        assert compiled is not None
        assert value.dtype == data.dtype
        assert (float(value[0]), float(compiled[0])) == (2.0, 20.0)
        assert ask("raise") == Outcome("error", None, "TypeError: first line")
        assert ask("abort") == Outcome("crash", None, "SIGABRT")
        assert ask("").status == "value"
        child._timeout = 0.3
        assert ask("sleep").status == "timeout"
        child._timeout = 20.0
        assert ask("").status == "value"
        process = child._process
        assert process is not None
    assert process.poll() is not None


@pytest.mark.parametrize("onednn", [False, True])
@pytest.mark.usefixtures("fake_tensorflow")
def test_the_caller_chooses_the_kernels_not_the_processor(
    monkeypatch: pytest.MonkeyPatch, onednn: bool
) -> None:
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", str(int(not onednn)))
    with TensorFlowChild(timeout=20.0, onednn=onednn) as child:
        told = child.call("conv3d_transpose", {"what": "environment"}).value
    assert str(told) == str(int(onednn))


@pytest.mark.usefixtures("fake_tensorflow")
def test_big_endian_bfloat16_does_not_spoil_the_dtype() -> None:
    native = numpy_dtype("bfloat16")
    data = np.ones(3, native).astype(native.newbyteorder(">"))
    with TensorFlowChild(timeout=20.0) as child:
        value = child.call("conv3d_transpose", {"what": "", "input": data}).value
    assert value is not None
    assert value.dtype.isnative
    assert native.isnative
    assert float(value[0]) == 2.0


def test_child_says_that_tensorflow_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tensorflow.py").write_text("raise ImportError('not here')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with (
        TensorFlowChild() as child,
        pytest.raises(RuntimeError, match="ImportError: not here"),
    ):
        child.call("conv3d_transpose", {})
