"""Whether the golden files are what their generator makes, and the oracles still agree."""

from contextlib import nullcontext
from pathlib import Path

from opspec.conformance.case import FOLDERS, golden, golden_folder
from opspec.conformance.generate.golden import build_all, differences
from opspec.conformance.generate.tensorflow_child import TensorFlowChild


def verify(tensorflow_python: str | None = None) -> int:
    """Make every case anew and compare; return 0 if all are the same.

    Parameters
    ----------
    tensorflow_python
        A Python that has TensorFlow, to be asked as well; None to do without.
    """
    child = TensorFlowChild(python=tensorflow_python) if tensorflow_python else nullcontext()
    real = Path(str(golden_folder())) / "conv3d_transpose" / "real.safetensors"
    wrong, cases = [], 0
    with child as tensorflow:
        for built in build_all(tensorflow, real):
            found = differences(built, golden(FOLDERS[built.operation], built.lane))
            lane = f"{built.operation}/{built.lane}"
            print(f"{lane}: {len(built.cases)} cases, {len(found)} differences")
            wrong += found
            cases += len(built.cases)
    for text in wrong:
        print(text)
    beside = "with TensorFlow" if tensorflow_python else "without TensorFlow"
    print(f"golden: {cases} cases made anew {beside}, {len(wrong)} differences")
    return 0 if cases and not wrong else 1
