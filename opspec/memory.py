"""How much memory this process could ever have, so that impossible sizes fail before allocation."""

import os
from functools import cache
from pathlib import Path

_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


@cache
def total_memory() -> int | None:
    """Return the bytes of physical memory, or of the container's limit; None if not known."""
    limits = [_physical_memory(), *map(_container_limit, _CGROUP_LIMITS)]
    return min((limit for limit in limits if limit is not None), default=None)


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # Windows has no sysconf; some systems do not know these two names.
    except (AttributeError, ValueError, OSError):
        return None


def _container_limit(file: Path) -> int | None:
    try:
        return int(file.read_text())
    # No such file outside a container; "max" inside one without a limit.
    except (OSError, ValueError):
        return None
