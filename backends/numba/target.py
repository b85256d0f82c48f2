"""What the kernels are compiled for: how wide vectors are, and how large a tile of sums fits."""

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of CPU.

    Parameters
    ----------
    name
        For logs, and part of the cache's key.
    vector_bytes
        Width of a vector register.
    rows, vectors
        A tile holds rows x vectors registers of sums. They and one row of the panel must fit into
        the register file, with one register left for the broadcast element.
    fused
        Whether multiplication and addition are one instruction. Where they are not, asking LLVM for
        a fused one would call a function for each lane.
    converts_half
        Whether there is an instruction between float16 and float32.
    """

    name: str
    vector_bytes: int
    rows: int
    vectors: int
    fused: bool
    converts_half: bool

    def lanes(self, itemsize: int) -> int:
        """Return how many elements of `itemsize` bytes a vector holds."""
        return self.vector_bytes // itemsize


AVX512 = Target("avx512", 64, 12, 2, fused=True, converts_half=True)
AVX2 = Target("avx2", 32, 6, 2, fused=True, converts_half=True)
NEON = Target("neon", 16, 8, 2, fused=True, converts_half=True)
PORTABLE = Target("portable", 16, 4, 2, fused=False, converts_half=False)


@cache
def host() -> Target:
    """Return the target of the CPU that this process runs on."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512vl"):
        return AVX512
    if features.get("avx2") and features.get("fma") and features.get("f16c"):
        return AVX2
    if llvm.get_process_triple().startswith(("aarch64", "arm64")):
        return NEON
    return PORTABLE
