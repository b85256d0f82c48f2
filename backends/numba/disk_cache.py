"""Compiled kernels on disk, under a name that says all that they depend on.

Numba's own cache looks only at the file that holds the jitted function, not at the intrinsics that
it uses. Here one digest covers every source file of this backend, the versions of opspec, Numba,
llvmlite and Python, the CPU with its features, and the kernel with its types. What does not match
is not found, and is compiled.
"""

import hashlib
import logging
import pickle
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import compiler, serialize

import opspec
from opspec.cache_folder import folder, keep

log = logging.getLogger("opspec")


@cache
def _sources() -> bytes:
    """Return a digest of this backend's sources and of the versions that they run on."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    versions = (opspec.__version__, numba.__version__, llvmlite.__version__)
    digest.update(repr((versions, sys.version, platform.machine())).encode())
    return digest.digest()


class DiskCache:
    """What Numba asks for compiled code, for one kernel: its `_Cache` interface.

    Parameters
    ----------
    name
        The kernel's, with all that it was made for.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.hits = 0

    @property
    def cache_path(self) -> str:
        """Where it is kept."""
        return str(folder())

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None."""
        target_context.refresh()
        file = self._file(signature, target_context.codegen())
        try:
            found = compiler.CompileResult._rebuild(
                target_context, *pickle.loads(file.read_bytes())
            )
        except FileNotFoundError:
            return None
        # A file that was cut short, or that this Numba cannot read, is as good as none.
        except Exception as error:
            log.info("%s is compiled anew; %s cannot be read (%r)", self.name, file, error)
            return None
        self.hits += 1
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code; the file appears whole or not at all."""
        file = self._file(signature, compiled.codegen)
        content = serialize.dumps(compiled._reduce())
        keep(file.name, lambda to: to.write_bytes(content))

    def enable(self) -> None:
        """Do nothing; it is always on."""

    def disable(self) -> None:
        """Do nothing; it is always on."""

    def flush(self) -> None:
        """Do nothing; old files have other names."""

    def _file(self, signature: Any, codegen: Any) -> Path:
        digest = hashlib.sha256(_sources())
        digest.update(repr((self.name, str(signature), codegen.magic_tuple())).encode())
        return folder() / f"{self.name}-{digest.hexdigest()[:32]}.numba"
