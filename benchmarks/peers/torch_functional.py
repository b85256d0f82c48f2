"""PyTorch's functional call, channels first or channels last in memory."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from workload import Workload

from peers import Array, Call, Operands, Refused
from peers.channels import channels_first, filters_for_channels_first

# Imported by name because PyTorch is not installed where the types are checked.
torch: Any = import_module("torch")


class TorchFunctional:
    """`torch.nn.functional.conv_transpose3d` in inference mode.

    Parameters
    ----------
    threads
        How many one operation may use.
    channels_last
        Whether operands lie in memory as channels_last_3d; their shape is NCDHW either way.
    """

    packages = ("torch", "numpy")
    channels_first = True

    def __init__(self, threads: int, *, channels_last: bool) -> None:
        torch.set_num_threads(threads)
        self._memory_format = torch.channels_last_3d if channels_last else torch.contiguous_format

    def prepared(self, operands: Operands) -> Call:
        """Return a call whose result is read in place; see `peers.Peer`."""
        workload = operands.workload
        if operands.out is not None:
            raise Refused("has no out=")
        input = self._tensor(channels_first(operands.input, workload.data_format))
        filters = self._tensor(filters_for_channels_first(operands.filters))
        transposed = conv_transpose3d(workload)
        return lambda: _readable(transposed(input, filters), workload.dtype)

    def _tensor(self, array: Array) -> Any:
        array = np.ascontiguousarray(array)
        if array.dtype.name == "bfloat16":
            tensor = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        else:
            tensor = torch.from_numpy(array)
        return tensor.contiguous(memory_format=self._memory_format)


def conv_transpose3d(workload: Workload) -> Callable[[Any, Any], Any]:
    """Return a function of input and filters, channels first, that PyTorch computes."""
    dimensions = workload.dimensions
    before = [each.before for each in dimensions]
    # PyTorch cuts as much at the high end as at the low one; `output_padding` gives positions
    # back, and what is still too much is cut off by a view.
    given_back = [max(each.before - each.after, 0) + each.beyond for each in dimensions]
    window = (..., *(slice(size) for size in workload.result_size))

    def transposed(input: Any, filters: Any) -> Any:
        with torch.inference_mode():
            result = torch.nn.functional.conv_transpose3d(
                input,
                filters,
                stride=workload.strides,
                padding=before,
                output_padding=given_back,
                dilation=workload.dilations,
            )
            return result[window]

    return transposed


def _readable(tensor: Any, dtype: str) -> Array:
    if dtype == "bfloat16":
        # NumPy itself has no bfloat16; the extension that has it reads the same bits.
        import ml_dtypes

        bits: Array = tensor.view(torch.int16).numpy()
        return bits.view(ml_dtypes.bfloat16)
    values: Array = tensor.numpy()
    return values
