"""The demo's enlargement is linear interpolation, and its picture is drawn."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PLACE = Path(__file__).parents[2] / "examples" / "demo_mri.py"
nib = pytest.importorskip("nibabel", reason="the demo extra is not installed")
pytest.importorskip("matplotlib", reason="the demo extra is not installed")


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_demo_mri", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


demo_mri = _load()


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 5, 2), (4, 1, 3), (7, 6, 5), (2, 9, 8)])
@pytest.mark.parametrize(("dtype", "within"), [("float32", 1e-6), ("float64", 1e-14)])
def test_enlarging_is_linear_interpolation(
    shape: tuple[int, ...], dtype: str, within: float
) -> None:
    volume = np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)
    large = demo_mri.enlarged(volume)
    assert large.dtype == dtype
    assert large.shape == tuple(2 * size for size in shape)
    np.testing.assert_allclose(large, demo_mri.interpolated(volume), rtol=0, atol=4 * within)


def test_a_ramp_stays_a_ramp_between_the_outermost_centres() -> None:
    ramp = np.broadcast_to(np.arange(5.0)[:, np.newaxis, np.newaxis], (5, 2, 3))
    line = demo_mri.enlarged(ramp)[:, 0, 0]
    np.testing.assert_array_equal(line, [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4])


def test_the_enlarged_volume_fills_the_same_box() -> None:
    rotated = np.array([[0, -2, 0, 7], [3, 0, 0.5, -4], [0.25, 0, 5, 11], [0, 0, 0, 1]])
    scan = nib.Nifti1Image(np.zeros((3, 4, 5), np.float32), rotated)
    finer = demo_mri.placed(np.zeros((6, 8, 10), np.float32), scan)
    for image_corner, finer_corner in (((0, 0, 0), (0, 0, 0)), ((3, 4, 5), (6, 8, 10))):
        expected = scan.affine @ [*np.subtract(image_corner, 0.5), 1]
        np.testing.assert_allclose(finer.affine @ [*np.subtract(finer_corner, 0.5), 1], expected)
    np.testing.assert_allclose(np.multiply(finer.header.get_zooms(), 2), scan.header.get_zooms())


@pytest.mark.parametrize("shape", [(12, 10, 6), (5, 1, 3)])
def test_both_files_are_written(shape: tuple[int, ...], tmp_path: Path) -> None:
    volume = np.random.default_rng(0).random(shape, np.float32)
    scan = nib.Nifti1Image(volume, np.diag([-2.0, 2.0, 3.0, 1.0]))
    finer = demo_mri.placed(demo_mri.enlarged(volume), scan)
    picture, file = demo_mri.save(scan, finer, tmp_path / "new" / "folder")
    assert picture.read_bytes().startswith(b"\x89PNG")
    np.testing.assert_array_equal(nib.load(file).get_fdata(dtype=np.float32), finer.dataobj)
