"""A picture of a scan with a mask over it: three slices through the middle of the mask."""

# nibabel is typed only in part.
# mypy: disable-error-code="no-untyped-call"

from pathlib import Path
from typing import Any, TypeAlias

import nibabel as nib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

Array: TypeAlias = np.ndarray[Any, Any]

# Per plane: its name and the axis it cuts, in a volume whose axes lead right, to the front, and up.
PLANES = (("axial", 2), ("coronal", 1), ("sagittal", 0))
MASK_COLOR = (1.0, 0.25, 0.1)
INCHES = 3.2


def save_picture(voxels: Array, mask: Array, affine: Array, path: Path) -> None:
    """Draw the slices, each voxel as large as it is, the mask in colour and outlined."""
    both = np.stack([voxels, mask], axis=-1)
    upright = nib.as_closest_canonical(nib.Nifti1Image(both, affine))
    both, sizes = np.asarray(upright.dataobj), upright.header.get_zooms()[:3]
    darkest, brightest = np.percentile(both[..., 0], (2, 99.7))
    figure = Figure(figsize=(3 * INCHES, INCHES + 0.4), layout="constrained", facecolor="black")
    FigureCanvasAgg(figure)
    for (plane, axis), panel in zip(PLANES, figure.subplots(1, 3), strict=True):
        at = _middle(both[..., 1], axis)
        grey, brain = np.moveaxis(both.take(at, axis), -1, 0)
        across, up = np.delete(both.shape[:3], axis) * np.delete(sizes, axis)
        extent = (0.0, float(across), 0.0, float(up))
        panel.imshow(
            grey.T, cmap="gray", vmin=darkest, vmax=brightest, origin="lower", extent=extent
        )
        tint = np.empty((*brain.T.shape, 4))
        tint[..., :3], tint[..., 3] = MASK_COLOR, 0.35 * brain.T
        panel.imshow(tint, origin="lower", extent=extent, interpolation="nearest")
        if min(brain.shape) > 1 and 0 < brain.mean() < 1:
            panel.contour(
                brain.T, [0.5], colors=[MASK_COLOR], linewidths=0.8, origin="lower", extent=extent
            )
        panel.set_axis_off()
        panel.set_title(f"{plane}, slice {at + 1} of {both.shape[axis]}", color="white", size=9)
    figure.savefig(path, dpi=160)


def _middle(mask: Array, axis: int) -> int:
    """Return the slice through the middle of the mask, or of the volume if it is empty."""
    across = tuple({0, 1, 2} - {axis})
    inside = np.flatnonzero(mask.any(axis=across))
    return int(inside[len(inside) // 2]) if len(inside) else mask.shape[axis] // 2
