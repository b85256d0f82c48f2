"""How many floating-point operations a second the processor can do, float32.

With Numba: a loop of fused multiply-adds on whole vector registers, with enough independent ones
to keep every unit busy. That is the roof. Without Numba: NumPy's matrix product, which reaches most
of the roof with a good BLAS library, and is a lower bound.
"""

import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

REPEATS = 7
BY_LOOP = "a loop of fused multiply-adds"
BY_PRODUCT = "NumPy's matrix product, a lower bound"
PRODUCT_SIZE = 1536
# Bytes of a vector register, and how many of them hold sums: some have to hold the factors.
WIDE, MIDDLE, NARROW = (64, 24), (32, 12), (16, 24)
STEPS_FOR_A_TIMING = 20_000_000


def peak(threads: int) -> tuple[float, str]:
    """Return operations in a second and how they were measured.

    Parameters
    ----------
    threads
        How many work at once. BLAS has to be told beforehand, by its environment variable.
    """
    registers = _registers()
    if registers is None:
        return _by_product(), BY_PRODUCT
    return _by_loop(threads, *registers), BY_LOOP


def _registers() -> tuple[int, int] | None:
    """Return which vector registers the processor multiplies and adds with at once, if any."""
    try:
        import_module("numba")
        binding: Any = import_module("llvmlite.binding")
    except ImportError:
        return None
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return WIDE
    if features.get("avx") and features.get("fma"):
        return MIDDLE
    return NARROW if features.get("neon") else None


def _by_product() -> float:
    generator = np.random.default_rng(0)
    left, right = (
        generator.standard_normal((PRODUCT_SIZE, PRODUCT_SIZE), np.float32) for _ in range(2)
    )
    out = np.empty_like(left)
    seconds = _least(lambda: np.matmul(left, right, out=out))
    return 2 * PRODUCT_SIZE**3 / seconds


def _by_loop(threads: int, register_bytes: int, sums: int) -> float:
    run = _compiled(register_bytes, sums)
    steps = STEPS_FOR_A_TIMING // sums
    run(1, 0.5)

    def together() -> None:
        workers = [threading.Thread(target=run, args=(steps, 0.5)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    lanes = register_bytes // 4
    return 2 * threads * steps * sums * lanes / _least(together)


def _least(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _compiled(register_bytes: int, sums: int) -> Callable[[int, float], float]:
    """Return ``run(steps, factor)``: each step multiplies and adds on each of `sums` registers."""
    numba: Any = import_module("numba")
    types: Any = import_module("numba.core.types")
    extending: Any = import_module("numba.extending")

    def chains(typing_context: object, steps: object, factor: object) -> tuple[Any, Any]:
        def emit(context: object, builder: Any, signature: object, arguments: Any) -> Any:
            steps, factor = arguments
            return _loop(builder, steps, factor, register_bytes // 4, sums)

        return types.float32(types.int64, types.float32), emit

    intrinsic = extending.intrinsic(chains)

    def run(steps: int, factor: float) -> Any:
        return intrinsic(steps, factor)

    signature = types.float32(types.int64, types.float32)
    compiled: Callable[[int, float], float] = numba.njit(signature, nogil=True)(run)
    return compiled


def _loop(builder: Any, steps: Any, factor: Any, lanes: int, sums: int) -> Any:
    ir: Any = import_module("llvmlite.ir")
    cgutils: Any = import_module("numba.core.cgutils")
    vector = ir.VectorType(ir.FloatType(), lanes)
    # Known only when it runs, so that LLVM cannot compute the sums beforehand.
    factors = builder.insert_element(ir.Constant(vector, ir.Undefined), factor, ir.IntType(32)(0))
    factors = builder.shuffle_vector(
        factors, factors, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    )
    multiply_add = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(vector, [vector, vector, vector]),
        f"llvm.fma.v{lanes}f32",
    )
    places = [cgutils.alloca_once(builder, vector) for _ in range(sums)]
    for number, place in enumerate(places):
        # Different, so that LLVM does not find them to be one and the same sum.
        builder.store(ir.Constant(vector, [float(number)] * lanes), place)
    with cgutils.for_range(builder, steps, intp=ir.IntType(64)):
        for place in places:
            added = builder.call(multiply_add, [builder.load(place), factors, factors])
            builder.store(added, place)
    total = builder.load(places[0])
    for place in places[1:]:
        total = builder.fadd(total, builder.load(place))
    return builder.extract_element(total, ir.IntType(32)(0))
