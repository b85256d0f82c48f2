"""Two libraries that run a model of one ConvTranspose node, its weights constant."""

from importlib import import_module
from typing import Any

import numpy as np
from workload import Workload

from peers import Array, Call, Operands, Refused
from peers.channels import channels_first, filters_for_channels_first

# The newest that every release of ONNX Runtime and OpenVINO of the last years reads.
IR_VERSION = 8
OPSET = 17


class OnnxRuntime:
    """ONNX Runtime's session with its CPU provider.

    Parameters
    ----------
    threads
        How many one operation may use.
    """

    packages = ("onnxruntime", "onnx", "numpy")
    channels_first = True

    def __init__(self, threads: int) -> None:
        self._library: Any = import_module("onnxruntime")
        self._options = self._library.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1
        import_module("onnx")

    def prepared(self, operands: Operands) -> Call:
        """Return a run of the session; see `peers.Peer`."""
        model = _model(operands)
        feeds = {"input": _input(operands)}
        session = self._library.InferenceSession(
            model, self._options, providers=["CPUExecutionProvider"]
        )

        def call() -> Array:
            result: Array = session.run(None, feeds)[0]
            return result

        return call


class OpenVino:
    """OpenVINO's CPU plug-in.

    Parameters
    ----------
    threads
        How many inference may use.
    """

    packages = ("openvino", "onnx", "numpy")
    channels_first = True

    def __init__(self, threads: int) -> None:
        self._core: Any = import_module("openvino").Core()
        self._settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            # Without it a processor with bfloat16 units would round the operands.
            "INFERENCE_PRECISION_HINT": "f32",
        }
        import_module("onnx")

    def prepared(self, operands: Operands) -> Call:
        """Return a run of the compiled model; see `peers.Peer`."""
        model = self._core.read_model(_model(operands))
        compiled = self._core.compile_model(model, "CPU", self._settings)
        input = _input(operands)

        def call() -> Array:
            # The input is read in place; the result is the caller's to keep, as every peer's is.
            result: Array = compiled(input, share_inputs=True, share_outputs=False)[0]
            return result

        return call


def _input(operands: Operands) -> Array:
    return np.ascontiguousarray(channels_first(operands.input, operands.workload.data_format))


def _model(operands: Operands) -> bytes:
    workload = operands.workload
    if operands.out is not None:
        raise Refused("has no out= here")
    if workload.dtype != "float32":
        raise Refused(f"is given float32 models only, and this is {workload.dtype}")
    onnx: Any = import_module("onnx")
    helper = onnx.helper
    filters = np.ascontiguousarray(filters_for_channels_first(operands.filters))
    input = helper.make_tensor_value_info("input", onnx.TensorProto.FLOAT, _input_shape(workload))
    result = helper.make_tensor_value_info("result", onnx.TensorProto.FLOAT, None)
    weights = onnx.numpy_helper.from_array(filters, "filters")
    graph = helper.make_graph([_node(helper, workload)], "workload", [input], [result], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    serialized: bytes = model.SerializeToString()
    return serialized


def _input_shape(workload: Workload) -> tuple[int, ...]:
    return (workload.batch, workload.in_channels, *workload.spatial)


def _node(helper: Any, workload: Workload) -> Any:
    dimensions = workload.dimensions
    return helper.make_node(
        "ConvTranspose",
        ["input", "filters"],
        ["result"],
        strides=workload.strides,
        dilations=workload.dilations,
        pads=[
            *(dimension.before for dimension in dimensions),
            *(dimension.after for dimension in dimensions),
        ],
        output_padding=[dimension.beyond for dimension in dimensions],
    )
