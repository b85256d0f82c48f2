"""TensorFlow's own function, in eager mode on the CPU."""

from typing import Any

import numpy as np
import tensorflow as tf

from peers import Array, Call, Operands, Refused


class TensorFlowEager:
    """`tf.nn.conv3d_transpose` on constants.

    Parameters
    ----------
    threads
        How many one operation may use.
    """

    packages = ("tensorflow-cpu", "tensorflow", "numpy")
    channels_first = False

    def __init__(self, threads: int) -> None:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)

    def prepared(self, operands: Operands) -> Call:
        """Return a call whose result is read in place; see `peers.Peer`."""
        workload = operands.workload
        if operands.out is not None:
            raise Refused("has no out=")
        if workload.data_format != "NDHWC":
            raise Refused(f"refuses {workload.data_format} on CPU")
        if workload.dilations != (1, 1, 1):
            raise Refused("refuses dilation on CPU")
        with tf.device("/CPU:0"):
            input: Any = tf.constant(operands.input)
            filters: Any = tf.constant(operands.filters)
            output_shape: Any = tf.constant(workload.output_shape)

        def call() -> Array:
            with tf.device("/CPU:0"):
                result = tf.nn.conv3d_transpose(
                    input,
                    filters,
                    output_shape,
                    workload.strides,
                    workload.padding,
                )
            # .numpy() would copy; this reads TensorFlow's own memory.
            return np.asarray(result)

        return call
