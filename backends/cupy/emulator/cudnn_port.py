"""cuDNN without a device: it plans for one that is described, and NumPy does what the plan says.

A plan is made by the real library from the real description of the problem. What is executed is
that description, read back from the plan: for each position o and tap t,

    input[o * stride + t * dilation - pre_padding]     meets     output[o] and filter[t]:

the product of two of them is added to the third.
"""

# cuDNN's frontend is an extra, and has no types.
# pyright: reportMissingImports=false

import ctypes
import hashlib
import json
import shutil
import subprocess
from dataclasses import replace
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.cudnn import NUMBERS, build
from opspec.backends.cupy.cudnn_library import missing
from opspec.backends.cupy.emulator.host import TRAITS, HostPort
from opspec.backends.cupy.emulator.memory import as_numpy
from opspec.backends.cupy.port import CudnnPlan
from opspec.cache_folder import kept
from opspec.geometry import Side, Window

COMPILER = "gcc"
DEVICES = Path(__file__).parent / "devices.json"
Array = np.ndarray[Any, Any]
DRIVER = "libcuda.so.1"
NO_DRIVER = Path(__file__).parent / "no_driver.c"


class CudnnPort(HostPort):
    """A port whose plans cuDNN makes.

    Parameters
    ----------
    device
        One of those that devices.json describes.
    """

    def __init__(self, device: str = "H200") -> None:
        super().__init__(traits=replace(TRAITS, without=()))
        self._device = device

    def cudnn_plan(self, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
        """Return cuDNN's plan for the described device, or None if it has none."""
        return _plan(self._device, convolution, tf32)

    def execute(self, plan: CudnnPlan, arrays: dict[Side, Any], workspace: Any) -> None:
        """Compute what a plan says."""
        said = json.loads(str(plan.graph))
        (node,) = said["nodes"]
        if node["math_mode"] != "CROSS_CORRELATION":
            raise ValueError(f"a plan of something else: {node}")
        views: dict[Side, Array] = {
            side: _view(array, said["tensors"][str(NUMBERS[side])])
            for side, array in arrays.items()
        }
        _add_up(node, views)


# Of each kind of node the side that it makes, and how channels and batch meet in its products.
SUMS: dict[str, tuple[Side, str]] = {
    "CONV_DGRAD": ("input", "nkdhw,kc->ncdhw"),
    "CONV_FPROP": ("output", "ncdhw,kc->nkdhw"),
    "CONV_WGRAD": ("filter", "ncdhw,nkdhw->kc"),
}


def _add_up(node: dict[str, Any], views: dict[Side, Array]) -> None:
    """Fill the result, channel first as the others, in float64 and rounded once."""
    made, products = SUMS[node["tag"]]
    sizes = (views[side].shape[2:] for side in ("input", "output", "filter"))
    steps = (node["stride"], node["dilation"], node["pre_padding"], node["post_padding"])
    windows = [Window(*facts) for facts in zip(*sizes, *steps, strict=True)]
    wide = {side: view.astype(np.float64) for side, view in views.items() if side != made}
    wide[made] = np.zeros(views[made].shape, np.float64)
    with np.errstate(all="ignore"):
        for tap in product(*(range(window.kernel) for window in windows)):
            met = [window.positions(t) for window, t in zip(windows, tap, strict=True)]
            if not all(met):
                continue
            small = [slice(o.start, o.stop) for o in met]
            large = [
                slice(window.landing(o[0], t), window.landing(o[-1], t) + 1, window.stride)
                for window, o, t in zip(windows, met, tap, strict=True)
            ]
            parts = {
                "input": wide["input"][:, :, large[0], large[1], large[2]],
                "output": wide["output"][:, :, small[0], small[1], small[2]],
                "filter": wide["filter"][:, :, tap[0], tap[1], tap[2]],
            }
            operands = (part for side, part in parts.items() if side != made)
            parts[made] += np.einsum(products, *operands)
        views[made][...] = wide[made].astype(views[made].dtype)


def unavailable() -> str | None:
    """Say why cuDNN cannot make plans here, or None."""
    if shutil.which(COMPILER) is None:
        return f"{COMPILER}, which makes a driver's library without a driver, is not installed"
    return missing()


@cache
def described(device: str) -> Any:
    """Return cuDNN's object for a device that devices.json describes."""
    _load_driver()
    import cudnn

    devices = json.loads(DEVICES.read_text("utf-8"))
    facts = {**devices["all"], **devices[device], "deviceName": device}
    return cudnn.create_device_properties(json.dumps(facts))


@lru_cache(maxsize=256)
def _plan(device: str, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
    return build(convolution, tf32=tf32, device_property=described(device))


@cache
def _load_driver() -> ctypes.CDLL:
    command = [COMPILER, "-shared", "-fPIC", f"-Wl,-soname,{DRIVER}", str(NO_DRIVER), "-o"]
    digest = hashlib.sha256(NO_DRIVER.read_bytes()).hexdigest()
    library = kept(
        f"no-driver-{digest[:32]}.so", lambda to: subprocess.run([*command, str(to)], check=True)
    )
    return ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def _view(array: Any, tensor: dict[str, Any]) -> Array:
    """Return an array as a plan describes it, which must stay within it."""
    view = as_numpy(array).reshape(-1)
    steps = [step * view.itemsize for step in tensor["stride"]]
    last = sum(
        (size - 1) * step for size, step in zip(tensor["dim"], tensor["stride"], strict=True)
    )
    if last >= view.size:
        raise ValueError(f"a plan reads element {last} of {view.size}")
    return np.lib.stride_tricks.as_strided(view, tensor["dim"], steps)
