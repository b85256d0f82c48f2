"""The lane "real": layers of a trained network, with TensorFlow's recorded answers."""

from pathlib import Path
from typing import Any

import numpy as np

from opspec.conformance import case as golden_case
from opspec.conformance.generate.built import Built
from opspec.conformance.generate.oracles import consult
from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.conformance.oracle import direct_sum

REAL_SOURCE = (
    "the three Conv3DBackpropInputV2 layers of the frozen 3-D U-Net in the Python package "
    "deepbrain 0.1, on volume 0 of example4d.nii.gz in the Python package nibabel, resized to "
    "128^3; cropped activations; tf_float32 and tf_float64 are TensorFlow 2.21's answers"
)


def real_layers(file: Path, tensorflow: TensorFlowChild | None) -> Built:
    """Take over the real layers; TensorFlow's float64 answer is theirs, the direct sum agrees."""
    given = golden_case.read_tensors(file.read_bytes())
    built = Built("conv3d_transpose", "real", source=REAL_SOURCE, licence="MIT")
    built.tensors = dict(given)
    for layer in sorted({name.partition(".")[0] for name in given}):
        data, taps = given[f"{layer}.input"], given[f"{layer}.filters"]
        expected = given[f"{layer}.tf_float64"]
        problem: dict[str, Any] = {
            "input_sizes": list(expected.shape),
            "filter": taps,
            "out_backprop": data,
            "strides": [1, 2, 2, 2, 1],
            "padding": "SAME",
            "data_format": "NDHWC",
            "dilations": [1] * 5,
        }
        magnitude = direct_sum(**problem)[1]
        agreed = consult("Conv3DBackpropInputV2", problem, expected, magnitude, tensorflow)
        built.tensors[f"{layer}.magnitude"] = magnitude.astype(np.float32)
        built.cases.append(
            {
                "name": layer,
                "shows": f"up-convolution {list(data.shape)} -> {list(expected.shape)}",
                "arguments": {
                    "input": {"tensor": f"{layer}.input"},
                    "filters": {"tensor": f"{layer}.filters"},
                    "output_shape": {"value": list(expected.shape)},
                    "strides": {"value": 2},
                },
                "expected": {
                    "result": f"{layer}.tf_float64",
                    "magnitude": f"{layer}.magnitude",
                },
                "oracles": ["tensorflow-2.21-recorded", *agreed],
            }
        )
    return built
