"""What deepbrain's Extractor does, with opspec in TensorFlow's place."""

from pathlib import Path
from typing import Any, TypeAlias

import frozen_graph
import numpy as np
import scans
import slabs
from network import Network, network_of
from resize import resized

Array: TypeAlias = np.ndarray[Any, Any]


def deepbrain_network(path: Path | None = None) -> Network:
    """Read deepbrain's network, by default from the installed package.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If it holds anything else than what is run here.
    """
    path = path or scans.packaged("deepbrain", "models/graph.pb")
    return network_of(frozen_graph.read(path), "img", "prob", given={"training": False})


def brain_probability(voxels: Array, network: Network, report: slabs.Report | None = None) -> Array:
    """Return for each voxel how probably it lies in the brain, as deepbrain's Extractor does."""
    found = slabs.run(network, _prepared(voxels, network.image.shape), report)
    return resized(found[0, ..., 0], voxels.shape)


def _prepared(voxels: Array, shape: tuple[int, ...]) -> Array:
    cube = resized(voxels, shape[1:4])
    scaled: Array = cube / cube.max()
    return scaled.astype(np.float32).reshape(shape)
