"""A frozen TensorFlow graph, read with protobuf and without TensorFlow.

Of TensorFlow's messages only the fields that a frozen graph uses are described here, with their
numbers in graph.proto, node_def.proto, attr_value.proto, tensor.proto and tensor_shape.proto.
What else a file holds, protobuf keeps as unknown fields and nobody reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

Array: TypeAlias = np.ndarray[Any, Any]

# message: field: (number, type, repeated). Enumerations are sent, and so read, as int32.
MESSAGES: dict[str, dict[str, tuple[int, str, bool]]] = {
    "Graph": {"node": (1, "Node", True)},
    "Node": {
        "name": (1, "string", False),
        "op": (2, "string", False),
        "input": (3, "string", True),
        "attr": (5, "Attribute", True),
    },
    # What the wire holds of a map: pairs.
    "Attribute": {"key": (1, "string", False), "value": (2, "Value", False)},
    "Value": {
        "list": (1, "List", False),
        "s": (2, "bytes", False),
        "i": (3, "int64", False),
        "f": (4, "float", False),
        "b": (5, "bool", False),
        "type": (6, "int32", False),
        "shape": (7, "Shape", False),
        "tensor": (8, "Tensor", False),
    },
    "List": {
        "s": (2, "bytes", True),
        "i": (3, "int64", True),
        "f": (4, "float", True),
        "b": (5, "bool", True),
        "type": (6, "int32", True),
        "shape": (7, "Shape", True),
    },
    "Shape": {"dim": (2, "Dimension", True), "unknown_rank": (3, "bool", False)},
    "Dimension": {"size": (1, "int64", False)},
    "Tensor": {
        "dtype": (1, "int32", False),
        "tensor_shape": (2, "Shape", False),
        "tensor_content": (4, "bytes", False),
        "float_val": (5, "float", True),
        "int_val": (7, "int32", True),
        "int64_val": (10, "int64", True),
        "bool_val": (11, "bool", True),
    },
}

# types.proto; and where a tensor of the type keeps its values if not as bytes.
DTYPES = {1: "float32", 3: "int32", 4: "uint8", 7: "string", 9: "int64", 10: "bool"}
VALUES = {"float32": "float_val", "int32": "int_val", "int64": "int64_val", "bool": "bool_val"}


@dataclass(frozen=True)
class Node:
    """A node of the graph.

    Parameters
    ----------
    name, op
        Its own name and its operation's.
    inputs
        As TensorFlow writes them: ``name``, ``name:output``, or ``^name``, to be run before.
    attributes
        By name; types as names, shapes as tuples with -1 for what is unknown, None for no rank.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: dict[str, Any]


def read(path: Path) -> dict[str, Node]:
    """Read a graph and return its nodes by name.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it holds no graph, or a tensor of a type that is not read here.
    """
    graph = message_class("Graph")()
    try:
        graph.ParseFromString(path.read_bytes())
    except message.DecodeError as error:
        raise ValueError(f"{path} is no frozen TensorFlow graph: {error}") from error
    nodes = {node.name: _node(node) for node in graph.node}
    if not nodes:
        raise ValueError(f"{path} is no frozen TensorFlow graph: there is no node in it")
    return nodes


def message_class(name: str) -> Any:
    """Return the class of a message, in a pool of its own: TensorFlow may be in the process."""
    file = descriptor_pb2.FileDescriptorProto(
        name="frozen_graph.proto", package="frozen", syntax="proto3"
    )
    for title, fields in MESSAGES.items():
        described = file.message_type.add(name=title)
        for field in _fields(title, fields):
            described.field.append(field)
        if title == "Value":
            described.oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"frozen.{name}"))


def _fields(
    title: str, fields: dict[str, tuple[int, str, bool]]
) -> Iterator[descriptor_pb2.FieldDescriptorProto]:
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, (number, kind, repeated) in fields.items():
        field = kinds(name=name, number=number)
        field.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
        if kind in MESSAGES:
            field.type, field.type_name = kinds.TYPE_MESSAGE, f".frozen.{kind}"
        else:
            field.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
        if title == "Value":
            # Of these at most one is there, and which can be asked for.
            field.oneof_index = 0
        yield field


def _node(node: Any) -> Node:
    try:
        attributes = {pair.key: _attribute(pair.value) for pair in node.attr}
    except ValueError as error:
        raise ValueError(f"node {node.name!r} ({node.op}): {error}") from error
    return Node(node.name, node.op, tuple(node.input), attributes)


def _attribute(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return None if kind is None else _plain(kind, getattr(value, kind))


def _plain(kind: str, value: Any) -> Any:
    if kind == "s":
        return value.decode("utf-8")
    if kind == "type":
        return DTYPES.get(value, f"type {value}")
    if kind == "shape":
        return None if value.unknown_rank else tuple(dim.size for dim in value.dim)
    if kind == "tensor":
        return tensor(value)
    if kind == "list":
        return [_plain(field.name, each) for field, values in value.ListFields() for each in values]
    return value


def tensor(value: Any) -> Array:
    """Return the array that a tensor holds, as bytes, or as a list whose last value repeats."""
    dtype = DTYPES.get(value.dtype, f"type {value.dtype}")
    if dtype not in VALUES:
        raise ValueError(f"a tensor of {dtype}; this program reads {', '.join(VALUES)}")
    shape = tuple(dim.size for dim in value.tensor_shape.dim)
    count = int(np.prod(shape))
    if value.tensor_content:
        found = np.frombuffer(value.tensor_content, np.dtype(dtype).newbyteorder("<"))
        found = found.astype(dtype)
    else:
        found = np.array(getattr(value, VALUES[dtype]), dtype)
        if found.size < count:
            found = np.pad(
                found, (0, count - found.size), mode="edge" if found.size else "constant"
            )
    if found.size != count:
        raise ValueError(f"a tensor of shape {list(shape)} with {found.size} values")
    return found.reshape(shape)
