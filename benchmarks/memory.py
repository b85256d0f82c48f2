"""What a process holds, from Linux's /proc; other systems cannot say it."""

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
MEMORY = Path("/proc/meminfo")
FORGET_THE_PEAK = "5"


def peak_bytes(call: Callable[[], Any]) -> int | None:
    """Return by how much `call` raised the most that this process held; None where unknown.

    The operands are held already, so they do not count; the result does. Memory that a library
    keeps from earlier calls does not count either.
    """
    gc.collect()
    try:
        # Freed memory that the C library still holds would hide what the call takes.
        ctypes.CDLL(None).malloc_trim(0)
        CLEAR.write_text(FORGET_THE_PEAK)
    except (AttributeError, OSError):
        return None
    before = _entry(STATUS, "VmRSS")
    call()
    return max(_entry(STATUS, "VmHWM") - before, 0)


def available_bytes() -> int | None:
    """Return how much memory new work can have; None where unknown."""
    return _entry(MEMORY, "MemAvailable") if MEMORY.exists() else None


def _entry(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"{file} has no {name}")
