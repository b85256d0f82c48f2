"""Whether what is built here can be given to strangers; says each thing that it looked at.

With `--dist` it looks at the wheel and the sdist in a folder, otherwise it builds them first. It
exits 1 at the first thing that is wrong.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from trove_classifiers import classifiers

ROOT = Path(__file__).parent.parent

# Where a version is written, and how.
VERSIONS = {
    "opspec/__init__.py": r'^__version__ = "(.+)"$',
    "CHANGELOG.md": r"^## (\S+)(?: \(.*\))?$",
    "CITATION.cff": r"^version: (\S+)$",
}
CITATION_KEYS = ("cff-version", "message", "title", "type", "authors", "version", "license")
PYTHON = "Programming Language :: Python :: "

CALL = """
import numpy, opspec
assert {environment!r} in opspec.__file__, opspec.__file__
line = numpy.array([1, 2], numpy.float32)
call = line.reshape(1, 1, 1, 2, 1), line.reshape(1, 1, 2, 1, 1), [1, 1, 1, 4, 1], [1, 1, 2]
found = opspec.nn.conv3d_transpose(*call).ravel().tolist()
assert found == [1, 2, 2, 4], found
print(opspec.explain("conv3d_transpose", *call).chosen)
"""


class UnfitError(Exception):
    """Something is not fit for a release; the message says what."""


def main(arguments: list[str] | None = None) -> int:
    """Check everything and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, help="a folder with a wheel and an sdist")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        try:
            version = version_of(ROOT)
            print(f"version: {version} in {', '.join(VERSIONS)}")
            wheel, sdist = distributions(given.dist or built(Path(folder)))
            for said in (
                *about_contents(wheel, sdist, version),
                *about_metadata(wheel, sdist, version),
                in_an_empty_environment(wheel, Path(folder) / "env"),
            ):
                print(said, flush=True)
        except UnfitError as error:
            print(f"not fit for a release: {error}", file=sys.stderr)
            return 1
    print(f"opspec {version} can be released")
    return 0


def version_of(root: Path) -> str:
    """Return the one version that is written everywhere, in a citation file that is complete."""
    found = {}
    for name, pattern in VERSIONS.items():
        match = re.search(pattern, (root / name).read_text("utf-8"), re.MULTILINE)
        if match is None:
            raise UnfitError(f"{name} names no version")
        found[name] = match[1]
    if len(set(found.values())) != 1:
        raise UnfitError("versions differ: " + ", ".join(f"{v} in {n}" for n, v in found.items()))
    citation = (root / "CITATION.cff").read_text("utf-8")
    for key in CITATION_KEYS:
        if not re.search(rf"^{key}:", citation, re.MULTILINE):
            raise UnfitError(f"CITATION.cff has no {key}")
    return found["CITATION.cff"]


def built(folder: Path) -> Path:
    """Build the wheel and the sdist; return the folder that holds them."""
    run([sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(ROOT)])
    return folder / "dist"


def distributions(folder: Path) -> tuple[Path, Path]:
    """Return the wheel and the sdist in a folder."""
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        raise UnfitError(f"{len(wheels)} wheels and {len(sdists)} sdists in {folder}, not 1 and 1")
    return wheels[0], sdists[0]


def about_contents(wheel: Path, sdist: Path, version: str) -> Iterable[str]:
    """Check that nothing but opspec would be installed, and that its licences go along."""
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.partition("/")[0] for name in names}
    if roots != {"opspec", f"opspec-{version}.dist-info"}:
        raise UnfitError(f"the wheel would install {', '.join(sorted(roots))}")
    left = [name for name in names if "__pycache__" in name or name.endswith((".orig", ".rej"))]
    if left:
        raise UnfitError(f"the wheel holds what should not be given away: {left[0]}")
    yield f"wheel: {len(names)} files, all in {' or '.join(sorted(roots))}"
    with tarfile.open(sdist) as archive:
        inside = archive.getnames()
    if {name.partition("/")[0] for name in inside} != {f"opspec-{version}"}:
        raise UnfitError("the sdist does not lie in one folder that is named after the version")
    yield f"sdist: {len(inside)} files, all in opspec-{version}"


def about_metadata(wheel: Path, sdist: Path, version: str) -> Iterable[str]:
    """Check the metadata of both distributions by the standards that package indexes apply."""
    folder = f"opspec-{version}"
    archive = zipfile.ZipFile(wheel)
    written = archive.read(f"{folder}.dist-info/METADATA")
    with tarfile.open(sdist) as packed:
        file = packed.extractfile(f"{folder}/PKG-INFO")
        if file is None or file.read() != written:
            raise UnfitError("the wheel and the sdist differ in their metadata")
    metadata = valid_metadata(written, version)
    for name in metadata.license_files or ():
        if f"{folder}.dist-info/licenses/{name}" not in archive.namelist():
            raise UnfitError(f"the wheel lacks the licence {name}")
    yield (
        f"metadata {metadata.metadata_version}: {len(metadata.classifiers or ())} classifiers, "
        f"{metadata.license_expression}, {len(metadata.license_files or ())} licence files, "
        f"{len(metadata.provides_extra or ())} extras"
    )


def valid_metadata(written: bytes, version: str) -> Metadata:
    """Return metadata that are as the standards say, and complete."""
    try:
        metadata = Metadata.from_email(written)
    except ExceptionGroup as faults:
        raise UnfitError(f"metadata: {'; '.join(map(str, faults.exceptions))}") from faults
    if str(metadata.version) != version:
        raise UnfitError(f"metadata: version {metadata.version}, not {version}")
    for wanted in ("summary", "description", "license_expression", "requires_python", "keywords"):
        if not getattr(metadata, wanted):
            raise UnfitError(f"metadata: no {wanted}")
    if metadata.description_content_type != "text/markdown":
        raise UnfitError(f"metadata: the README is {metadata.description_content_type}")
    refuse_wrong_classifiers(metadata.classifiers or [], metadata.requires_python or SpecifierSet())
    return metadata


def refuse_wrong_classifiers(given: list[str], python: SpecifierSet) -> None:
    """Refuse a classifier that does not exist, or is of a Python that is not supported."""
    for classifier in given:
        if classifier not in classifiers:
            raise UnfitError(f"metadata: there is no classifier {classifier!r}")
        version = classifier.removeprefix(PYTHON)
        if re.fullmatch(r"\d\.\d+", version) and not python.contains(version):
            raise UnfitError(f"metadata: a classifier for Python {version}, which needs {python}")


def in_an_empty_environment(wheel: Path, environment: Path) -> str:
    """Install the wheel alone and run one call; return what was installed."""
    run([sys.executable, "-m", "venv", str(environment)])
    python = str(environment / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--constraint"]
    run([*install, str(ROOT / "constraints.txt"), str(wheel)])
    run([python, "-m", "pip", "check"])
    listed = run([python, "-m", "pip", "list", "--format", "freeze"]).split()
    found = {Requirement(line).name for line in listed} - {"opspec", "pip", "setuptools"}
    # -I: neither this folder nor a variable of the user's may lend what the wheel lacks.
    chosen = run([python, "-I", "-c", CALL.format(environment=str(environment))]).strip()
    operations = run([str(environment / "bin" / "opspec"), "list"]).splitlines()
    return (
        f"empty environment: only {', '.join(sorted(found))} beside opspec; one call ran on "
        f"{chosen}; opspec list: {len(operations)} lines"
    )


def run(words: list[str]) -> str:
    """Run a program and return what it printed; what it complained of if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnfitError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
