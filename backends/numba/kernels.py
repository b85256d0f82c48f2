"""The compiled kernels: made when first needed, for a target and what is stored."""

from functools import cache
from typing import Any

from opspec.backends.numba.direct import direct_kernel
from opspec.backends.numba.disk_cache import DiskCache
from opspec.backends.numba.dots import dots_kernel
from opspec.backends.numba.gather import gather_kernel
from opspec.backends.numba.pack import matrix_packing_kernel, packing_kernel
from opspec.backends.numba.scatter import scatter_kernel
from opspec.backends.numba.target import Target


@cache
def direct(target: Target, size: int) -> Any:
    """Return the kernel for tiny problems with sums of `size` bytes."""
    return _kept(direct_kernel(target, size), f"direct-{target.name}-{size}")


@cache
def dots(target: Target, stored: str) -> Any:
    """Return the kernel for few positions."""
    return _kept(dots_kernel(target, stored), f"dots-{target.name}-{stored}")


@cache
def gather(target: Target, stored: str, channels_first: bool) -> Any:
    """Return the gathering kernel."""
    layout = "ncdhw" if channels_first else "ndhwc"
    return _kept(
        gather_kernel(target, stored, channels_first), f"gather-{target.name}-{stored}-{layout}"
    )


@cache
def pack(target: Target, stored: str) -> Any:
    """Return the packing kernel."""
    return _kept(packing_kernel(target, stored), f"pack-{target.name}-{stored}")


@cache
def scatter(target: Target, stored: str, channels_first: bool) -> Any:
    """Return the scattering kernel."""
    layout = "ncdhw" if channels_first else "ndhwc"
    return _kept(
        scatter_kernel(target, stored, channels_first), f"scatter-{target.name}-{stored}-{layout}"
    )


@cache
def pack_matrix(target: Target, stored: str) -> Any:
    """Return the kernel that packs for the scattering kernel."""
    return _kept(matrix_packing_kernel(target, stored), f"pack-matrix-{target.name}-{stored}")


def _kept(kernel: Any, name: str) -> Any:
    """Let a kernel be kept on disk."""
    kernel._cache = DiskCache(name)
    return kernel
