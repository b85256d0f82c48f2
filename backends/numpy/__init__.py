"""The NumPy backend: the readable reference, and what runs where nothing else is installed."""

from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS
from opspec.registry import Backend, Capabilities, Cost

backend = Backend(
    name="numpy",
    arrays="numpy.ndarray",
    capabilities=Capabilities(
        operations=("Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"),
        dtypes=FLOATING,
        data_formats=DATA_FORMATS,
    ),
    kernel_modules=(
        "opspec.backends.numpy.conv3d",
        "opspec.backends.numpy.conv3d_backprop_filter_v2",
        "opspec.backends.numpy.conv3d_backprop_input_v2",
    ),
    cost=Cost(start=0, call=150e-6, per_multiply_add=1e-10),
)
