"""Makes what lies beside it, with TensorFlow and scikit-image: a small U-Net, run and frozen.

``python make.py``, where tensorflow-cpu and scikit-image are. The network has what deepbrain's
has: dropout behind a Switch, sizes computed from shapes, both convolutions, pooling, concatenation.
"""

from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf
from skimage.transform import resize

HERE = Path(__file__).parent
SHAPE = (1, 8, 12, 4, 1)
RESIZES = (((7, 9, 5), (12, 4, 5)), ((20, 3, 2), (3, 1, 7)), ((2, 3, 4), (8, 6, 4)))


def layer(values: tf.Tensor, name: str, channels: int, size: int = 3) -> tf.Tensor:
    """Convolve, add a bias, and cut off what is below zero."""
    with tf.variable_scope(name):
        shape = (size, size, size, values.shape[-1], channels)
        kernel = tf.constant(draw.normal(0, 0.4, shape), tf.float32, name="kernel")
        bias = tf.constant(draw.normal(0, 0.5, channels), tf.float32, name="bias")
        values = tf.nn.conv3d(values, kernel, [1] * 5, "SAME", name="Conv3D")
        return tf.nn.bias_add(values, bias, name="BiasAdd")


def dropped(values: tf.Tensor, training: tf.Tensor) -> tf.Tensor:
    """Drop some, if it is being trained."""
    return tf.cond(training, lambda: tf.nn.dropout(values, rate=0.3), lambda: tf.identity(values))


def enlarged(values: tf.Tensor, channels: int) -> tf.Tensor:
    """Double depth, height and width."""
    shape = tf.shape(values)
    sizes = tf.stack([shape[0], *(shape[axis] * 2 for axis in (1, 2, 3)), channels])
    kernel = tf.constant(
        draw.normal(0, 0.4, (3, 3, 3, channels, values.shape[-1])), tf.float32, name="kernel"
    )
    found = tf.nn.conv3d_transpose(values, kernel, sizes, [1, 2, 2, 2, 1], "SAME")
    found.set_shape((None, *(2 * size for size in values.shape[1:4]), channels))
    return found


def network() -> None:
    """Add the network to the graph."""
    default = tf.placeholder_with_default(tf.zeros(SHAPE), (None, *SHAPE[1:]), name="img")
    training = tf.placeholder_with_default(True, (), name="training")
    fine = tf.nn.relu(layer(tf.nn.relu(layer(default, "first", 3)), "second", 4))
    coarse = dropped(tf.nn.max_pool3d(fine, 2, 2, "VALID"), training)
    coarse = tf.nn.relu(layer(coarse, "third", 5))
    both = tf.concat([enlarged(coarse, 2), fine], axis=-1)
    last = dropped(tf.nn.relu(layer(both, "fourth", 3)), training)
    tf.nn.sigmoid(layer(last, "fifth", 1, size=1), name="prob")


draw = np.random.default_rng(5)
tf.disable_control_flow_v2()
with tf.Graph().as_default() as graph, tf.Session() as session:
    network()
    image = draw.random(SHAPE, np.float32)
    found = session.run("prob:0", {"img:0": image, "training:0": False})
    (HERE / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))
values = {"image": image, "probability": found}
for index, (old, new) in enumerate(RESIZES):
    volume = draw.normal(0.5, 1, old) + 3 * index
    values[f"volume_{index}"] = volume
    values[f"resized_{index}"] = resize(volume, new, mode="constant", anti_aliasing=True)
np.savez(HERE / "values.npz", **values)
print(found.min(), found.max())
