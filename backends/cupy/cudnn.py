"""The tier "cudnn": a plan of NVIDIA's cuDNN, where the caller has that library installed.

cuDNN has all three sides of a convolution: its fprop, and its data and weight gradients. The filter
has out_channels first there. cuDNN names dimensions channel first, and tells a layout by strides.
Which of its engines runs is its heuristics' choice, among those whose sums are what this backend
promises.
"""

# The frontend is an extra, and has no types.
# pyright: reportMissingImports=false

from typing import Any

from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.plan import canonical, contiguous
from opspec.backends.cupy.port import CudnnPlan, Port
from opspec.geometry import ConvGeometry, Side, Window, channel_axis, extent

WORKSPACE = 256 * 2**20
# Numbers for the sides in a plan.
NUMBERS: dict[Side, int] = {"input": 1, "filter": 2, "output": 3}
# What makes each side, and what it calls the other two.
NODES: dict[Side, tuple[str, dict[str, Side]]] = {
    "input": ("conv_dgrad", {"loss": "output", "filter": "filter"}),
    "output": ("conv_fprop", {"image": "input", "weight": "filter"}),
    "filter": ("conv_wgrad", {"image": "input", "loss": "output"}),
}
# Results that differ from call to call, operands or sums in a narrower dtype, and algorithms whose
# errors are not those of a sum of products.
EXCLUDED = (
    "NONDETERMINISTIC",
    "DOWN_CONVERT_INPUTS",
    "REDUCED_PRECISION_REDUCTION",
    "FFT",
    "WINOGRAD",
    "WINOGRAD_TILE_4x4",
    "WINOGRAD_TILE_6x6",
    "WINOGRAD_TILE_13x13",
)
# For float32, cuDNN's tensor cores are TF32.
TF32 = "TENSOR_CORE"
DATA_TYPES = {"float16": "HALF", "bfloat16": "BFLOAT16", "float32": "FLOAT", "float64": "DOUBLE"}
Array = Any


def compute(
    port: Port, convolution: Convolution, plan: CudnnPlan, arrays: dict[Side, Array]
) -> bool:
    """Fill the result, or return False if there is no memory for what the plan takes.

    Parameters
    ----------
    port
        The device.
    convolution
        The problem; it is not empty.
    plan
        What `port.cudnn_plan` returned for it.
    arrays
        All sides: operands that lie in memory in any way, and a result in C order.
    """
    axes = filter_axes(convolution.geometry)
    filter = arrays["filter"].transpose(axes)
    made = convolution.result == "filter"
    try:
        arranged: dict[Side, Array] = {
            side: array if side == convolution.result else port.contiguous(array)
            for side, array in arrays.items()
            if side != "filter"
        }
        arranged["filter"] = (
            port.empty(filter.shape, filter.dtype) if made else port.contiguous(filter)
        )
        workspace = port.empty((plan.workspace_bytes,), "uint8")
    except MemoryError:
        port.release_memory()
        return False
    port.execute(plan, arranged, workspace)
    if made:
        port.copy(arranged["filter"], filter)
    return True


def filter_axes(geometry: ConvGeometry) -> tuple[int, ...]:
    """Return the filter's axes in the order in which cuDNN's engines want them in memory."""
    return (4, 0, 1, 2, 3) if channel_axis(geometry.data_format) == 4 else (4, 3, 0, 1, 2)


def build(convolution: Convolution, *, tf32: bool, **device: Any) -> CudnnPlan | None:
    """Return the plan that cuDNN's heuristics put first, or None if no engine is allowed.

    Parameters
    ----------
    convolution
        The problem.
    tf32
        Whether float32 may be rounded to TF32.
    **device
        `handle`, of a device that is there, or `device_property`, of one that is not.
    """
    import cudnn

    geometry = convolution.geometry
    data_type = getattr(cudnn.data_type, DATA_TYPES[geometry.dtype])
    sums = cudnn.data_type.DOUBLE if geometry.dtype == "float64" else cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=data_type, intermediate_data_type=sums, compute_data_type=sums, **device
    )
    node, operands = NODES[convolution.result]
    windows = geometry.windows
    result = getattr(graph, node)(
        **{
            name: graph.tensor(**_tensor(geometry, side), data_type=data_type, uid=NUMBERS[side])
            for name, side in operands.items()
        },
        pre_padding=[window.before for window in windows],
        post_padding=[_after(window) for window in windows],
        stride=[window.stride for window in windows],
        dilation=[window.dilation for window in windows],
    )
    made = _tensor(geometry, convolution.result)
    result.set_uid(NUMBERS[convolution.result])
    result.set_dim(made["dim"]).set_stride(made["stride"]).set_output(True)
    try:
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        graph.deselect_numeric_notes(
            [getattr(cudnn.numerical_note, note) for note in excluded(geometry.dtype, tf32)]
        )
        graph.deselect_workspace_greater_than(WORKSPACE)
        graph.build_plans()
    except (cudnn.cudnnGraphNotSupportedError, RuntimeError):
        return None
    return CudnnPlan(graph, graph.get_workspace_size())


def excluded(dtype: str, tf32: bool) -> tuple[str, ...]:
    """Return the notes of the engines that must not run."""
    ieee = dtype == "float32" and not tf32
    return (*EXCLUDED, TF32) if ieee else EXCLUDED


def _tensor(geometry: ConvGeometry, side: Side) -> dict[str, list[int]]:
    if side == "filter":
        return _filter(geometry)
    shape = geometry.shape_of(side)
    dim = _channel_first(canonical(shape, geometry.data_format))
    return {
        "dim": dim,
        "stride": _channel_first(canonical(contiguous(shape), geometry.data_format)),
    }


def _channel_first(extents: tuple[int, ...]) -> list[int]:
    return [extents[0], extents[4], *extents[1:4]]


def _filter(geometry: ConvGeometry) -> dict[str, list[int]]:
    shape = geometry.filter_shape
    axes = filter_axes(geometry)
    steps = dict(zip(axes, contiguous(tuple(shape[axis] for axis in axes)), strict=True))
    order = (4, 3, 0, 1, 2)
    return {"dim": [shape[axis] for axis in order], "stride": [steps[axis] for axis in order]}


def _after(window: Window) -> int:
    """Return the padding from which cuDNN derives `output`; positions beyond need none."""
    spanned = (window.output - 1) * window.stride + extent(window.kernel, window.dilation)
    return max(spanned - window.input - window.before, 0)
