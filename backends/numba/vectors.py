"""Words for writing vector code in LLVM's IR: Numba does not keep a tile of sums in registers.

LLVM does not promote a Numba array to vector registers, so the innermost loops are emitted here as
intrinsics. Addresses are int64 and offsets are in bytes everywhere.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import cgutils

# Values have attributes that depend on their types, which no type checker knows.
Value: TypeAlias = Any

INT64 = ir.IntType(64)
INT32 = ir.IntType(32)
INT16 = ir.IntType(16)
INT8 = ir.IntType(8)
BOOL = ir.IntType(1)
FLOAT = ir.FloatType()
ELEMENT = {4: FLOAT, 8: ir.DoubleType()}
_SUFFIX = {"float": "f32", "double": "f64", "i16": "i16"}


def vector(element: ir.Type, lanes: int) -> ir.VectorType:
    """Return the type of `lanes` elements."""
    return ir.VectorType(element, lanes)


def constant(kind: ir.VectorType, values: Iterable[Any]) -> ir.Constant:
    """Return a constant vector."""
    return ir.Constant(kind, list(values))


def at(builder: ir.IRBuilder, address: Value, kind: ir.Type) -> Value:
    """Return a pointer to a `kind` at `address`."""
    return builder.inttoptr(address, kind.as_pointer())


def shifted(builder: ir.IRBuilder, address: Value, offset: int) -> Value:
    """Return `address` + `offset`."""
    return builder.add(address, INT64(offset)) if offset else address


def load(builder: ir.IRBuilder, address: Value, kind: ir.Type, align: int) -> Value:
    """Return the `kind` at `address`."""
    return builder.load(at(builder, address, kind), align=align)


def store(builder: ir.IRBuilder, value: Value, address: Value, align: int) -> Value:
    """Store `value` at `address`."""
    return builder.store(value, at(builder, address, value.type), align=align)


def splat(builder: ir.IRBuilder, value: Value, lanes: int) -> Value:
    """Return a vector with `value` in all lanes."""
    undefined = ir.Constant(vector(value.type, lanes), ir.Undefined)
    single = builder.insert_element(undefined, value, INT32(0))
    return builder.shuffle_vector(single, undefined, constant(vector(INT32, lanes), [0] * lanes))


def shuffled(builder: ir.IRBuilder, left: Value, right: Value, places: list[int]) -> Value:
    """Return the elements at `places` of `left` followed by `right`."""
    return builder.shuffle_vector(left, right, constant(vector(INT32, len(places)), places))


def declared(
    builder: ir.IRBuilder, name: str, result: ir.Type, arguments: list[ir.Type]
) -> ir.Function:
    """Return the function `name`, declared once per module."""
    found = builder.module.globals.get(name)
    return found or ir.Function(builder.module, ir.FunctionType(result, arguments), name)


def multiply_add(
    builder: ir.IRBuilder, left: Value, right: Value, sum_: Value, fused: bool
) -> Value:
    """Return left * right + sum_."""
    if not fused:
        return builder.fadd(builder.fmul(left, right), sum_)
    kind = sum_.type
    name = f"llvm.fma.v{kind.count}{_SUFFIX[str(kind.element)]}"
    return builder.call(declared(builder, name, kind, [kind] * 3), [left, right, sum_])


def load_lanes(
    builder: ir.IRBuilder, address: Value, kind: ir.VectorType, align: int, count: Value
) -> Value:
    """Return the `kind` at `address`, with zeros instead of reading beyond `count` lanes."""
    mask = _between(builder, kind.count, (INT64(0), count))
    name = f"llvm.masked.load.v{kind.count}{_SUFFIX[str(kind.element)]}.p0"
    arguments = [kind.as_pointer(), INT32, mask.type, kind]
    function = declared(builder, name, kind, arguments)
    zeros = ir.Constant(kind, None)
    return builder.call(function, [at(builder, address, kind), INT32(align), mask, zeros])


def store_lanes(
    builder: ir.IRBuilder,
    value: Value,
    address: Value,
    align: int,
    bounds: tuple[Value, Value],
) -> None:
    """Store the lanes from bounds[0] up to bounds[1] (int64, may lie outside) only."""
    kind = value.type
    mask = _between(builder, kind.count, bounds)
    name = f"llvm.masked.store.v{kind.count}{_SUFFIX[str(kind.element)]}.p0"
    arguments = [kind, kind.as_pointer(), INT32, mask.type]
    function = declared(builder, name, ir.VoidType(), arguments)
    builder.call(function, [value, at(builder, address, kind), INT32(align), mask])


def _between(builder: ir.IRBuilder, lanes: int, bounds: tuple[Value, Value]) -> Value:
    """Return which lanes are from bounds[0] up to bounds[1]."""
    numbers = constant(vector(INT64, lanes), range(lanes))
    first, stop = (splat(builder, bound, lanes) for bound in bounds)
    return builder.and_(
        builder.icmp_signed(">=", numbers, first), builder.icmp_signed("<", numbers, stop)
    )


def store_around_cache(builder: ir.IRBuilder, value: Value, address: Value) -> None:
    """Store an aligned vector without reading its cache line first."""
    size = value.type.count * (4 if value.type.element == FLOAT else 8)
    stored = store(builder, value, address, align=size)
    stored.set_metadata("nontemporal", builder.module.add_metadata([INT32(1)]))


def repeat(builder: ir.IRBuilder, count: Value) -> Any:
    """Return a ``with`` block for a loop of `count` (int64) rounds; its value has an ``index``."""
    return cgutils.for_range(builder, count, intp=INT64)


@contextmanager
def each(builder: ir.IRBuilder, first: Value, stop: Value, step: Value) -> Iterator[Value]:
    """Loop over `first`, `first` + `step` and so on below `stop`; the ``with`` block's value."""
    with cgutils.for_range_slice(builder, first, stop, step, intp=INT64, inc=True) as (index, _):
        yield index


def variables(builder: ir.IRBuilder, kind: ir.Type, count: int) -> list[Value]:
    """Return `count` variables, zero each time this place is reached."""
    zero = ir.Constant(kind, None)
    found = [cgutils.alloca_once(builder, kind) for _ in range(count)]
    for variable in found:
        builder.store(zero, variable)
    return found
