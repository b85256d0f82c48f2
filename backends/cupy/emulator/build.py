"""Kernels compiled for the CPU: g++ on the same source, `emulated.hpp` in CUDA's place."""

import ctypes
import hashlib
import platform
import shutil
import subprocess
import threading
from functools import cache
from pathlib import Path
from typing import Any

from opspec.backends.cupy.kernels import Kernel
from opspec.cache_folder import kept

HERE = Path(__file__).parent
COMPILER = "g++"
# Automatic variables start as garbage, so that reading one before it is written shows.
FLAGS = (
    "-std=c++17",
    "-O2",
    "-march=x86-64-v3",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-ftrivial-auto-var-init=pattern",
    "-w",
    "-shared",
    "-fPIC",
    "-pthread",
    "-DOPSPEC_EMULATED",
    f"-I{HERE}",
)
SANITIZED = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")

# How a launch gets from a list of addresses to the kernel, and what sizes it expects there.
ENTRY = """
namespace emulated { thread_local Block* block; }
template <class... A, size_t... I>
void call(void (*kernel)(A...), void* const* values, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_const_t<A>*>(values[I])...);
}
template <class... A> void call(void (*kernel)(A...), void* const* values) {
    call(kernel, values, std::index_sequence_for<A...>{});
}
template <class... A> int sizes(void (*)(A...), int* made) {
    int n = 0;
    ((made[n++] = std::is_pointer_v<A> ? -int(sizeof(A)) : int(sizeof(A))), ...);
    return n;
}
extern "C" int parameters(int* made) { return sizes(kernel, made); }
extern "C" int launch(unsigned blocks, unsigned threads, size_t shared, int order, int workers,
                      void* const* values, char* message, int room) {
    const auto body = [](const void* all) { call(kernel, static_cast<void* const*>(all)); };
    return emulated::run({blocks, threads, shared, order, workers}, body, values, message, room);
}
"""

_building = threading.Lock()


def unavailable() -> str | None:
    """Say why nothing can be emulated here, or None."""
    if platform.machine() != "x86_64":
        return f"the emulator switches stacks in x86-64 assembler; this is {platform.machine()}"
    if shutil.which(COMPILER) is None:
        return f"the emulator needs {COMPILER} (a package of that name)"
    return None


def library(kernel: Kernel, source: str | None = None, *, sanitized: bool = False) -> Any:
    """Return a kernel as a loaded library, built at the first need and kept on disk.

    Parameters
    ----------
    kernel
        Which one.
    source
        Other source than its own, for tests that plant faults.
    sanitized
        Whether undefined behaviour ends the process.
    """
    with _building:
        return _library(kernel.name, (source or kernel.source()) + ENTRY, sanitized)


@cache
def _library(name: str, source: str, sanitized: bool) -> Any:
    flags = (*FLAGS, *(SANITIZED if sanitized else ()))
    header = (HERE / "emulated.hpp").read_text("utf-8")
    digest = hashlib.sha256(repr((source, header, flags, _version())).encode()).hexdigest()
    file = f"{name}-{digest[:32]}.so"
    return ctypes.CDLL(str(kept(file, lambda to: _compile(source, flags, to))))


def _compile(source: str, flags: tuple[str, ...], to: Path) -> None:
    command = [COMPILER, *flags, "-x", "c++", "-", "-o", str(to)]
    made = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(f"{COMPILER} refuses a kernel:\n{made.stderr[:2000]}")


@cache
def _version() -> str:
    made = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True)
    return made.stdout.partition("\n")[0]
