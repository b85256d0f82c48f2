"""The innermost loops for few positions: sums along the source channels.

A tile is `rows` positions x MADE made channels. One tap adds to it

    sums[i][c] += sum over e < channels of row[i][e] * line[c][e]

where line[c] is a part of the filter as it lies in memory. Each sum is a vector of partial sums,
over every `lanes`-th element; they wait in memory between taps, while other tiles meet the same
part of the filter, and are added up at the end. That costs as much as some more elements would, and
spares packing, which is more than everything else together if each element of the filter is used
only a few times. A sum has one order, whatever tile it falls into.
"""

from typing import Any

from llvmlite import ir
from numba import types

from opspec.backends.numba.jit import intrinsic
from opspec.backends.numba.lines import STORED_BYTES, stored_kind, sum_bytes, widened
from opspec.backends.numba.shuffles import added_up
from opspec.backends.numba.target import Target
from opspec.backends.numba.vectors import (
    ELEMENT,
    INT64,
    Value,
    load,
    load_lanes,
    multiply_add,
    repeat,
    shifted,
    store,
    store_lanes,
    variables,
    vector,
)

MADE = 4


def rows_of(target: Target) -> int:
    """Return the positions of a tile, which has as many sums as one of the other micro-kernel."""
    return target.rows * target.vectors // MADE


def dot_tile(target: Target, stored: str) -> Any:
    """Return the intrinsic that adds what one tap brings to one tile.

    It takes the address of the rows' addresses (int64[rows]), a byte offset into each, the address
    of the filter's first line, the bytes to the next, how many of MADE lines exist, the elements,
    and the address of the sums (vector[rows][MADE]); whether this is the first tap and whether it
    is the last one; and the address of the results' addresses (int64[rows]) and a byte offset.
    """
    size = sum_bytes(stored)
    sum_kind = vector(ELEMENT[size], target.lanes(size))
    rows = rows_of(target)

    @intrinsic
    def tiled(
        typing,
        reads,
        at_row,
        filter,
        step,
        existing,
        channels,
        kept,
        first,
        last,
        writes,
        at_result,
    ):
        def emit(context, builder, signature, arguments):
            reads, at_row, filter, step, existing, channels, kept, *others = arguments
            first, last, writes, at_result = others
            starts = [
                builder.add(load(builder, shifted(builder, reads, 8 * row), INT64, 8), at_row)
                for row in range(rows)
            ]
            lines = _lines(builder, filter, step, existing)
            places = [
                shifted(builder, kept, place * target.vector_bytes) for place in range(rows * MADE)
            ]
            sums = variables(builder, sum_kind, rows * MADE)
            with builder.if_then(builder.not_(first)):
                for place, chain in zip(places, sums, strict=True):
                    builder.store(load(builder, place, sum_kind, size), chain)
            _add_products(builder, target, stored, (starts, lines, channels), sums)
            with builder.if_else(last) as (done, unfinished):
                with done:
                    for row in range(rows):
                        place = load(builder, shifted(builder, writes, 8 * row), INT64, 8)
                        of_row = sums[row * MADE : (row + 1) * MADE]
                        _store_row(builder, of_row, builder.add(place, at_result), existing, size)
                with unfinished:
                    for place, chain in zip(places, sums, strict=True):
                        store(builder, builder.load(chain), place, size)
            return context.get_dummy_value()

        taken = [*[types.int64] * 7, types.boolean, types.boolean, types.int64, types.int64]
        return types.void(*taken), emit

    return tiled


def _lines(builder: ir.IRBuilder, filter: Value, step: Value, existing: Value) -> list[Value]:
    """Return where lines begin; those that do not exist are the last one that does."""
    last = builder.sub(existing, INT64(1))
    lines = [filter]
    for made in range(1, MADE):
        exists = builder.icmp_signed("<", INT64(made), existing)
        line = builder.select(exists, INT64(made), last)
        lines.append(builder.add(filter, builder.mul(line, step)))
    return lines


def _store_row(
    builder: ir.IRBuilder, sums: list[Value], place: Value, existing: Value, size: int
) -> None:
    """Add up the sums of one position and store those that exist."""
    total = added_up(builder, [builder.load(chain) for chain in sums])
    whole = builder.icmp_signed("==", existing, INT64(MADE))
    with builder.if_else(whole) as (all_exist, some_exist):
        with all_exist:
            store(builder, total, place, size)
        with some_exist:
            store_lanes(builder, total, place, size, (INT64(0), existing))


def _add_products(
    builder: ir.IRBuilder,
    target: Target,
    stored: str,
    operands: tuple[list[Value], list[Value], Value],
    sums: list[Value],
) -> None:
    """Add the products of all rows and lines to their sums."""
    starts, lines, channels = operands
    size = sum_bytes(stored)
    lanes = target.lanes(size)
    sum_kind = vector(ELEMENT[size], lanes)
    filter_kind = vector(stored_kind(stored), lanes)
    whole = builder.sdiv(channels, INT64(lanes))
    rest = builder.srem(channels, INT64(lanes))

    def step(index: Value, fetch: Any) -> None:
        def fetched(place: Value, kind: ir.Type, itemsize: int) -> Value:
            offset = builder.mul(index, INT64(lanes * itemsize))
            return fetch(builder.add(place, offset), kind, itemsize)

        rows = [fetched(start, sum_kind, size) for start in starts]
        for made, line in enumerate(lines):
            values = fetched(line, filter_kind, STORED_BYTES[stored])
            values = widened(builder, target, stored, values)
            for row, chain in zip(rows, sums[made::MADE], strict=True):
                total = multiply_add(builder, row, values, builder.load(chain), target.fused)
                builder.store(total, chain)

    with repeat(builder, whole) as round_:
        step(round_.index, lambda place, kind, align: load(builder, place, kind, align))
    with builder.if_then(builder.icmp_signed("!=", rest, INT64(0))):
        step(whole, lambda place, kind, align: load_lanes(builder, place, kind, align, rest))
