"""Copying between what is stored and what is computed on: converted, and transposed on the way.

What is stored is float16, bfloat16, float32 or float64; sums are float32, or float64 for float64. A
square of lanes x lanes elements is transposed in registers, so that reading and writing are both by
whole vectors.
"""

from typing import Any

from llvmlite import ir
from numba import types

from opspec.backends.numba.jit import intrinsic
from opspec.backends.numba.shuffles import columns
from opspec.backends.numba.target import Target
from opspec.backends.numba.vectors import (
    ELEMENT,
    FLOAT,
    INT16,
    INT32,
    INT64,
    Value,
    constant,
    load,
    repeat,
    store,
    vector,
)

STORED_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def sum_bytes(stored: str) -> int:
    """Return the bytes of one sum for what is stored."""
    return 8 if stored == "float64" else 4


def square(target: Target, stored: str, outwards: bool) -> Any:
    """Return the intrinsic that transposes a square.

    It takes the address of the rows' addresses (int64[lanes]), a byte offset into each row, the
    address of the first row written and the bytes from it to the next. Inwards it reads what is
    stored and writes sums; outwards the other way round.
    """
    lanes = target.lanes(sum_bytes(stored))

    @intrinsic
    def transposed(typing, rows, offset, written, step):
        def emit(context, builder, signature, arguments):
            rows, offset, written, step = arguments
            read = [
                builder.add(load(builder, builder.add(rows, INT64(8 * i)), INT64, 8), offset)
                for i in range(lanes)
            ]
            fetch = _load_sums if outwards else _load_stored
            found = [fetch(builder, target, stored, address, lanes) for address in read]
            put = _store_stored if outwards else _store_sums
            for i, value in enumerate(columns(builder, found)):
                put(
                    builder,
                    target,
                    stored,
                    value,
                    builder.add(written, builder.mul(step, INT64(i))),
                )
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), emit

    return transposed


def run(target: Target, stored: str, outwards: bool) -> Any:
    """Return the intrinsic that copies `count` elements from one address to another."""
    lanes = target.lanes(sum_bytes(stored))
    from_bytes, to_bytes = STORED_BYTES[stored], sum_bytes(stored)
    if outwards:
        from_bytes, to_bytes = to_bytes, from_bytes

    @intrinsic
    def copied(typing, read, written, count):
        def emit(context, builder, signature, arguments):
            read, written, count = arguments
            fetch = _load_sums if outwards else _load_stored
            put = _store_stored if outwards else _store_sums

            def copy(first: Value, width: int) -> None:
                source = builder.add(read, builder.mul(first, INT64(from_bytes)))
                value = fetch(builder, target, stored, source, width)
                goal = builder.add(written, builder.mul(first, INT64(to_bytes)))
                put(builder, target, stored, value, goal)

            whole = builder.sdiv(count, INT64(lanes))
            with repeat(builder, whole) as round_:
                copy(builder.mul(round_.index, INT64(lanes)), lanes)
            done = builder.mul(whole, INT64(lanes))
            with repeat(builder, builder.sub(count, done)) as round_:
                copy(builder.add(done, round_.index), 1)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), emit

    return copied


def element(target: Target, stored: str, outwards: bool) -> Any:
    """Return the intrinsic that copies one element from one address to another."""

    @intrinsic
    def copied(typing, read, written):
        def emit(context, builder, signature, arguments):
            fetch = _load_sums if outwards else _load_stored
            put = _store_stored if outwards else _store_sums
            put(
                builder,
                target,
                stored,
                fetch(builder, target, stored, arguments[0], 1),
                arguments[1],
            )
            return context.get_dummy_value()

        return types.void(*[types.int64] * 2), emit

    return copied


def _load_sums(
    builder: ir.IRBuilder, target: Target, stored: str, address: Value, lanes: int
) -> Value:
    size = sum_bytes(stored)
    return load(builder, address, vector(ELEMENT[size], lanes), size)


def _store_sums(
    builder: ir.IRBuilder, target: Target, stored: str, value: Value, address: Value
) -> None:
    store(builder, value, address, sum_bytes(stored))


def stored_kind(stored: str) -> ir.Type:
    """Return the type of one element as it is loaded; halves are loaded as bits."""
    size = STORED_BYTES[stored]
    return ELEMENT[size] if size >= 4 else INT16


def widened(builder: ir.IRBuilder, target: Target, stored: str, values: Value) -> Value:
    """Convert a vector of what was loaded to the type of the sums."""
    if values.type.element != INT16:
        return values
    lanes = values.type.count
    if stored == "bfloat16":
        wide: Value = builder.zext(values, vector(INT32, lanes))
        shifted = builder.shl(wide, constant(wide.type, [16] * lanes))
        return builder.bitcast(shifted, vector(FLOAT, lanes))
    if target.converts_half:
        half = builder.bitcast(values, vector(ir.HalfType(), lanes))
        return builder.fpext(half, vector(FLOAT, lanes))
    return _half_to_float(builder, values)


def _load_stored(
    builder: ir.IRBuilder, target: Target, stored: str, address: Value, lanes: int
) -> Value:
    kind = vector(stored_kind(stored), lanes)
    return widened(builder, target, stored, load(builder, address, kind, STORED_BYTES[stored]))


def _store_stored(
    builder: ir.IRBuilder, target: Target, stored: str, value: Value, address: Value
) -> None:
    """Store sums rounded to the nearest, ties to even."""
    size, lanes = STORED_BYTES[stored], value.type.count
    if stored == "bfloat16":
        value = _float_to_bfloat(builder, value)
    elif stored == "float16" and target.converts_half:
        half: Value = builder.fptrunc(value, vector(ir.HalfType(), lanes))
        value = builder.bitcast(half, vector(INT16, lanes))
    elif stored == "float16":
        value = _float_to_half(builder, value)
    store(builder, value, address, size)


def _float_to_bfloat(builder: ir.IRBuilder, value: Value) -> Value:
    lanes = value.type.count
    of = _constants(lanes)
    bits = builder.bitcast(value, vector(INT32, lanes))
    odd = builder.and_(builder.lshr(bits, of(16)), of(1))
    rounded = builder.lshr(builder.add(bits, builder.add(of(0x7FFF), odd)), of(16))
    quiet = builder.or_(builder.lshr(bits, of(16)), of(0x40))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.trunc(builder.select(is_nan, quiet, rounded), vector(INT16, lanes))


def _half_to_float(builder: ir.IRBuilder, bits: Value) -> Value:
    """Convert without an instruction for it: rebias the exponent, then mend its two ends."""
    lanes = bits.type.count
    of = _constants(lanes)
    wide = builder.zext(bits, vector(INT32, lanes))
    sign = builder.shl(builder.and_(wide, of(0x8000)), of(16))
    moved = builder.shl(builder.and_(wide, of(0x7FFF)), of(13))
    exponent = builder.and_(moved, of(0x7C00 << 13))
    normal = builder.add(moved, of(112 << 23))
    infinite = builder.add(normal, of(112 << 23))
    kind = vector(FLOAT, lanes)
    smallest = builder.bitcast(of(113 << 23), kind)
    subnormal = builder.fsub(builder.bitcast(builder.add(normal, of(1 << 23)), kind), smallest)
    value = builder.select(
        builder.icmp_unsigned("==", exponent, of(0x7C00 << 13)), infinite, normal
    )
    value = builder.select(
        builder.icmp_unsigned("==", exponent, of(0)),
        builder.bitcast(subnormal, vector(INT32, lanes)),
        value,
    )
    return builder.bitcast(builder.or_(value, sign), kind)


def _float_to_half(builder: ir.IRBuilder, value: Value) -> Value:
    """Convert without an instruction for it; subnormals are rounded by a float addition."""
    lanes = value.type.count
    of = _constants(lanes)
    kind = vector(FLOAT, lanes)
    bits = builder.bitcast(value, vector(INT32, lanes))
    size = builder.and_(bits, of(0x7FFFFFFF))
    odd = builder.and_(builder.lshr(size, of(13)), of(1))
    moved = builder.sub(builder.add(builder.add(size, of(0xFFF)), odd), of(112 << 23))
    normal = builder.lshr(moved, of(13))
    magic = of(126 << 23)
    summed = builder.fadd(builder.bitcast(size, kind), builder.bitcast(magic, kind))
    subnormal = builder.sub(builder.bitcast(summed, vector(INT32, lanes)), magic)
    large = builder.select(builder.icmp_unsigned(">", size, of(255 << 23)), of(0x7E00), of(0x7C00))
    small = builder.icmp_unsigned("<", size, of(113 << 23))
    found = builder.select(small, subnormal, normal)
    found = builder.select(builder.icmp_unsigned(">=", size, of(143 << 23)), large, found)
    sign = builder.and_(builder.lshr(bits, of(16)), of(0x8000))
    return builder.trunc(builder.or_(found, sign), vector(INT16, lanes))


def _constants(lanes: int) -> Any:
    def of(number: int) -> ir.Constant:
        return constant(vector(INT32, lanes), [number] * lanes)

    return of
