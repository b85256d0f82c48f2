"""NVRTC by several threads: its library is loaded once."""

import subprocess
import sys

import pytest

pytest.importorskip(
    "cupy", reason="CuPy is not installed; it comes with opspec[emulator] and needs no GPU here"
)

# In a process of its own: this one may have loaded the library long ago.
PROGRAM = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from opspec.backends.cupy.compiler import compiled

together = Barrier(4)


def compile_one(number):
    together.wait()
    code, _ = compiled(f'extern "C" __global__ void kernel{number}() {{}}', "sm_80")
    return f"kernel{number}".encode() in code


with ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(compile_one, range(4))))
"""


def test_the_first_kernels_are_compiled_by_several_threads_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "4\n", done.stderr
