"""One side of `compare_with_tensorflow`: runs the network on the scans that it is told of.

Each line of the input is a JSON list, the scan and the file for its probabilities. Each line of the
output says how many seconds the network took and the most memory that the process has held.
"""

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import scans

Array: TypeAlias = np.ndarray[Any, Any]
# A volume's voxels to its probabilities, and how long the network took for them.
Extract: TypeAlias = Callable[[Array], tuple[Array, float]]


def tensorflow_extract() -> Extract:
    """Return deepbrain's own Extractor, whose TensorFlow 1 is the one within TensorFlow 2."""
    # Imported here, so that there is no TensorFlow in the other process.
    tensorflow = importlib.import_module("tensorflow.compat.v1")
    tensorflow.logging.set_verbosity(tensorflow.logging.ERROR)
    sys.modules["tensorflow"] = tensorflow
    extractor = importlib.import_module("deepbrain").Extractor()
    run, seconds = extractor.sess.run, list[float]()

    def timed(*arguments: Any, **keywords: Any) -> Any:
        begun = time.perf_counter()
        found = run(*arguments, **keywords)
        seconds.append(time.perf_counter() - begun)
        return found

    extractor.sess = SimpleNamespace(run=timed)
    return lambda voxels: (extractor.run(voxels), seconds[-1])


def opspec_extract() -> Extract:
    """Return this folder's extraction."""
    extraction = importlib.import_module("extraction")
    network = extraction.deepbrain_network()

    def extract(voxels: Array) -> tuple[Array, float]:
        stamps = []
        found = extraction.brain_probability(
            voxels, network, lambda stage: stamps.append(time.perf_counter())
        )
        if "tensorflow" in sys.modules:
            raise RuntimeError("there is TensorFlow in the process that should do without")
        return found, stamps[-1] - stamps[0]

    return extract


def peak_memory() -> int:
    """Return the most bytes of memory that this process has held."""
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    # Only Linux has it; what getrusage says may include the process that started this one.
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(side: str) -> None:
    """Serve until the input ends."""
    extract = {"tensorflow": tensorflow_extract, "opspec": opspec_extract}[side]()
    for line in sys.stdin:
        scan, result = json.loads(line)
        probability, seconds = extract(scans.read(Path(scan)).voxels)
        np.save(result, probability)
        print(json.dumps({"seconds": seconds, "peak": peak_memory()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
