"""Adding pieces: short runs of sums, several at a time, each at its own place."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from opspec.backends.numba.target import Target
from opspec.backends.numba.vectors import ELEMENT, INT64, load, repeat, store, vector

STRAIGHT_VECTORS = 2


def piece_adder(target: Target, size: int) -> Any:
    """Return the intrinsic that adds a grid of pieces of `length` sums.

    It takes the address of the first piece, the address where it is added, the bytes from one piece
    to the next in both along the grid's rows, likewise along its columns, the rows, the columns and
    `length`. There is straight code for each short length; which one is decided once per grid.
    """
    lanes = target.lanes(size)

    @intrinsic  # type: ignore[untyped-decorator]
    def added(typing, read, written, read_steps, written_steps, rows, columns, length):  # type: ignore[no-untyped-def]
        def emit(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            read, written, read_steps, written_steps, rows, columns, length = arguments
            steps = [
                [builder.extract_value(pair, place) for pair in (read_steps, written_steps)]
                for place in (0, 1)
            ]

            def add(width: int | None) -> None:
                with repeat(builder, rows) as row:
                    with repeat(builder, columns) as column:
                        at = [
                            builder.add(
                                builder.add(base, builder.mul(row.index, steps[0][side])),
                                builder.mul(column.index, steps[1][side]),
                            )
                            for side, base in enumerate((read, written))
                        ]
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
                add(width)
                builder.branch(after)
            builder.position_at_end(longer)
            add(None)
            builder.branch(after)
            builder.position_at_end(after)
            return context.get_dummy_value()

        pair = types.UniTuple(types.int64, 2)
        one = types.int64
        return types.void(one, one, pair, pair, one, one, one), emit

    return added


def _add_some(
    builder: ir.IRBuilder, at: list[ir.Value], offset: ir.Value, width: int, size: int
) -> None:
    kind = vector(ELEMENT[size], width)
    term, place = (builder.add(address, offset) for address in at)
    total = builder.fadd(load(builder, place, kind, size), load(builder, term, kind, size))
    store(builder, total, place, size)


def _add_straight(
    builder: ir.IRBuilder, at: list[ir.Value], length: int, lanes: int, size: int
) -> None:
    done = 0
    width = lanes
    while done < length:
        while width > length - done:
            width //= 2
        _add_some(builder, at, INT64(done * size), width, size)
        done += width


def _add_any(
    builder: ir.IRBuilder, at: list[ir.Value], length: ir.Value, lanes: int, size: int
) -> None:
    whole = builder.sdiv(length, INT64(lanes))
    with repeat(builder, whole) as round_:
        _add_some(builder, at, builder.mul(round_.index, INT64(lanes * size)), lanes, size)
    done = builder.mul(whole, INT64(lanes))
    with repeat(builder, builder.sub(length, done)) as round_:
        offset = builder.mul(builder.add(done, round_.index), INT64(size))
        _add_some(builder, at, offset, 1, size)
