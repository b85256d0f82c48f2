"""Adding pieces: short runs of sums, one after the other, each at its own place."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from opspec.backends.numba.target import Target
from opspec.backends.numba.vectors import ELEMENT, INT64, each, load, repeat, store, vector

STRAIGHT_VECTORS = 2


def piece_adder(target: Target, size: int) -> Any:
    """Return the intrinsic that adds `count` pieces of `length` sums.

    It takes the addresses of the first piece and of where it is added, the bytes from each to the
    next, `count`, `apart` and `length`. Every `apart`-th piece is added, then every `apart`-th from
    the second on, and so on: a load that overlaps a store just made has to wait for it. There is
    straight code for each short length; which one is decided once for all pieces.
    """
    lanes = target.lanes(size)

    @intrinsic  # type: ignore[untyped-decorator]
    def added(typing, read, written, read_step, write_step, count, apart, length):  # type: ignore[no-untyped-def]
        def emit(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            read, written, read_step, write_step, count, apart, length = arguments

            def add_all(width: int | None) -> None:
                with (
                    repeat(builder, apart) as first,
                    each(builder, first.index, count, apart) as piece,
                ):
                    at = (
                        builder.add(read, builder.mul(piece, read_step)),
                        builder.add(written, builder.mul(piece, write_step)),
                    )
                    if width is None:
                        _add_any(builder, at, length, lanes, size)
                    else:
                        _add_straight(builder, at, width, lanes, size)

            after = builder.append_basic_block("added")
            longer = builder.append_basic_block("longer")
            switch = builder.switch(length, longer)
            for width in range(1, STRAIGHT_VECTORS * lanes + 1):
                block = builder.append_basic_block()
                switch.add_case(INT64(width), block)
                builder.position_at_end(block)
                add_all(width)
                builder.branch(after)
            builder.position_at_end(longer)
            add_all(None)
            builder.branch(after)
            builder.position_at_end(after)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7), emit

    return added


Places = tuple[ir.Value, ir.Value]


def _add_some(builder: ir.IRBuilder, at: Places, offset: ir.Value, width: int, size: int) -> None:
    kind = vector(ELEMENT[size], width)
    term, place = (builder.add(address, offset) for address in at)
    total = builder.fadd(load(builder, place, kind, size), load(builder, term, kind, size))
    store(builder, total, place, size)


def _add_straight(builder: ir.IRBuilder, at: Places, length: int, lanes: int, size: int) -> None:
    done = 0
    width = lanes
    while done < length:
        while width > length - done:
            width //= 2
        _add_some(builder, at, INT64(done * size), width, size)
        done += width


def _add_any(
    builder: ir.IRBuilder, at: Places, length: ir.Value, lanes: int, size: int
) -> None:
    whole = builder.sdiv(length, INT64(lanes))
    with repeat(builder, whole) as round_:
        _add_some(builder, at, builder.mul(round_.index, INT64(lanes * size)), lanes, size)
    done = builder.mul(whole, INT64(lanes))
    with repeat(builder, builder.sub(length, done)) as round_:
        offset = builder.mul(builder.add(done, round_.index), INT64(size))
        _add_some(builder, at, offset, 1, size)
