"""From a frozen graph to layers: what is known without an image is computed here, once.

Every node on the way to the result is either

* known: constants, and the integers of shapes, which are computed with NumPy;
* a tensor that depends on the image: a layer, or another name of one;
* dead: on the side of a Switch that is not taken. The network was frozen with its dropout, behind a
  Switch that asks whether it is being trained.

`supported` says of each operation what is run here; all else is refused, by node and attribute.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import Any, TypeAlias

import numpy as np
from frozen_graph import Node
from operations import (
    Concatenation,
    Convolution,
    Copy,
    InPlace,
    MaxPool,
    Operation,
    Shape,
    TransposedConvolution,
    bias_add,
    relu,
    sigmoid,
)
from supported import checked

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tensor:
    """A tensor that depends on the image: the layer that makes it, and its shape."""

    name: str
    shape: Shape


class Dead:
    """What is not computed."""


DEAD = Dead()
Value: TypeAlias = Array | Tensor | Dead


@dataclass(frozen=True)
class Layer:
    """An operation, and what is then done in place to its result."""

    name: str
    ops: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    operation: Operation
    shape: Shape
    in_place: tuple[InPlace, ...] = ()


@dataclass(frozen=True)
class Network:
    """The layers in an order in which they can run; the last one makes the result."""

    image: Tensor
    layers: tuple[Layer, ...]

    def largest_convolution(self) -> tuple[Layer, Convolution]:
        """Return the convolution that reads the largest tensor.

        Raises
        ------
        ValueError
            If there is none.
        """
        found = [
            (layer, layer.operation)
            for layer in self.layers
            if isinstance(layer.operation, Convolution)
        ]
        if not found:
            raise ValueError("there is no Conv3D in the network")
        return max(found, key=lambda pair: prod(pair[0].inputs[0].shape))


def network_of(
    nodes: Mapping[str, Node], image: str, result: str, given: Mapping[str, bool]
) -> Network:
    """Make the layers that lead from the image to the result.

    Parameters
    ----------
    nodes
        The graph.
    image, result
        The names of two nodes.
    given
        What other nodes are to be, by name.

    Raises
    ------
    ValueError
        If the graph holds what is not run here; the message names the node.
    """
    values: dict[str, Value] = {f"{name}:0": np.array(value) for name, value in given.items()}
    layers: list[Layer] = []
    for name in _in_order(nodes, result, {image, *given}):
        if name in given:
            continue
        node = nodes[name]
        if name == image:
            values[f"{name}:0"] = start = Tensor(name, _image_shape(node))
            continue
        inputs = [_value(values, node, each) for each in node.inputs]
        found = _evaluated(node, inputs)
        if isinstance(found, Layer):
            layers.append(found)
            found = Tensor(found.name, found.shape)
        outputs = found if isinstance(found, tuple) else (found,)
        values.update({f"{name}:{index}": each for index, each in enumerate(outputs)})
    end = values[f"{result}:0"]
    if not layers or not isinstance(end, Tensor) or end.name != layers[-1].name:
        raise ValueError(f"node {result!r} is not computed from the image {image!r}")
    return Network(start, tuple(_joined(layers)))


def _in_order(nodes: Mapping[str, Node], result: str, given: Iterable[str]) -> list[str]:
    """Return all that the result needs, each after what it needs itself."""
    needs: dict[str, set[str]] = {}
    waiting = [(result, "the result")]
    while waiting:
        name, reader = waiting.pop()
        if name in needs:
            continue
        if name not in nodes:
            raise ValueError(f"node {name!r}, which {reader} reads, is not in the graph")
        inputs = () if name in given else nodes[name].inputs
        needs[name] = {_node_of(each) for each in inputs}
        waiting += [(each, f"node {name!r}") for each in needs[name]]
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise ValueError(f"the graph has a cycle: {' <- '.join(error.args[1])}") from error


def _node_of(written: str) -> str:
    return written.removeprefix("^").partition(":")[0]


def _value(values: Mapping[str, Value], node: Node, written: str) -> Value:
    if written.startswith("^"):
        written = written[1:]
    key = written if ":" in written else f"{written}:0"
    if key not in values:
        raise ValueError(f"node {node.name!r} reads {written!r}, which no node makes")
    return values[key]


def _image_shape(node: Node) -> Shape:
    shape = node.attributes.get("shape")
    if not shape or len(shape) != 5 or min(shape[1:]) < 1 or shape[0] not in (-1, 1):
        raise ValueError(
            f"node {node.name!r} ({node.op}): the image must have a shape of five known extents, "
            f"the first 1 or unknown; it has {shape}"
        )
    return (1, *shape[1:])


def _evaluated(node: Node, inputs: list[Value]) -> Value | Layer | tuple[Value, ...]:
    """Return what a node makes."""
    if node.op == "Merge":
        alive = [each for each in inputs if each is not DEAD]
        if checked(node) and len(alive) > 1:
            raise ValueError(f"node {node.name!r} (Merge): both sides of its Switch are taken")
        return alive[0] if alive else DEAD
    if any(each is DEAD for each in inputs):
        return (DEAD, DEAD) if node.op == "Switch" else DEAD
    attributes = checked(node)
    # What only had to run before is no argument.
    inputs = [
        each for each, name in zip(inputs, node.inputs, strict=True) if not name.startswith("^")
    ]
    try:
        if node.op in ("Identity", "PlaceholderWithDefault"):
            return inputs[0]
        if node.op == "Switch":
            taken = bool(_known(inputs[1]))
            return (DEAD, inputs[0]) if taken else (inputs[0], DEAD)
        if node.op == "Shape" and isinstance(inputs[0], Tensor):
            return np.array(inputs[0].shape, np.int32)
        if node.op in INTEGERS:
            return np.asarray(INTEGERS[node.op](attributes, *map(_known, inputs)))
        return _layer(node, attributes, inputs)
    except ValueError as error:
        raise ValueError(f"node {node.name!r} ({node.op}): {error}") from error


def _known(value: Value) -> Array:
    if not isinstance(value, np.ndarray):
        raise ValueError("an input depends on the image where it must be known beforehand")
    return value


def _strided_slice(attributes: dict[str, Any], *operands: Array) -> Array:
    vector, *bounds = operands
    found = vector[slice(*(int(bound.item()) for bound in bounds))]
    return found[0] if attributes["shrink_axis_mask"] else found


INTEGERS: dict[str, Any] = {
    "Const": lambda attributes: attributes["value"],
    "Mul": lambda attributes, x, y: x * y,
    "Pack": lambda attributes, *parts: np.stack(parts),
    "StridedSlice": _strided_slice,
}


def _layer(node: Node, attributes: dict[str, Any], inputs: list[Value]) -> Layer:
    tensors = tuple(each for each in inputs if isinstance(each, Tensor))
    if len(tensors) != (len(inputs) - 1 if node.op == "ConcatV2" else 1):
        raise ValueError("not the inputs that should do so depend on the image")
    in_place: tuple[InPlace, ...] = ()
    operation: Operation = Copy()
    match node.op:
        case "Conv3D":
            operation = Convolution(_known(inputs[1]))
        case "Conv3DBackpropInputV2":
            operation = TransposedConvolution(_known(inputs[1]), attributes["strides"][1])
        case "MaxPool3D":
            operation = MaxPool(attributes["ksize"][1], attributes["strides"][1])
        case "ConcatV2":
            if _known(inputs[-1]) not in (-1, 4):
                raise ValueError(f"axis must be the channels, -1 or 4; given {inputs[-1]}")
            operation = Concatenation()
        case "BiasAdd":
            in_place = (bias_add(_bias(_known(inputs[1]), tensors[0])),)
        case "Relu":
            in_place = (relu,)
        case "Sigmoid":
            in_place = (sigmoid,)
    shape = operation.shape(*(tensor.shape for tensor in tensors))
    if node.op == "Conv3DBackpropInputV2" and shape != tuple(_known(inputs[0])):
        raise ValueError(
            f"input_sizes must be {list(shape)}, stride times out_backprop; given {inputs[0]}"
        )
    return Layer(node.name, (node.op,), tensors, operation, shape, in_place)


def _bias(bias: Array, values: Tensor) -> Array:
    if bias.shape != values.shape[-1:]:
        raise ValueError(
            f"bias must have shape {list(values.shape[-1:])}; given {list(bias.shape)}"
        )
    return bias


def _joined(layers: list[Layer]) -> list[Layer]:
    """Let what works in place do so: in the layer whose result nobody else reads."""
    readers = [tensor.name for layer in layers for tensor in layer.inputs]
    joined: dict[str, Layer] = {}
    for layer in layers:
        source = layer.inputs[0].name
        if isinstance(layer.operation, Copy) and source in joined and readers.count(source) == 1:
            before = joined.pop(source)
            layer = replace(
                before,
                name=layer.name,
                ops=before.ops + layer.ops,
                in_place=before.in_place + layer.in_place,
            )
        joined[layer.name] = layer
    return list(joined.values())
