"""Operations with the signatures of `tf.raw_ops`: keyword arguments only."""

from opspec.raw_ops.conv3d import Conv3D
from opspec.raw_ops.conv3d_backprop_filter_v2 import Conv3DBackpropFilterV2
from opspec.raw_ops.conv3d_backprop_input_v2 import Conv3DBackpropInputV2

__all__ = ["Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"]
