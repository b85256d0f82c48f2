"""Conv3DBackpropInputV2 in PyTorch: each tap's matrix product, added where the tap lands.

torch's own conv_transpose3d is not called: what its device libraries do with the zeros that they
fill in is theirs, and zero times an infinity of the filter is NaN where no tap reaches. Here a tap
meets only the positions that land inside, so nothing leaks, on any device.
"""

from itertools import product

import torch

from opspec.geometry import ConvGeometry
from opspec_torch import backend


@backend.implements("Conv3DBackpropInputV2")
def conv3d_backprop_input_v2(
    geometry: ConvGeometry, filter: torch.Tensor, out_backprop: torch.Tensor
) -> torch.Tensor:
    """Compute the result of a validated problem on the operands' device."""
    if filter.device != out_backprop.device:
        raise ValueError(
            f"the operands must be on one device; filter is on {filter.device}, out_backprop on "
            f"{out_backprop.device}; move one of them with .to()"
        )
    # float16 and bfloat16 are summed in float32 and rounded once, at the end.
    wide = torch.float64 if geometry.dtype == "float64" else torch.float32
    channels_first = geometry.data_format == "NCDHW"
    sums = torch.zeros(geometry.input_shape, dtype=wide, device=filter.device)
    target = sums.movedim(1, -1) if channels_first else sums
    source = (out_backprop.movedim(1, -1) if channels_first else out_backprop).to(wide).contiguous()
    taps = filter.to(wide)
    for tap in product(*(range(window.kernel) for window in geometry.windows)):
        inside, landing = [slice(None)], [slice(None)]
        for window, index in zip(geometry.windows, tap, strict=True):
            positions = window.positions(index)
            first, stop = (window.landing(p, index) for p in (positions.start, positions.stop))
            inside.append(slice(positions.start, positions.stop))
            landing.append(slice(first, stop, window.stride))
        target[tuple(landing)].add_(source[tuple(inside)] @ taps[tap].T)
    return sums.to(filter.dtype)
