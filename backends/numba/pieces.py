"""Pieces: short runs of sums that are added where they land."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from opspec.backends.numba.jit import intrinsic
from opspec.backends.numba.target import Target
from opspec.backends.numba.vectors import (
    ELEMENT,
    INT64,
    Value,
    each,
    load,
    multiply_add,
    repeat,
    shifted,
    splat,
    store,
    variables,
    vector,
)

STRAIGHT_VECTORS = 2


def piece_adder(target: Target, size: int) -> Any:
    """Return the intrinsic that adds `count` pieces of `length` sums.

    It takes the addresses of the first piece and of where it is added, the bytes from each to the
    next, `count`, `apart` and `length`. Every `apart`-th piece is added, then every `apart`-th from
    the second on, and so on: a load that overlaps a store just made has to wait for it. There is
    straight code for each short length; which one is decided once for all pieces.
    """
    lanes = target.lanes(size)

    @intrinsic
    def added(typing, read, written, read_step, write_step, count, apart, length):
        def emit(context, builder, signature, arguments):
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


def piece_spreader(target: Target, size: int) -> Any:
    """Return the intrinsic that makes one piece and adds it where it lands.

    It takes the address of the piece's place, of the factors (`channels` of them), of the panel's
    first line, the bytes from one line to the next, `channels`, and the length of the piece:

        place[l] += sum over j of factor[j] * line[j][l]
    """
    lanes = target.lanes(size)

    @intrinsic
    def spread(typing, place, factors, panel, line_bytes, channels, length):
        def emit(context, builder, signature, arguments):
            place, factors, panel, line_bytes, channels, length = arguments

            def add_piece(offset: Value, width: int) -> None:
                runs = _runs(width, lanes)
                to = builder.add(place, offset)
                made = []
                for first, run in runs:
                    kind = vector(ELEMENT[size], run)
                    (chain,) = variables(builder, kind, 1)
                    at_run = shifted(builder, to, first * size)
                    builder.store(load(builder, at_run, kind, size), chain)
                    made.append((chain, at_run, first * size))
                with repeat(builder, channels) as round_:
                    at_factor = builder.add(factors, builder.mul(round_.index, INT64(size)))
                    factor = load(builder, at_factor, ELEMENT[size], size)
                    line = builder.add(panel, builder.mul(round_.index, line_bytes))
                    line = builder.add(line, offset)
                    for chain, _, shift in made:
                        sums = builder.load(chain)
                        term = load(builder, shifted(builder, line, shift), sums.type, size)
                        wide = splat(builder, factor, sums.type.count)
                        total = multiply_add(builder, wide, term, sums, target.fused)
                        builder.store(total, chain)
                for chain, at_run, _ in made:
                    store(builder, builder.load(chain), at_run, size)

            _for_length(builder, length, STRAIGHT_VECTORS * lanes, size, add_piece)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), emit

    return spread


def _for_length(
    builder: ir.IRBuilder,
    length: Value,
    longest: int,
    size: int,
    emit: Callable[[Value, int], None],
) -> None:
    """Emit straight code for each length up to `longest`; longer pieces are cut into such."""
    whole = builder.sdiv(length, INT64(longest))
    with repeat(builder, whole) as round_:
        emit(builder.mul(round_.index, INT64(longest * size)), longest)
    offset = builder.mul(whole, INT64(longest * size))
    after = builder.append_basic_block("done")
    switch = builder.switch(builder.srem(length, INT64(longest)), after)
    for width in range(1, longest):
        block = builder.append_basic_block()
        switch.add_case(INT64(width), block)
        builder.position_at_end(block)
        emit(offset, width)
        builder.branch(after)
    builder.position_at_end(after)


def _runs(length: int, lanes: int) -> list[tuple[int, int]]:
    """Cut a length into vectors, the widest first: where each begins and its lanes."""
    found = []
    done, width = 0, lanes
    while done < length:
        while width > length - done:
            width //= 2
        found.append((done, width))
        done += width
    return found


Places = tuple[Value, Value]


def _add_some(builder: ir.IRBuilder, at: Places, offset: Value, width: int, size: int) -> None:
    kind = vector(ELEMENT[size], width)
    term, place = (builder.add(address, offset) for address in at)
    total = builder.fadd(load(builder, place, kind, size), load(builder, term, kind, size))
    store(builder, total, place, size)


def _add_straight(builder: ir.IRBuilder, at: Places, length: int, lanes: int, size: int) -> None:
    for first, width in _runs(length, lanes):
        _add_some(builder, at, INT64(first * size), width, size)


def _add_any(builder: ir.IRBuilder, at: Places, length: Value, lanes: int, size: int) -> None:
    whole = builder.sdiv(length, INT64(lanes))
    with repeat(builder, whole) as round_:
        _add_some(builder, at, builder.mul(round_.index, INT64(lanes * size)), lanes, size)
    done = builder.mul(whole, INT64(lanes))
    with repeat(builder, builder.sub(length, done)) as round_:
        offset = builder.mul(builder.add(done, round_.index), INT64(size))
        _add_some(builder, at, offset, 1, size)
