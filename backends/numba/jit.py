"""How this backend's functions are compiled.

All run without the GIL. A `kernel` is called from Python; a `part` only from other compiled code, and
is spared what calling it from Python needs.
"""

from typing import Any

from numba import njit

part: Any = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
kernel: Any = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
inlined: Any = njit(
    nogil=True, error_model="numpy", inline="always", no_cpython_wrapper=True, no_cfunc_wrapper=True
)
