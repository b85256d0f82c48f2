"""The demo's second part: an MRI volume, doubled by `conv3d_transpose`, and a picture of it."""

# nibabel is typed only in part.
# mypy: disable-error-code="no-untyped-call"

import importlib.resources
from pathlib import Path
from typing import Any, TypeAlias

import nibabel as nib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import opspec

Array: TypeAlias = np.ndarray[Any, Any]
Span: TypeAlias = tuple[float, float]

# Towards a source voxel's two halves, and the halves of its neighbours that face it.
LINEAR = np.array([0.25, 0.75, 0.75, 0.25])

# Per plane: its name, the axis it cuts, and what lies at its left and right edge; in a canonical
# volume the axes lead to the right, to the front, and up.
PLANES = (("axial", 2, "LR"), ("coronal", 1, "LR"), ("sagittal", 0, "PA"))
INCHES_PER_MM = 0.022
MARGIN_MM = 6.0
ROOM_FOR_LETTERS_MM = 20.0


def read_scan() -> nib.Nifti1Image:
    """Read the first volume of the MRI series that comes with nibabel."""
    source = importlib.resources.files("nibabel.tests.data") / "example4d.nii.gz"
    with importlib.resources.as_file(source) as path:
        series = nib.Nifti1Image.from_filename(path)
        return nib.Nifti1Image(np.asarray(series.dataobj[..., 0]), series.affine)


def voxels_of(image: nib.Nifti1Image) -> Array:
    """Return the values of an image as float32."""
    return np.asarray(image.dataobj, np.float32)


def enlarged(volume: Array, backend: str | None = None) -> Array:
    """Double a volume along its three axes by linear interpolation.

    Parameters
    ----------
    volume
        Three axes, of any lengths from 1.
    backend
        Which backend computes; None leaves it to opspec.

    Returns
    -------
    array
        New voxels lie a quarter of an old one to either side of its centre. Beyond the outermost
        centres the volume goes on as it ends.
    """
    # A voxel of margin lets the border be interpolated too; it is cut off again afterwards.
    framed = np.pad(volume, 1, mode="edge")[np.newaxis, ..., np.newaxis]
    taps = np.einsum("d,h,w->dhw", LINEAR, LINEAR, LINEAR)[..., np.newaxis, np.newaxis]
    large = opspec.nn.conv3d_transpose(
        framed,
        taps.astype(volume.dtype),
        [1, *(2 * size for size in framed.shape[1:4]), 1],
        strides=2,
        padding="SAME",
        backend=backend,
    )
    cropped: Array = large[0, 2:-2, 2:-2, 2:-2, 0]
    return cropped


def interpolated(volume: Array) -> Array:
    """Double a volume as `enlarged` does, but by `numpy.interp`, axis after axis, in float64."""
    result = volume.astype(np.float64)
    for axis, size in enumerate(volume.shape):
        old, new = np.arange(size), (np.arange(2 * size) + 0.5) / 2 - 0.5

        def along(line: Array, old: Array = old, new: Array = new) -> Array:
            return np.interp(new, old, line)

        result = np.apply_along_axis(along, axis, result)
    return result


def placed(large: Array, scan: nib.Nifti1Image) -> nib.Nifti1Image:
    """Put an enlarged volume where the scan is: corner on corner, not first centre on first."""
    to_old_voxels = np.diag([0.5, 0.5, 0.5, 1.0])
    to_old_voxels[:3, 3] = -0.25
    image = nib.Nifti1Image(large, scan.affine @ to_old_voxels)
    image.header.set_xyzt_units("mm")
    return image


def in_words(image: nib.Nifti1Image) -> str:
    """Describe the grid of a volume."""
    sizes = " x ".join(f"{size:.2f}" for size in image.header.get_zooms())
    return f"{' x '.join(map(str, image.shape))} voxels of {sizes} mm"


def save(before: nib.Nifti1Image, after: nib.Nifti1Image, folder: Path) -> tuple[Path, Path]:
    """Save the picture and the enlarged volume, and return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    picture, volume = folder / "demo_mri.png", folder / "demo_mri_x2.nii.gz"
    save_picture(before, after, picture)
    nib.save(after, volume)
    return picture, volume


def save_picture(before: nib.Nifti1Image, after: nib.Nifti1Image, path: Path) -> None:
    """Draw the middle slices of both volumes beside each other, all to one scale."""
    upright = [nib.as_closest_canonical(image) for image in (before, after)]
    box = _head(upright[0])
    across, along, up = (stop - start for start, stop in box)
    width = max(across, along) + ROOM_FOR_LETTERS_MM
    size = (2 * width * INCHES_PER_MM, (along + 2 * up) * INCHES_PER_MM + 1.4)
    window = np.percentile(voxels_of(upright[0]), (2, 99.7))
    figure = Figure(figsize=size, layout="constrained", facecolor="black")
    FigureCanvasAgg(figure)
    panels = figure.subplots(3, 2, gridspec_kw={"height_ratios": [along, up, up]})
    for (plane, axis, edges), pair in zip(PLANES, panels, strict=True):
        for panel, image, when in zip(pair, upright, ("before", "after"), strict=True):
            _draw_slice(panel, image, axis, window)
            _look_at(panel, np.delete(box, axis, axis=0), width)
            panel.set_title(f"{plane}, {when}: {_grid(image, axis)}", color="white", size=9)
            for place, letter in zip((0.02, 0.98), edges, strict=True):
                panel.text(
                    place, 0.5, letter, color="white", ha="center", transform=panel.transAxes
                )
    figure.savefig(path, dpi=160)


def _head(image: nib.Nifti1Image) -> list[Span]:
    """Return per axis where the head lies, in millimetres from the volume's corner."""
    voxels, zooms = voxels_of(image), image.header.get_zooms()
    bright = voxels >= 0.25 * np.percentile(voxels, 99)
    spans = []
    for axis in range(3):
        inside = np.flatnonzero(bright.any(axis=tuple({0, 1, 2} - {axis})))
        start = max(inside[0] * zooms[axis] - MARGIN_MM, 0)
        stop = min((inside[-1] + 1) * zooms[axis] + MARGIN_MM, voxels.shape[axis] * zooms[axis])
        spans.append((float(start), float(stop)))
    return spans


def _draw_slice(panel: Axes, image: nib.Nifti1Image, axis: int, window: Array) -> None:
    """Draw the middle slice with every voxel as large as it is, back of the head or feet down."""
    voxels = voxels_of(image)
    right, top = np.delete(np.multiply(voxels.shape, image.header.get_zooms()), axis)
    panel.imshow(
        voxels.take(voxels.shape[axis] // 2, axis).T,
        cmap="gray",
        vmin=window[0],
        vmax=window[1],
        origin="lower",
        extent=(0, right, 0, top),
        interpolation="nearest",
    )
    panel.set_axis_off()


def _look_at(panel: Axes, box: Array, width: float) -> None:
    """Show the box, and beside it as much as makes every panel equally wide."""
    (left, right), (bottom, top) = box
    middle = (left + right) / 2
    panel.set_xlim(middle - width / 2, middle + width / 2)
    panel.set_ylim(bottom, top)


def _grid(image: nib.Nifti1Image, axis: int) -> str:
    """Describe the grid of a slice."""
    counts = " x ".join(map(str, np.delete(image.shape, axis)))
    sizes = " x ".join(f"{size:.2g}" for size in np.delete(image.header.get_zooms(), axis))
    return f"{counts} voxels of {sizes} mm"
