"""One side of a convolution on `cupy.ndarray`: a tier is chosen, planned, and launched.

Nothing here waits for the device: launches go to the caller's current stream, memory comes from the
caller's pool, and the result may not be there yet when the call returns, as with any CuPy function.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opspec import dtypes
from opspec.backends.cupy import columns, cudnn, filter_kernels, spread
from opspec.backends.cupy.choice import Choice, Wishes, choose
from opspec.backends.cupy.convolution import NAMES, Convolution
from opspec.backends.cupy.plan import VECTOR_BYTES, Lie, products
from opspec.backends.cupy.port import CudnnPlan, Port, Traits
from opspec.backends.cupy.settings import asked_tier, tf32_is_allowed
from opspec.geometry import Side
from opspec.registry import UnsupportedByBackend

Array = Any


def compute(
    port: Port,
    tier: str | None,
    convolution: Convolution,
    operands: Mapping[Side, Array],
    out: Array | None,
) -> Array:
    """Compute the result of a validated problem, in `out` if given.

    Parameters
    ----------
    port
        The device.
    tier
        The tier that must be used, or None.
    convolution
        What is sought.
    operands
        The other two sides, lying in memory in any way.
    out
        An array in C order for the result, or None.

    Raises
    ------
    UnsupportedByBackend
        If the arrays are on several devices, or the tier cannot take the problem.
    """
    _refuse_several_devices(operands, out)
    data, other = operands[convolution.read], operands[convolution.other]
    with port.on(data):
        result = out
        if result is None:
            dtype = dtypes.numpy_dtype(convolution.geometry.dtype)
            result = port.empty(convolution.result_shape, dtype)
        if result.size == 0:
            return result
        if convolution.geometry.empty:
            port.clear(result)
            return result
        _fill(port, tier, convolution, data, other, result)
        return result


def _fill(
    port: Port,
    tier: str | None,
    convolution: Convolution,
    data: Array,
    other: Array,
    result: Array,
) -> None:
    traits = port.traits()
    wishes = _wishes(tier)
    choice, plan = _chosen(port, convolution, traits, wishes)
    if plan is not None:
        arrays: dict[Side, Array] = {
            convolution.read: data,
            convolution.other: other,
            convolution.result: result,
        }
        if cudnn.compute(port, convolution, plan, arrays):
            return
        traits = _without_cudnn(traits, "there is no memory for what it takes beside the operands")
        choice = choose(convolution, traits, wishes)
    if choice.tier == "gemm":
        way = columns if convolution.result == "input" else spread
        if way.compute(port, convolution, port.contiguous(data), port.contiguous(other), result):
            return
        choice = Choice("simt", "there is no memory for columns")
    lie = _lie(data, other, result)
    if convolution.result == "filter":
        filter_kernels.compute(port, convolution, choice, lie, data, other, result)
        return
    for part in products(convolution, lie, traits, choice):
        read, made = data[part.piece.read], result[part.piece.box]
        for launch in part.launches:
            port.launch(launch.kernel, launch.blocks, (read, other, made, launch.problem))


def explain(port: Port, tier: str | None, convolution: Convolution) -> str:
    """Say in words which tier computes a problem, and why."""
    if convolution.geometry.empty:
        return "no kernel: there is nothing to add up"
    return str(_chosen(port, convolution, port.traits(), _wishes(tier))[0])


def _chosen(
    port: Port, convolution: Convolution, traits: Traits, wishes: Wishes
) -> tuple[Choice, CudnnPlan | None]:
    """Return the tier, with cuDNN's plan where it is cuDNN's."""
    choice = choose(convolution, traits, wishes)
    if choice.tier != "cudnn":
        return choice, None
    plan = port.cudnn_plan(convolution, wishes.tf32)
    if plan is None:
        traits = _without_cudnn(traits, "cuDNN has no engine for it that keeps to its dtype")
        choice = choose(convolution, traits, wishes)
    return choice, plan


def _without_cudnn(traits: Traits, why: str) -> Traits:
    return replace(traits, without=(*traits.without, ("cudnn", why)))


def _wishes(tier: str | None) -> Wishes:
    return Wishes(tier or asked_tier(), tf32_is_allowed())


def _lie(data: Array, other: Array, result: Array) -> Lie:
    item = data.itemsize
    return Lie(
        data=tuple([stride // item for stride in data.strides]),
        other=tuple([stride // item for stride in other.strides]),
        aligned=(data.data.ptr | other.data.ptr | result.data.ptr) % VECTOR_BYTES == 0,
    )


def _refuse_several_devices(operands: Mapping[Side, Array], out: Array | None) -> None:
    arrays = {NAMES[side]: array for side, array in operands.items()}
    if out is not None:
        arrays["out"] = out
    devices = {name: array.device.id for name, array in arrays.items()}
    if len(set(devices.values())) > 1:
        given = ", ".join(f"{name} on device {device}" for name, device in devices.items())
        raise UnsupportedByBackend(
            f"backend 'cupy' computes on one device and copies nothing between devices; given "
            f"{given}; move them with cupy.asarray under `with cupy.cuda.Device(...)`"
        )
