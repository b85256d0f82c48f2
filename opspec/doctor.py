"""What ``opspec doctor`` finds out: versions, processor, BLAS, cache, environment, backends.

Each finding is made on its own, so that whatever is broken shows as one finding that says how.
"""

import json
import os
import platform
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import opspec
from opspec import cache_folder, threads
from opspec.memory import total_memory
from opspec.registry import Backend
from opspec.registry.preference import installed

Findings = dict[str, Any]

PACKAGES = ("numpy", "ml_dtypes", "pydantic")
OPTIONAL = (
    *("numba", "llvmlite", "cupy-cuda12x", "cupy-cuda13x", "nvidia-cudnn-frontend"),
    *("hypothesis", "pytest", "rich", "safetensors", "shtab", "threadpoolctl", "torch", "jax"),
)

# Every variable that opspec reads, and what it says.
VARIABLES = {
    "OPSPEC_BACKEND": "the backend, where a call names none",
    "OPSPEC_CACHE_DIR": "where compiled kernels are kept",
    "OPSPEC_CUPY_TF32": "whether the CuPy backend may round float32 to TF32",
    "OPSPEC_CUPY_TIER": "which kernels the CuPy backend takes",
    "OPSPEC_EMULATED_ORDER": "in which order emulated threads run",
    "OPSPEC_NUM_THREADS": "how many threads work on one call",
    "CUDA_PATH": "where CUDA's headers lie",
    "XDG_CACHE_HOME": "where the user's cache folder is",
    "NO_COLOR": "no colours in the terminal",
    "FORCE_COLOR": "colours in files and pipes too",
}


def findings() -> dict[str, Findings]:
    """Find out everything; what cannot be found out is said in its place."""
    return {
        "versions": _found(_versions()),
        "processor": _found(_processor()),
        "BLAS": _found({"libraries": _blas}),
        "cache": _found(_cache()),
        "environment": _environment(os.environ),
        "backends": {name: _backend(found, fault) for name, found, fault in installed()},
    }


def can_run(found: Mapping[str, Findings]) -> bool:
    """Whether at least one backend can run."""
    return any(backend["can run"] for backend in found["backends"].values())


def as_json(found: Mapping[str, Findings]) -> str:
    """Return the findings for other programs."""
    return json.dumps({"ok": can_run(found), **found}, indent=1, default=str)


def _found(parts: Mapping[str, Callable[[], object]]) -> Findings:
    return {name: _answer(ask) for name, ask in parts.items()}


def _answer(ask: Callable[[], object]) -> object:
    try:
        return ask()
    # Whatever is broken on this machine is what the reader wants to know.
    except Exception as error:
        return f"cannot be found out: {type(error).__name__}: {error}"


def _versions() -> dict[str, Callable[[], object]]:
    return {
        "opspec": lambda: opspec.__version__,
        "python": lambda: f"{platform.python_implementation()} {platform.python_version()}",
        **{package: partial(version, package) for package in PACKAGES},
        **{package: partial(_version_if_installed, package) for package in OPTIONAL},
    }


def _version_if_installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> dict[str, Callable[[], object]]:
    return {
        "system": platform.platform,
        "machine": platform.machine,
        "cores": os.cpu_count,
        "cores in the affinity": lambda: len(os.sched_getaffinity(0)),
        "quota of the container": lambda: threads.container_quota() or "none",
        "cores that may be used": threads.usable_cores,
        "threads for one call": threads.limit,
        "memory": lambda: _in_gigabytes(total_memory()),
    }


def _in_gigabytes(size: int | None) -> str | None:
    return None if size is None else f"{size / 2**30:.1f} GiB"


def _blas() -> object:
    """Say which libraries compute NumPy's matrix products, with how many threads."""
    try:
        from threadpoolctl import threadpool_info
    except ModuleNotFoundError:
        built: Any = np.show_config(mode="dicts")
        blas = built["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}, as NumPy was built; threadpoolctl says more"
    np.matmul(np.ones((2, 2)), np.ones((2, 2)))
    return [
        f"{one['internal_api']} {one['version']}, {one['num_threads']} threads, {one['filepath']}"
        for one in threadpool_info()
        if one["user_api"] == "blas"
    ]


def _cache() -> dict[str, Callable[[], object]]:
    return {
        "folder": cache_folder.folder,
        "files": lambda: len(_cached()),
        "size": lambda: f"{sum(file.stat().st_size for file in _cached()) / 2**20:.1f} MiB",
        "writable": lambda: _is_writable(cache_folder.folder()),
    }


def _cached() -> list[Path]:
    return [file for file in cache_folder.folder().rglob("*") if file.is_file()]


def _is_writable(folder: Path) -> bool:
    """Whether files can be put there: into the folder, or the one that it would be made in."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _environment(variables: Mapping[str, str]) -> Findings:
    """Return what is set, and what looks as if it was meant for opspec but is not read."""
    found = {
        name: f"{variables[name]!r}: {said}"
        for name, said in VARIABLES.items()
        if name in variables
    }
    for name in sorted(variables):
        if name.startswith("OPSPEC_") and name not in VARIABLES:
            found[name] = f"{variables[name]!r}: opspec reads no variable of this name"
    return found or {"set": "none of those that opspec reads"}


def _backend(backend: Backend | None, fault: str | None) -> Findings:
    if backend is None:
        return {"can run": False, "reason": fault}
    can = backend.capabilities
    reason = backend.unavailable_reason() or _broken_kernel(backend)
    return {
        "can run": reason is None,
        **({} if reason is None else {"reason": reason}),
        "arrays": backend.arrays,
        "device": can.device,
        "operations": list(can.operations),
        **_facts(backend),
    }


def _broken_kernel(backend: Backend) -> str | None:
    """Say which kernel cannot be imported, or None. A library may be installed and broken."""
    for operation in backend.capabilities.operations:
        try:
            backend.kernel(operation)
        # As above.
        except Exception as error:
            return f"its kernel for {operation} cannot be loaded: {type(error).__name__}: {error}"
    return None


def _facts(backend: Backend) -> Findings:
    try:
        return _found(backend.facts())
    # As above.
    except Exception as error:
        return {"facts": f"cannot be found out: {type(error).__name__}: {error}"}
