"""The innermost loops: one tile of sums, kept in registers from the first tap to the last.

A tile is ``rows`` positions x ``vectors`` * lanes made channels:

    sums[i][l] = sum over segments s, elements e < length[s] of
                 row[i][at_row[s] + e] * panel[line[s] + e][l]

A segment is a run of memory in which a row of the source and the panel advance together: the
source channels of one tap, or of several taps that are neighbours along the width. Each element of
a row is broadcast to all lanes, and multiplies `vectors` vectors of the panel; `rows` * `vectors`
independent chains of multiply-adds hide each one's latency. Every sum has one order, whatever tile
it falls into, and each result is stored once and never read.
"""

from typing import Any

from llvmlite import ir
from numba import types

from opspec.backends.numba.jit import intrinsic
from opspec.backends.numba.target import Target
from opspec.backends.numba.vectors import (
    ELEMENT,
    INT64,
    Value,
    at,
    load,
    multiply_add,
    repeat,
    shifted,
    splat,
    store,
    store_around_cache,
    store_lanes,
    variables,
    vector,
)

WHOLE, LANES, AROUND_CACHE = 0, 1, 2
SEGMENT_BYTES = 24
UNROLLED = 8


def tile(target: Target, itemsize: int, vectors: int) -> Any:
    """Return the intrinsic for one tile of `vectors` vectors.

    It takes addresses of the rows' addresses (int64[rows]) in the source and in the result, a byte
    offset into the latter, the panel's address, the segments (int64[count][3]: byte offset in the
    row, line of the panel, elements), how to store, and which lanes with LANES.
    """
    width = target.lanes(itemsize)
    wide = vector(ELEMENT[itemsize], width)

    @intrinsic
    def tiled(typing, rows, places, offset, panel, segments, count, how, first, stop):
        def emit(context, builder, signature, arguments):
            rows, places, offset, panel, segments, count, how, first, stop = arguments
            starts = [
                load(builder, shifted(builder, rows, 8 * row), INT64, 8)
                for row in range(target.rows)
            ]
            sums = [variables(builder, wide, vectors) for _ in starts]
            with repeat(builder, count) as round_:
                segment = builder.add(segments, builder.mul(round_.index, INT64(SEGMENT_BYTES)))
                _add_segment(builder, target, itemsize, (starts, panel, segment), sums)
            where = [
                builder.add(load(builder, shifted(builder, places, 8 * row), INT64, 8), offset)
                for row in range(target.rows)
            ]
            _store_tile(builder, sums, where, how, (first, stop), itemsize)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 9), emit

    return tiled


def _add_segment(
    builder: ir.IRBuilder,
    target: Target,
    itemsize: int,
    operands: tuple[list[Value], Value, Value],
    sums: list[list[Value]],
) -> None:
    """Add what one segment contributes to all sums of the tile."""
    starts, panel, segment = operands
    at_row, line, length = (
        load(builder, shifted(builder, segment, offset), INT64, 8) for offset in (0, 8, 16)
    )
    element, lanes = ELEMENT[itemsize], target.lanes(itemsize)
    vectors = len(sums[0])
    rows = [at(builder, builder.add(start, at_row), element) for start in starts]
    at_panel = builder.mul(line, INT64(vectors * target.vector_bytes))
    base = at(builder, builder.add(panel, at_panel), element)

    def step(index: Value) -> None:
        line = builder.gep(base, [builder.mul(index, INT64(vectors * lanes))])
        kind = vector(element, lanes).as_pointer()
        made = [
            builder.load(
                builder.bitcast(builder.gep(line, [INT64(j * lanes)]), kind), align=itemsize
            )
            for j in range(vectors)
        ]
        for row, chains in zip(rows, sums, strict=True):
            broadcast = splat(builder, builder.load(builder.gep(row, [index])), lanes)
            for one, chain in zip(made, chains, strict=True):
                total = multiply_add(builder, broadcast, one, builder.load(chain), target.fused)
                builder.store(total, chain)

    whole = builder.sdiv(length, INT64(UNROLLED))
    with repeat(builder, whole) as round_:
        first = builder.mul(round_.index, INT64(UNROLLED))
        for part in range(UNROLLED):
            step(builder.add(first, INT64(part)))
    done = builder.mul(whole, INT64(UNROLLED))
    with repeat(builder, builder.sub(length, done)) as round_:
        step(builder.add(done, round_.index))


def _store_tile(
    builder: ir.IRBuilder,
    sums: list[list[Value]],
    where: list[Value],
    how: Value,
    bounds: tuple[Value, Value],
    itemsize: int,
) -> None:
    lanes = sums[0][0].type.pointee.count
    spots = [
        (builder.load(chain), shifted(builder, place, j * lanes * itemsize), j * lanes)
        for place, chains in zip(where, sums, strict=True)
        for j, chain in enumerate(chains)
    ]
    after = builder.append_basic_block("stored")
    ways = {how_: builder.append_basic_block() for how_ in (WHOLE, LANES, AROUND_CACHE)}
    switch = builder.switch(how, ways[WHOLE])
    for number, block in ways.items():
        switch.add_case(INT64(number), block)
        builder.position_at_end(block)
        for value, address, lane in spots:
            if number == WHOLE:
                store(builder, value, address, itemsize)
            elif number == AROUND_CACHE:
                store_around_cache(builder, value, address)
            else:
                first, stop = (builder.sub(bound, INT64(lane)) for bound in bounds)
                store_lanes(builder, value, address, itemsize, (first, stop))
        builder.branch(after)
    builder.position_at_end(after)
