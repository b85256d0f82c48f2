"""Which operations are run here, with how many inputs and which attributes.

The first value of each is what TensorFlow takes where a node does not have the attribute.
"""

from typing import Any

from frozen_graph import Node

ONES = [1, 1, 1, 1, 1]
FLOAT, INTEGER = ("float32",), ("int32",)
CHANNELS_LAST = ("NDHWC",)


class Cube:
    """Any list [1, n, n, n, 1]."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, list) and any(value == [1, n, n, n, 1] for n in range(1, 9))

    def __str__(self) -> str:
        return "[1, n, n, n, 1] with n from 1 to 8"


class Anything:
    """What changes nothing here."""

    def __contains__(self, value: object) -> bool:
        return True


ANY = Anything()
CUBE = Cube()

ATTRIBUTES: dict[str, dict[str, Any]] = {
    "BiasAdd": {"T": FLOAT, "data_format": ("NHWC", "NDHWC")},
    "ConcatV2": {"N": ANY, "T": FLOAT, "Tidx": ("int32", "int64")},
    "Const": {"dtype": ANY, "value": ANY},
    "Conv3D": {
        "T": FLOAT,
        "data_format": CHANNELS_LAST,
        "dilations": (ONES,),
        "padding": ("SAME",),
        "strides": (ONES,),
    },
    "Conv3DBackpropInputV2": {
        "T": FLOAT,
        "Tshape": INTEGER,
        "data_format": CHANNELS_LAST,
        "dilations": (ONES,),
        "padding": ("SAME",),
        "strides": CUBE,
    },
    "Identity": {"T": ANY},
    "MaxPool3D": {
        "T": FLOAT,
        "data_format": CHANNELS_LAST,
        "ksize": CUBE,
        "padding": ("VALID",),
        "strides": CUBE,
    },
    "Merge": {"N": ANY, "T": ANY},
    "Mul": {"T": INTEGER},
    "Pack": {"N": ANY, "T": INTEGER, "axis": (0,)},
    "PlaceholderWithDefault": {"dtype": ANY, "shape": ANY},
    "Relu": {"T": FLOAT},
    "Shape": {"T": ANY, "out_type": INTEGER},
    "Sigmoid": {"T": FLOAT},
    "StridedSlice": {
        "Index": INTEGER,
        "T": INTEGER,
        "begin_mask": (0,),
        "ellipsis_mask": (0,),
        "end_mask": (0,),
        "new_axis_mask": (0,),
        "shrink_axis_mask": (0, 1),
    },
    "Switch": {"T": ANY},
}


# None where the attribute N says how many.
INPUTS: dict[str, int | None] = {
    "BiasAdd": 2,
    "ConcatV2": None,
    "Const": 0,
    "Conv3D": 2,
    "Conv3DBackpropInputV2": 3,
    "Identity": 1,
    "MaxPool3D": 1,
    "Merge": None,
    "Mul": 2,
    "Pack": None,
    "PlaceholderWithDefault": 1,
    "Relu": 1,
    "Shape": 1,
    "Sigmoid": 1,
    "StridedSlice": 4,
    "Switch": 2,
}


def checked(node: Node) -> dict[str, Any]:
    """Return a node's attributes, complete, once all are known to be run here.

    Raises
    ------
    ValueError
        Naming the node, its operation and the attribute.
    """
    known = ATTRIBUTES.get(node.op)
    if known is None:
        raise ValueError(
            f"node {node.name!r}: the operation {node.op} is not run here; "
            f"those that are: {', '.join(ATTRIBUTES)}"
        )
    for name, value in node.attributes.items():
        # TensorFlow's kernels do not look at what begins so; it places and colours nodes.
        if name.startswith("_"):
            continue
        if name not in known:
            raise ValueError(f"node {node.name!r} ({node.op}): unknown attribute {name!r}")
        if value not in known[name]:
            allowed = known[name]
            words = allowed if isinstance(allowed, Cube) else " or ".join(map(str, allowed))
            raise ValueError(
                f"node {node.name!r} ({node.op}): {name} must be {words}; given {value}"
            )
    data = [name for name in node.inputs if not name.startswith("^")]
    needed = INPUTS[node.op]
    if len(data) != needed and needed is not None:
        raise ValueError(
            f"node {node.name!r} ({node.op}): it needs {needed} inputs; given {len(data)}"
        )
    missing = {
        name: allowed[0]
        for name, allowed in known.items()
        if name not in node.attributes and isinstance(allowed, tuple)
    }
    return missing | node.attributes
