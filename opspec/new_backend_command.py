"""``opspec new-backend``: write a package with a backend that passes the suite as it stands.

The files are templates in the folder ``new_backend``. They are written beside the place where they
go and moved there when all of them are complete, so that an interruption leaves nothing behind.
"""

import argparse
import keyword
import re
import shutil
import tempfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from opspec.command_line import add_command
from opspec.registry import discovery
from opspec.terminal import complain

# Where each template goes. They lie flat, since packaging leaves out folders such as .github.
PLACES = {
    "pyproject.toml.template": "pyproject.toml",
    "README.md.template": "README.md",
    "LICENSE.template": "LICENSE",
    "gitignore.template": ".gitignore",
    "backend.py.template": "src/@module@/__init__.py",
    "kernel.py.template": "src/@module@/conv3d_backprop_input_v2.py",
    "test_conformance.py.template": "tests/test_conformance.py",
    "test.yml.template": ".github/workflows/test.yml",
}

ALLOWED = (
    "allowed are lower-case letters, digits, and single '-' or '_' between them, a letter first, "
    "such as my-backend"
)


class RefusedError(Exception):
    """The package cannot be written; the message says why and what is allowed."""


def add_to(commands: Any) -> None:
    """Add the command to an argument parser's commands."""
    command = add_command(
        commands,
        "new-backend",
        help="write the package of a new backend",
        description="Write a package with a backend that is right but plain: one kernel, its "
        "entry point, its conformance test and its workflow. Then make the kernel yours.",
        examples=["opspec new-backend my-backend", "opspec new-backend mine --into packages/mine"],
    )
    command.add_argument("name", metavar="NAME", help="what callers will write in backend=")
    command.add_argument(
        "--into", type=Path, metavar="FOLDER", help="the package's folder (default NAME)"
    )
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    folder = chosen.into or Path(chosen.name)
    try:
        module = module_for(chosen.name)
        _refuse_unusable_folder(folder)
    except RefusedError as error:
        complain(error)
        return 2
    write(chosen.name, module, folder)
    print(_next_steps(chosen.name, module, folder))
    return 0


def module_for(name: str) -> str:
    """Return the module's name for a backend's name.

    Raises
    ------
    RefusedError
        If the name is malformed, or stands for something that is there already.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*", name):
        raise RefusedError(f"{name!r:.60} is no name for a backend; {ALLOWED}")
    if name in discovery.names():
        raise RefusedError(
            f"a backend named {name!r} is installed already; "
            f"allowed is any name but {', '.join(discovery.names())}"
        )
    module = name.replace("-", "_")
    if keyword.iskeyword(module):
        raise RefusedError(f"{name!r} is a word of Python's and can name no module; {ALLOWED}")
    if find_spec(module) is not None:
        raise RefusedError(
            f"there is a module named {module!r} already, and a second one would hide it or be "
            "hidden; allowed is any name that cannot be imported yet"
        )
    return module


def write(name: str, module: str, folder: Path) -> None:
    """Write the package, all of it or nothing."""
    exists = folder.exists()
    # On the same file system as its place, so that moving it there is renaming.
    staged = Path(tempfile.mkdtemp(prefix=".new-backend-", dir=folder if exists else folder.parent))
    try:
        package = staged / "package"
        package.mkdir()
        for template, place in PLACES.items():
            text = files("opspec").joinpath("new_backend", template).read_text("utf-8")
            file = package / _filled(place, name, module)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_filled(text, name, module), "utf-8")
        if exists:
            for part in package.iterdir():
                part.rename(folder / part.name)
        else:
            package.rename(folder)
    finally:
        shutil.rmtree(staged)


def _filled(text: str, name: str, module: str) -> str:
    return text.replace("@name@", name).replace("@module@", module)


def _refuse_unusable_folder(folder: Path) -> None:
    if folder.is_dir():
        if any(folder.iterdir()):
            raise RefusedError(
                f"the folder {folder} is not empty, and nothing is written over; "
                "allowed is a new folder or an empty one (--into FOLDER)"
            )
    elif folder.exists() or folder.is_symlink():
        raise RefusedError(f"{folder} is no folder; allowed is a new folder or an empty one")
    elif not folder.parent.is_dir():
        raise RefusedError(f"there is no folder {folder.parent} to write {folder.name} into")


def _next_steps(name: str, module: str, folder: Path) -> str:
    return (
        f"wrote {folder}: a backend named {name} that passes the suite\n"
        "next:\n"
        f"  pip install --editable {folder}\n"
        f"  opspec check {name}\n"
        f"then make {folder / 'src' / module / 'conv3d_backprop_input_v2.py'} yours"
    )
