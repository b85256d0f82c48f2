"""Kernels that raise, that end the process, and that never end: the families "crash" and "hang"."""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import RIGHT, Array, Kernel, only
from opspec.geometry import ConvGeometry

Where = Callable[[ConvGeometry], bool]
ENOUGH = 1000
# Of <fenv.h> on x86 and on Arm, where invalid is the first bit too.
INVALID = 1
WHILE = 0.01


def ending_mutants() -> Iterator[Mutant]:
    """Yield the families "crash" and "hang"."""
    yield from family_of("crash", _raising())
    for name, looks_like, ends, make in _dying():
        yield Mutant(name, "crash", looks_like, make, ends)
    for name, looks_like, make in _waiting():
        yield Mutant(name, "hang", looks_like, make, "no result")


def _raising() -> Iterator[tuple[str, str, Kernel]]:
    yield "raises-runtime-error", "a kernel that always raises", _raise(RuntimeError("not ready"))
    yield (
        "raises-memory-error",
        f"a kernel that runs out of memory above {ENOUGH} products",
        only(lambda geometry: geometry.multiply_adds > ENOUGH, _raise(MemoryError())),
    )
    yield (
        "raises-system-exit",
        "a kernel that exits by an exception",
        _raise(SystemExit(3)),
    )
    yield "raises-assertion", "a kernel with an assertion left in", _raise(AssertionError())
    for name, words, where in (
        ("ncdhw", "NCDHW", lambda geometry: geometry.data_format == "NCDHW"),
        ("dilation", "dilations", lambda geometry: geometry.dilated),
        ("bfloat16", "bfloat16", lambda geometry: geometry.dtype == "bfloat16"),
        (
            "different-strides",
            "strides that differ",
            lambda geometry: len({w.stride for w in geometry.windows}) > 1,
        ),
    ):
        yield (
            f"{name}-not-implemented",
            f"a kernel without {words}",
            only(where, _raise(NotImplementedError(f"{words} not supported"))),
        )
    yield (
        "kernel-above-size-refused",
        "an error where the kernel exceeds the size",
        only(
            lambda geometry: any(w.kernel > w.input for w in geometry.windows),
            _raise(ValueError("kernel size can't be greater than input size")),
        ),
    )
    yield "returns-nothing", "a kernel that returns nothing", _nothing
    yield "returns-a-list", "a kernel that returns lists", _lists


def _dying() -> Iterator[tuple[str, str, str, Callable[[], Kernel]]]:
    for name, looks_like, ends, end in (
        ("segmentation-fault", "memory read that is not there", "SIGSEGV", _segmentation_fault),
        ("abort", "an assertion of a C library that fails", "SIGABRT", os.abort),
        ("silent-exit", "a process that exits as if all were well", "exit code 0", _exit),
        ("floating-point-trap", "a trap for invalid operations left on", "SIGFPE", _trap),
        ("out-of-memory-kill", "a process killed for its memory", "SIGKILL", _killed),
    ):
        yield name, looks_like, ends, _ending(end)
    yield (
        "division-by-zero-channels",
        "an integer division by the number of channels, which is 0",
        "SIGFPE",
        _ending(_trap, where=lambda geometry: geometry.out_channels == 0),
    )
    yield (
        "segmentation-fault-without-positions",
        "memory read that is not there where no window fits",
        "SIGSEGV",
        _ending(
            _segmentation_fault,
            where=lambda geometry: any(window.output == 0 for window in geometry.windows),
        ),
    )


def _waiting() -> Iterator[tuple[str, str, Callable[[], Kernel]]]:
    yield "endless-loop", "a loop that never ends", _ending(_wait_forever)
    yield (
        "endless-loop-for-strides-above-the-kernel",
        "a loop that never ends where a stride exceeds the kernel",
        _ending(
            _wait_forever,
            where=lambda geometry: any(w.stride > w.kernel for w in geometry.windows),
        ),
    )
    yield "deadlock", "a lock that is waited for by who holds it", _locking_twice
    yield (
        "lock-never-given-back",
        "a lock that an early return does not give back",
        _keeping_the_lock,
    )


def _raise(error: BaseException) -> Kernel:
    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        raise error

    return kernel


def _nothing(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Any:
    RIGHT(geometry, filter, out_backprop)


def _lists(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Any:
    return RIGHT(geometry, filter, out_backprop).tolist()


def _ending(
    end: Callable[[], object], where: Where = lambda geometry: True
) -> Callable[[], Kernel]:
    def make() -> Kernel:
        def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
            if where(geometry):
                end()
            return RIGHT(geometry, filter, out_backprop)

        return kernel

    return make


def _segmentation_fault() -> None:
    ctypes.string_at(0)


def _exit() -> NoReturn:
    os._exit(0)


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _trap() -> None:
    """Divide 0 by 0 with the trap on; where there is none, do as it would."""
    try:
        ctypes.CDLL("libm.so.6").feenableexcept(INVALID)
        ctypes.CDLL("libm.so.6").fmod.restype = ctypes.c_double
        float("inf") * 0.0
    except (OSError, AttributeError):
        pass
    os.kill(os.getpid(), signal.SIGFPE)


def _wait_forever() -> NoReturn:
    while True:
        time.sleep(WHILE)


def _locking_twice() -> Kernel:
    lock = threading.Lock()

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        with lock, lock:
            return RIGHT(geometry, filter, out_backprop)

    return kernel


def _keeping_the_lock() -> Kernel:
    """Give the lock back only where there is something to compute."""
    lock = threading.Lock()

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        lock.acquire()
        result = RIGHT(geometry, filter, out_backprop)
        if geometry.empty:
            return result
        lock.release()
        return result

    return kernel
