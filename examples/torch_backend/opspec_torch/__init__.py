"""A backend on PyTorch's tensors. torch itself is imported at the first call that needs it."""

from importlib.util import find_spec
from typing import Any

from opspec.dtypes import numpy_dtype
from opspec.registry import Backend, Capabilities, Cost


def _unavailable() -> str | None:
    return None if find_spec("torch") else "PyTorch is not installed; pip install torch"


def from_numpy(array: Any) -> Any:
    """Return a CPU tensor of its own memory; torch takes no negative strides."""
    import torch

    copied = array.copy(order="C")
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(copied.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(copied)


def to_numpy(tensor: Any) -> Any:
    """Return a tensor of any device as a NumPy array."""
    import torch

    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
    return tensor.numpy()


backend = Backend(
    name="torch",
    arrays="torch.Tensor",
    capabilities=Capabilities(
        operations=("Conv3DBackpropInputV2",),
        dtypes=("float16", "bfloat16", "float32", "float64"),
        data_formats=("NDHWC", "NCDHW"),
    ),
    kernel_modules=("opspec_torch.conv3d_backprop_input_v2",),
    unavailable=_unavailable,
    from_numpy=from_numpy,
    to_numpy=to_numpy,
    cost=Cost(start=0, call=300e-6, per_multiply_add=5e-11),
)
