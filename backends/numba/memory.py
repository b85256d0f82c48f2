"""Single accesses to memory by address, for the loops that are written in Python."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from opspec.backends.numba.jit import intrinsic
from opspec.backends.numba.vectors import ELEMENT, INT8, INT32, INT64, at, declared, load, store

CACHE_LINE = 64


@intrinsic
def take(typing, counter):
    """Return the int64 at address `counter` and add 1 to it, as one step for all threads."""

    def emit(context, builder, signature, arguments):
        return builder.atomic_rmw("add", at(builder, arguments[0], INT64), INT64(1), "monotonic")

    return types.int64(types.int64), emit


@intrinsic
def load_int(typing, address):
    """Return the int64 at `address`."""

    def emit(context, builder, signature, arguments):
        return load(builder, arguments[0], INT64, 8)

    return types.int64(types.int64), emit


@intrinsic
def store_int(typing, address, value):
    """Store an int64."""

    def emit(context, builder, signature, arguments):
        store(builder, arguments[1], arguments[0], 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@intrinsic
def prefetch(typing, address):
    """Ask for the cache line at `address`, which may be any number."""

    def emit(context, builder, signature, arguments):
        kinds = [INT8.as_pointer(), INT32, INT32, INT32]
        function = declared(builder, "llvm.prefetch.p0", ir.VoidType(), kinds)
        place = at(builder, arguments[0], INT8)
        builder.call(function, [place, INT32(0), INT32(3), INT32(1)])
        return context.get_dummy_value()

    return types.void(types.int64), emit


@intrinsic
def clear(typing, address, count):
    """Make `count` bytes zero."""

    def emit(context, builder, signature, arguments):
        cgutils.memset(builder, at(builder, arguments[0], INT8), arguments[1], 0)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


def sums_at(size: int) -> tuple[Any, Any]:
    """Return the intrinsics that load and store one sum of `size` bytes."""
    kind = types.float64 if size == 8 else types.float32

    @intrinsic
    def load_sum(typing, address):
        def emit(context, builder, signature, arguments):
            return load(builder, arguments[0], ELEMENT[size], size)

        return kind(types.int64), emit

    @intrinsic
    def store_sum(typing, address, value):
        def emit(context, builder, signature, arguments):
            store(builder, arguments[1], arguments[0], size)
            return context.get_dummy_value()

        return types.void(types.int64, kind), emit

    return load_sum, store_sum
