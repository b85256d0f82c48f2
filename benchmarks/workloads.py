"""Thirteen problems to time: layers as real networks have them, and the corners between them."""

from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

Triple: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One call of conv3d_transpose, channels last.

    Parameters
    ----------
    name, meaning
        A word to select it by, and what it is.
    batch, spatial, in_channels
        The shape of the input.
    out_channels
        Channels of the result.
    kernel, strides, dilations
        Per spatial dimension.
    padding
        ``"SAME"`` or ``"VALID"``.
    """

    name: str
    meaning: str
    batch: int
    spatial: Triple
    in_channels: int
    out_channels: int
    kernel: Triple
    strides: Triple
    padding: Literal["SAME", "VALID"] = "SAME"
    dilations: Triple = (1, 1, 1)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of the input."""
        return (self.batch, *self.spatial, self.in_channels)

    @property
    def filters_shape(self) -> tuple[int, ...]:
        """Shape of the filters."""
        return (*self.kernel, self.out_channels, self.in_channels)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the result: the largest with SAME, the smallest with VALID."""
        sizes = zip(self.spatial, self.kernel, self.strides, self.dilations, strict=True)
        if self.padding == "SAME":
            spatial = [size * stride for size, _, stride, _ in sizes]
        else:
            spatial = [
                (size - 1) * stride + (kernel - 1) * dilation + 1
                for size, kernel, stride, dilation in sizes
            ]
        return (self.batch, *spatial, self.out_channels)

    @property
    def multiply_adds(self) -> int:
        """Multiplications, taps that land outside included."""
        return prod(self.input_shape) * self.out_channels * prod(self.kernel)


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
