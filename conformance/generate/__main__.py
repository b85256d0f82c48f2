"""Make the golden files: ``python -m opspec.conformance.generate --real FILE``."""

import argparse
import json
import platform
import sys
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from opspec.conformance.case import FOLDERS, golden_folder
from opspec.conformance.case import golden as golden_lane
from opspec.conformance.generate.golden import build_all, write
from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.conformance.suite_digest import FILE, recorded, suite_digest
from opspec.conformance.tasks import SUITE


def main() -> int:
    """Write every golden file anew."""
    golden = Path(str(golden_folder()))
    parser = argparse.ArgumentParser(
        prog="python -m opspec.conformance.generate", description=__doc__
    )
    parser.add_argument(
        "--real",
        type=Path,
        default=golden / "conv3d_transpose" / "real.safetensors",
        help="safetensors file of real layers with TensorFlow's outputs",
    )
    parser.add_argument(
        "--tensorflow-python", default=sys.executable, help="the Python that has tensorflow-cpu"
    )
    chosen = parser.parse_args()
    with ExitStack() as stack:
        tensorflow = stack.enter_context(TensorFlowChild(python=chosen.tensorflow_python))
        versions = {
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "ml_dtypes": version("ml_dtypes"),
            "tensorflow-cpu": tensorflow.version,
        }
        for built in build_all(tensorflow, chosen.real):
            write(built, golden / FOLDERS[built.operation], versions)
            print(f"{built.operation}/{built.lane}: {len(built.cases)} cases", flush=True)
    golden_lane.cache_clear()
    digests = recorded() if (golden / FILE).is_file() else {}
    text = json.dumps(digests | {str(SUITE): suite_digest(SUITE)}, indent=1)
    (golden / FILE).write_text(text + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
