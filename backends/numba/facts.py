"""What ``opspec doctor`` says about Numba: which vectors its kernels are compiled for."""

from opspec.backends.numba.target import host


def vectors() -> str:
    """Return the kind of CPU and the width of its vectors."""
    target = host()
    fused = "fused" if target.fused else "no fused"
    half = "converts float16" if target.converts_half else "does not convert float16"
    return f"{target.name}: {8 * target.vector_bytes} bits, {fused} multiply-add, {half}"


def processor() -> str:
    """Return LLVM's name of this CPU."""
    import llvmlite.binding as llvm

    return str(llvm.get_host_cpu_name())
