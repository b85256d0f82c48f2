"""What the release check finds wrong; CI runs the whole of it on what it builds."""

import io
import shutil
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
import release_check
from release_check import UnfitError

import opspec

ROOT = Path(__file__).parent.parent
FOLDER = f"opspec-{opspec.__version__}"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the files that a version is written in."""
    for name in release_check.VERSIONS:
        copy = tmp_path / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy)
    return tmp_path


@pytest.fixture
def metadata() -> str:
    """The metadata of what is installed here."""
    found = distribution("opspec")
    text = found.read_text("METADATA") or found.read_text("PKG-INFO")
    assert text is not None
    return text


def test_the_version_is_the_same_everywhere() -> None:
    assert release_check.version_of(ROOT) == opspec.__version__


@pytest.mark.parametrize("name", release_check.VERSIONS)
def test_a_version_that_differs_is_found(name: str, sources: Path) -> None:
    file = sources / name
    file.write_text(file.read_text("utf-8").replace(opspec.__version__, "9.9.9", 1), "utf-8")
    with pytest.raises(UnfitError, match=f"versions differ: .*9.9.9 in {name}"):
        release_check.version_of(sources)


def test_a_citation_without_authors_is_found(sources: Path) -> None:
    file = sources / "CITATION.cff"
    file.write_text(file.read_text("utf-8").replace("authors:", "people:"), "utf-8")
    with pytest.raises(UnfitError, match="has no authors"):
        release_check.version_of(sources)


def test_the_metadata_are_as_package_indexes_want_them(metadata: str) -> None:
    found = release_check.valid_metadata(metadata.encode(), opspec.__version__)
    assert found.name == "opspec"


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("License-Expression: Apache-2.0", "License-Expression: Apache2", "license"),
        ("Classifier: Typing :: Typed", "Classifier: Typing :: Most", "no classifier"),
        ("Requires-Python: >=3.11", "Requires-Python: >=3.12", "a classifier for Python 3.11"),
        ("Requires-Python: >=3.11", "Requires-Python: three", "python"),
        ("Content-Type: text/markdown", "Content-Type: text/plain", "README is text/plain"),
        ("Summary: ", "X-Summary: ", "metadata: "),
        (f"Version: {opspec.__version__}", "Version: 9.9.9", "version 9.9.9"),
    ],
)
def test_wrong_metadata_are_found(right: str, wrong: str, words: str, metadata: str) -> None:
    assert right in metadata
    with pytest.raises(UnfitError, match=words):
        release_check.valid_metadata(metadata.replace(right, wrong).encode(), opspec.__version__)


def packed(folder: Path, metadata: str, wheel: list[str], sdist: list[str]) -> tuple[Path, Path]:
    """Make a wheel and an sdist with these files beside their metadata."""
    paths = folder / "opspec.whl", folder / "opspec.tar.gz"
    with zipfile.ZipFile(paths[0], "w") as archive:
        archive.writestr(f"{FOLDER}.dist-info/METADATA", metadata)
        for name in wheel:
            archive.writestr(name, "")
    with tarfile.open(paths[1], "w:gz") as packing:
        for name, text in ((f"{FOLDER}/PKG-INFO", metadata), *((name, "") for name in sdist)):
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            packing.addfile(entry, io.BytesIO(text.encode()))
    return paths


@pytest.mark.parametrize(
    ("wheel", "sdist", "words"),
    [
        (["opspec/nn.py", "backends/numpy.py"], [], "would install backends, opspec"),
        (["opspec/nn.py", "opspec/__pycache__/nn.pyc"], [], "should not be given away"),
        (["opspec/nn.py"], ["stray"], "does not lie in one folder"),
    ],
)
def test_what_does_not_belong_into_a_distribution_is_found(
    wheel: list[str], sdist: list[str], words: str, tmp_path: Path
) -> None:
    paths = packed(tmp_path, "", wheel, sdist)
    with pytest.raises(UnfitError, match=words):
        list(release_check.about_contents(*paths, opspec.__version__))


def test_a_wheel_without_its_licences_is_found(metadata: str, tmp_path: Path) -> None:
    paths = packed(tmp_path, metadata, ["opspec/nn.py"], [])
    with pytest.raises(UnfitError, match="lacks the licence LICENSE"):
        list(release_check.about_metadata(*paths, opspec.__version__))


def test_there_must_be_one_of_each(tmp_path: Path) -> None:
    (tmp_path / "opspec.whl").touch()
    with pytest.raises(UnfitError, match="1 wheels and 0 sdists"):
        release_check.distributions(tmp_path)
