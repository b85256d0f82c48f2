"""Resizing as scikit-image does it, which deepbrain calls: smoothed, then interpolated linearly.

`skimage.transform.resize(volume, shape, mode="constant", anti_aliasing=True)` smooths with a Gauss
kernel where an axis gets shorter, interpolates linearly between the centres of voxels, and takes
what lies outside as zero. All of it is linear and goes axis by axis, so each axis is one matrix.
`compare_with_tensorflow.py` runs it beside scikit-image.
"""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

# How far the kernel reaches, in standard deviations.
TRUNCATE = 4.0


def resized(volume: Array, shape: tuple[int, ...]) -> Array:
    """Resize a volume; the result has its dtype, float32 or float64."""
    result = volume
    for axis, (old, new) in enumerate(zip(volume.shape, shape, strict=True)):
        weights = _interpolating(old, new) @ _smoothing(old, new)
        along = np.tensordot(weights.astype(volume.dtype), result, (1, axis))
        result = np.moveaxis(along, 0, axis)
    lowest, highest = volume.min(), volume.max()
    # scikit-image widens the range to what it put outside only where the result spans that zero.
    if not lowest <= 0 <= highest and result.min() <= 0 <= result.max():
        lowest, highest = min(lowest, 0), max(highest, 0)
    return np.clip(result, lowest, highest)


def _interpolating(old: int, new: int) -> Array:
    """Return the weights of old voxels in new ones: each lies between two old centres."""
    places = (np.arange(new) + 0.5) * (old / new) - 0.5
    below = np.floor(places).astype(int)
    weights = np.zeros((new, old))
    for taken, weight in ((below, below + 1 - places), (below + 1, places - below)):
        (inside,) = np.nonzero((taken >= 0) & (taken < old))
        weights[inside, taken[inside]] = weight[inside]
    return weights


def _smoothing(old: int, new: int) -> Array:
    """Return the weights of old voxels in smoothed ones."""
    deviation = max(0.0, (old / new - 1) / 2)
    if not deviation:
        return np.eye(old)
    reach = int(TRUNCATE * deviation + 0.5)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    kernel /= kernel.sum()
    distance = np.subtract.outer(np.arange(old), np.arange(old))
    weights: Array = np.where(
        abs(distance) <= reach, kernel[np.clip(distance + reach, 0, 2 * reach)], 0
    )
    return weights
