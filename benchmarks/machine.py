"""What a timing was taken on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")


def described(*packages: str) -> str:
    """Return the processor, its cores, and the versions of Python and of `packages`."""
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return (
        f"{_processor()}, {usable_cores()} cores usable; {platform.system()}; "
        f"Python {platform.python_version()}, {versions}"
    )


def usable_cores() -> int:
    """Return how many cores this process may use."""
    # macOS and Windows cannot say which cores a process may use.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
