"""Lanes exchanged between registers: squares transposed, and lanes added up."""

from llvmlite import ir

from opspec.backends.numba.vectors import ELEMENT, Value, shuffled

Pair = tuple[Value, Value]


def columns(builder: ir.IRBuilder, rows: list[Value]) -> list[Value]:
    """Return the columns of a square of registers.

    First inside each 16 bytes, where one instruction interleaves two registers, then by exchanging
    ever larger blocks.
    """
    inside, lanes = _elements(rows[0]), len(rows)
    run = 1
    while run < inside:
        made = list(rows)
        for start in range(0, lanes, 2 * run):
            for i in range(start, start + run):
                pair = _interleaved(builder, rows[i], rows[i + run], run)
                made[2 * i - start : 2 * i - start + 2] = pair
        rows, run = made, 2 * run
    made = list(rows)
    while run < lanes:
        for i in range(lanes):
            if not i & run:
                made[i], made[i + run] = _exchanged(builder, made[i], made[i + run], run)
        run *= 2
    return made


def added_up(builder: ir.IRBuilder, four: list[Value]) -> Value:
    """Return a vector with the sum of each of four vectors' lanes."""
    lanes = four[0].type.count
    left = builder.fadd(*_interleaved(builder, four[0], four[1], 1))
    right = builder.fadd(*_interleaved(builder, four[2], four[3], 1))
    if lanes == 2:
        return shuffled(builder, left, right, [0, 1, 2, 3])
    pair = _interleaved if _elements(left) == 4 else _exchanged
    made = builder.fadd(*pair(builder, left, right, 2))
    while lanes > 4:
        halves = (list(range(lanes // 2)), list(range(lanes // 2, lanes)))
        made = builder.fadd(*(shuffled(builder, made, made, half) for half in halves))
        lanes //= 2
    return made


def _elements(row: Value) -> int:
    """Return how many elements 16 bytes hold."""
    return 2 if row.type.element == ELEMENT[8] else 4


def _interleaved(builder: ir.IRBuilder, one: Value, other: Value, run: int) -> Pair:
    """Interleave runs of elements of two rows within each 16 bytes."""
    inside, lanes = _elements(one), one.type.count
    low: list[int] = []
    high: list[int] = []
    for start in range(0, lanes, inside):
        for half, places in ((0, low), (inside // 2, high)):
            for first in range(start + half, start + half + inside // 2, run):
                places += [first + i for i in range(run)]
                places += [lanes + first + i for i in range(run)]
    return shuffled(builder, one, other, low), shuffled(builder, one, other, high)


def _exchanged(builder: ir.IRBuilder, one: Value, other: Value, block: int) -> Pair:
    """Exchange the off-diagonal blocks of a pair of blocks of rows."""
    lanes = one.type.count
    low = [lane if not lane & block else lanes + lane - block for lane in range(lanes)]
    high = [lane + block if not lane & block else lanes + lane for lane in range(lanes)]
    return shuffled(builder, one, other, low), shuffled(builder, one, other, high)
