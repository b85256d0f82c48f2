"""Conv3DBackpropInputV2 on `cupy.ndarray`: a tier is chosen, planned, and launched.

Nothing here waits for the device: launches go to the caller's current stream, memory comes from the
caller's pool, and the result may not be there yet when the call returns, as with any CuPy function.
"""

from dataclasses import replace
from typing import Any

from opspec import dtypes
from opspec.backends.cupy import columns, cudnn
from opspec.backends.cupy.choice import Choice, Wishes, choose
from opspec.backends.cupy.plan import VECTOR_BYTES, Lie, products
from opspec.backends.cupy.port import CudnnPlan, Port, Traits
from opspec.backends.cupy.settings import asked_tier, tf32_is_allowed
from opspec.geometry import ConvGeometry
from opspec.registry import Backend, UnsupportedByBackend

Array = Any


def implement(backend: Backend, port: Port, tier: str | None) -> None:
    """Hand in the kernel of a backend that computes on `port`, held to `tier` if one is given."""

    @backend.implements("Conv3DBackpropInputV2")
    def conv3d_backprop_input_v2(
        geometry: ConvGeometry, filter: Array, out_backprop: Array, out: Array | None = None
    ) -> Array:
        return compute(port, tier, geometry, filter, out_backprop, out)

    @backend.details
    def details(geometry: ConvGeometry) -> str:
        return explain(port, tier, geometry)


def compute(
    port: Port,
    tier: str | None,
    geometry: ConvGeometry,
    filter: Array,
    data: Array,
    out: Array | None,
) -> Array:
    """Compute the result of a validated problem, in `out` if given.

    Parameters
    ----------
    port
        The device.
    tier
        The tier that must be used, or None.
    geometry
        The problem.
    filter, data
        `filter` and `out_backprop`, lying in memory in any way.
    out
        An array in C order for the result, or None.

    Raises
    ------
    UnsupportedByBackend
        If the arrays are on several devices, or the tier cannot take the problem.
    """
    _refuse_several_devices(filter=filter, out_backprop=data, out=out)
    with port.on(data):
        result = out
        if result is None:
            result = port.empty(geometry.input_shape, dtypes.numpy_dtype(geometry.dtype))
        if result.size == 0:
            return result
        if geometry.empty:
            port.clear(result)
            return result
        traits = port.traits()
        wishes = _wishes(tier)
        choice, plan = _chosen(port, geometry, traits, wishes)
        if plan is not None:
            if cudnn.compute(port, geometry, plan, filter, data, result):
                return result
            traits = _without_cudnn(
                traits, "there is no memory for what it takes beside the operands"
            )
            choice = choose(geometry, traits, wishes)
        if choice.tier == "gemm":
            if columns.compute(
                port, geometry, port.contiguous(filter), port.contiguous(data), result
            ):
                return result
            choice = Choice("simt", "there is no memory for columns")
        lie = _lie(filter, data, result)
        for part in products(geometry, lie, traits, choice):
            read, made = data[part.piece.data], result[part.piece.result]
            for launch in part.launches:
                arguments = (read, filter, made, launch.problem)
                port.launch(launch.kernel, launch.blocks, arguments)
        return result


def explain(port: Port, tier: str | None, geometry: ConvGeometry) -> str:
    """Say in words which tier computes a problem, and why."""
    if geometry.empty:
        return "no kernel: there is nothing to add up"
    return str(_chosen(port, geometry, port.traits(), _wishes(tier))[0])


def _chosen(
    port: Port, geometry: ConvGeometry, traits: Traits, wishes: Wishes
) -> tuple[Choice, CudnnPlan | None]:
    """Return the tier, with cuDNN's plan where it is cuDNN's."""
    choice = choose(geometry, traits, wishes)
    if choice.tier != "cudnn":
        return choice, None
    plan = port.cudnn_plan(geometry, wishes.tf32)
    if plan is None:
        traits = _without_cudnn(traits, "cuDNN has no engine for it that keeps to its dtype")
        choice = choose(geometry, traits, wishes)
    return choice, plan


def _without_cudnn(traits: Traits, why: str) -> Traits:
    return replace(traits, without=(*traits.without, ("cudnn", why)))


def _wishes(tier: str | None) -> Wishes:
    return Wishes(tier or asked_tier(), tf32_is_allowed())


def _lie(filter: Array, data: Array, result: Array) -> Lie:
    item = data.itemsize
    return Lie(
        data=tuple([stride // item for stride in data.strides]),
        filter=tuple([stride // item for stride in filter.strides]),
        aligned=(filter.data.ptr | data.data.ptr | result.data.ptr) % VECTOR_BYTES == 0,
    )


def _refuse_several_devices(**arrays: Array) -> None:
    devices = {name: array.device.id for name, array in arrays.items() if array is not None}
    if len(set(devices.values())) > 1:
        given = ", ".join(f"{name} on device {device}" for name, device in devices.items())
        raise UnsupportedByBackend(
            f"backend 'cupy' computes on one device and copies nothing between devices; given "
            f"{given}; move them with cupy.asarray under `with cupy.cuda.Device(...)`"
        )
