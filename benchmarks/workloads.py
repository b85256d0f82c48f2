"""Thirteen problems to time: layers as real networks have them, and the corners between them.

`chosen` finds them by name, and the layers of `real_layers` too.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from real_layers import real_layers
from workload import Workload

__all__ = ["WORKLOADS", "Workload", "chosen"]

WORKLOADS = (
    Workload(
        name="unet3d_up3",
        meaning="3-D U-Net, up-convolution next to the bottom",
        batch=1,
        spatial=(16, 16, 16),
        in_channels=256,
        out_channels=128,
        kernel=(2, 2, 2),
        strides=(2, 2, 2),
    ),
    Workload(
        name="unet3d_up1",
        meaning="3-D U-Net, up-convolution next to the top",
        batch=1,
        spatial=(48, 48, 48),
        in_channels=64,
        out_channels=32,
        kernel=(2, 2, 2),
        strides=(2, 2, 2),
    ),
    Workload(
        name="nnunet_aniso",
        meaning="nnU-Net on thick slices: depth is not enlarged",
        batch=2,
        spatial=(16, 40, 40),
        in_channels=64,
        out_channels=32,
        kernel=(1, 2, 2),
        strides=(1, 2, 2),
    ),
    Workload(
        name="gan3d_4_512",
        meaning="3D-GAN generator, first 4x4x4 layer of stride 2",
        batch=8,
        spatial=(4, 4, 4),
        in_channels=512,
        out_channels=256,
        kernel=(4, 4, 4),
        strides=(2, 2, 2),
    ),
    Workload(
        name="gan3d_16_128",
        meaning="3D-GAN generator, third 4x4x4 layer of stride 2",
        batch=4,
        spatial=(16, 16, 16),
        in_channels=128,
        out_channels=64,
        kernel=(4, 4, 4),
        strides=(2, 2, 2),
    ),
    Workload(
        name="gan3d_last",
        meaning="3D-GAN generator, last layer: one channel of voxels",
        batch=4,
        spatial=(32, 32, 32),
        in_channels=64,
        out_channels=1,
        kernel=(4, 4, 4),
        strides=(2, 2, 2),
    ),
    Workload(
        name="vae_k3s2",
        meaning="decoder of a volumetric autoencoder: overlapping taps",
        batch=2,
        spatial=(16, 16, 16),
        in_channels=64,
        out_channels=32,
        kernel=(3, 3, 3),
        strides=(2, 2, 2),
    ),
    Workload(
        name="bp_k3s1_32",
        meaning="gradient of a 3x3x3 convolution, 32 to 32 channels",
        batch=1,
        spatial=(40, 40, 40),
        in_channels=32,
        out_channels=32,
        kernel=(3, 3, 3),
        strides=(1, 1, 1),
    ),
    Workload(
        name="bp_c3d_first",
        meaning="gradient of C3D's first layer, by a clip of video",
        batch=1,
        spatial=(16, 112, 112),
        in_channels=64,
        out_channels=3,
        kernel=(3, 3, 3),
        strides=(1, 1, 1),
    ),
    Workload(
        name="bp_k5s1_16",
        meaning="gradient of a 5x5x5 convolution: 125 taps",
        batch=1,
        spatial=(32, 32, 32),
        in_channels=16,
        out_channels=16,
        kernel=(5, 5, 5),
        strides=(1, 1, 1),
    ),
    Workload(
        name="k1s1",
        meaning="one tap: a matrix product and nothing else",
        batch=1,
        spatial=(32, 32, 32),
        in_channels=64,
        out_channels=64,
        kernel=(1, 1, 1),
        strides=(1, 1, 1),
    ),
    Workload(
        name="dil2_k3",
        meaning="dilated filter, VALID",
        batch=1,
        spatial=(24, 24, 24),
        in_channels=32,
        out_channels=32,
        kernel=(3, 3, 3),
        strides=(1, 1, 1),
        padding="VALID",
        dilations=(2, 2, 2),
    ),
    Workload(
        name="tiny",
        meaning="so small that only the way to the kernel counts",
        batch=1,
        spatial=(4, 4, 4),
        in_channels=3,
        out_channels=2,
        kernel=(2, 2, 2),
        strides=(2, 2, 2),
    ),
)


def chosen(names: Sequence[str]) -> tuple[Workload, ...]:
    """Return the workloads that are named, each once.

    Parameters
    ----------
    names
        Of workloads, or ``"study"`` for the thirteen of this file and ``"real"`` for the layers
        found in public code.

    Raises
    ------
    LookupError
        If no workload has a name.
    """
    groups = {"study": WORKLOADS, "real": real_layers()}
    known = {workload.name: workload for group in groups.values() for workload in group}
    found: dict[str, Workload] = {}
    for name in names:
        if name in groups:
            found.update({workload.name: workload for workload in groups[name]})
        elif name in known:
            found[name] = known[name]
        else:
            close = get_close_matches(name, [*groups, *known], n=3)
            hint = f"; perhaps {', '.join(close)}" if close else ""
            raise LookupError(f"no workload and no group is called {name!r}{hint}")
    return tuple(found.values())
