"""Kernels that are wrong when calls overlap, when they repeat, or when another thread calls.

Each waits a moment between writing what is shared and reading it, so that calls that overlap meet
there every time and not once in a million.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, remembering
from opspec.conformance.mutants.recipe import RIGHT, Array, Kernel, Recipe, Tap, every_tap
from opspec.geometry import ConvGeometry

PAUSE = 0.001

Row = tuple[str, str, Callable[[], Kernel]]


def concurrency_mutants() -> Iterator[Mutant]:
    """Yield the family "concurrency"."""
    return remembering("concurrency", (*_shared(), *_crowded(), *_by_thread(), *_by_luck()))


def _shared() -> Iterator[Row]:
    yield (
        "scratch-shared-by-threads",
        "scratch memory that all threads share",
        _sharing_scratch,
    )
    yield (
        "operands-in-a-global",
        "operands kept in a global variable while the kernel runs",
        _keeping_the_call,
    )
    yield (
        "result-in-a-global",
        "a result kept in a global variable before it is returned",
        _keeping_the_result,
    )
    yield (
        "cache-marked-full-too-early",
        "a cache that counts as filled before it is",
        _marking_too_early,
    )
    yield (
        "data-changed-for-a-moment",
        "data changed in place while the kernel runs and restored afterwards",
        lambda: _changing_for_a_moment,
    )
    yield (
        "filter-changed-for-a-moment",
        "a filter turned round in place while the kernel runs and restored afterwards",
        lambda: _turning_for_a_moment,
    )
    yield (
        "additions-of-two-threads-lost",
        "two threads adding to the same places without waiting for each other",
        lambda: _racing,
    )


def _crowded() -> Iterator[Row]:
    for most in (2, 4):
        yield (
            f"more-than-{most}-calls-at-once",
            f"room for {most} calls at once, and zeros for those that find none",
            _with_room_for(most),
        )


def _by_thread() -> Iterator[Row]:
    yield (
        "subnormals-flushed-in-other-threads",
        "subnormal results flushed to 0 in every thread but the first",
        _flushing_elsewhere,
    )
    yield (
        "scratch-missing-in-other-threads",
        "scratch memory that only the thread has that called first",
        _missing_elsewhere,
    )


def _by_luck() -> Iterator[Row]:
    yield (
        "taps-in-random-order",
        "sums in an order that changes from call to call",
        lambda: Recipe(taps=_shuffled),
    )
    yield (
        "first-call-wrong",
        "a first call for each dtype and layout that does not wait until all is ready",
        _cold,
    )
    yield "every-third-call-wrong", "a wrong result at every third call", _every_third


def _pause() -> None:
    time.sleep(PAUSE)


def _sharing_scratch() -> Kernel:
    kept: dict[Any, Array] = {}

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        key = (out_backprop.shape, out_backprop.dtype)
        scratch = kept.setdefault(key, np.empty(out_backprop.shape, out_backprop.dtype))
        scratch[...] = out_backprop
        _pause()
        return RIGHT(geometry, filter, scratch)

    return kernel


def _keeping_the_call() -> Kernel:
    current: list[tuple[ConvGeometry, Array, Array]] = []

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        current[:] = [(geometry, filter, out_backprop)]
        _pause()
        return RIGHT(*current[0])

    return kernel


def _keeping_the_result() -> Kernel:
    current: list[Array] = []

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        current[:] = [RIGHT(geometry, filter, out_backprop)]
        _pause()
        return current[0].copy()

    return kernel


def _marking_too_early() -> Kernel:
    """Keep the data of the last call; who comes while they are copied gets those before."""
    keys: list[bytes] = [b""]
    kept: list[Array] = []

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        key = repr((geometry, out_backprop.dtype)).encode() + out_backprop.tobytes()
        if keys[0] != key:
            keys[0] = key
            _pause()
            kept[:] = [out_backprop.copy()]
        fits = kept and kept[0].shape == out_backprop.shape
        return RIGHT(geometry, filter, kept[0] if fits else np.zeros_like(out_backprop))

    return kernel


def _changing_for_a_moment(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    if not out_backprop.flags.writeable:
        return RIGHT(geometry, filter, out_backprop)
    np.negative(out_backprop, out=out_backprop)
    _pause()
    result = RIGHT(geometry, -filter, out_backprop)
    np.negative(out_backprop, out=out_backprop)
    return result


def _turning_for_a_moment(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    if not filter.flags.writeable:
        return RIGHT(geometry, filter, out_backprop)
    filter[...] = filter[::-1, ::-1, ::-1].copy()
    _pause()
    result = RIGHT(geometry, filter[::-1, ::-1, ::-1], out_backprop)
    filter[...] = filter[::-1, ::-1, ::-1].copy()
    return result


def _racing(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    """Let two threads read what is there, add half of the taps each, and write."""
    taps = every_tap(geometry)
    halves = [taps[::2], taps[1::2]]
    result = np.zeros(geometry.input_shape, filter.dtype)
    both_have_read = threading.Barrier(2)

    def add(mine: list[Tap]) -> None:
        own = Recipe(taps=lambda _: mine)(geometry, filter, out_backprop)
        found = result.copy()
        both_have_read.wait()
        with np.errstate(all="ignore"):
            result[...] = found + own

    threads = [threading.Thread(target=add, args=(half,)) for half in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return result


def _with_room_for(most: int) -> Callable[[], Kernel]:
    def make() -> Kernel:
        room = threading.Semaphore(most)

        def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
            result = RIGHT(geometry, filter, out_backprop)
            if not room.acquire(blocking=False):
                return np.zeros_like(result)
            _pause()
            room.release()
            return result

        return kernel

    return make


def _flushing_elsewhere() -> Kernel:
    first: list[int] = []

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        result = RIGHT(geometry, filter, out_backprop)
        first[:] = first or [threading.get_ident()]
        if threading.get_ident() == first[0]:
            return result
        smallest = 2.0**-14 if geometry.dtype == "float16" else 2.0**-126
        smallest = 2.0**-1022 if geometry.dtype == "float64" else smallest
        tiny = np.abs(result.astype(np.float64)) < smallest
        return np.where(tiny, result.dtype.type(0), result)

    return kernel


def _missing_elsewhere() -> Kernel:
    local = threading.local()
    first: list[int] = []

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        first[:] = first or [threading.get_ident()]
        if threading.get_ident() == first[0]:
            local.scratch = out_backprop
        return RIGHT(geometry, filter, local.scratch)

    return kernel


def _shuffled(geometry: ConvGeometry) -> list[Tap]:
    taps = every_tap(geometry)
    random.shuffle(taps)
    return taps


def _cold() -> Kernel:
    warm: set[tuple[str, str]] = set()

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        result = RIGHT(geometry, filter, out_backprop)
        kind = (geometry.dtype, geometry.data_format)
        if kind in warm:
            return result
        warm.add(kind)
        return np.zeros_like(result)

    return kernel


def _every_third() -> Kernel:
    calls: list[None] = []

    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
        calls.append(None)
        result = RIGHT(geometry, filter, out_backprop)
        return result if len(calls) % 3 else np.zeros_like(result)

    return kernel
