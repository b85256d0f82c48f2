"""Running the layers in little memory.

The result and every small tensor are held as a whole, until their last use. A large tensor never
is: where a layer needs some rows of it, they are made, used and forgotten, and made again where
another layer needs them. So the layers between held tensors run together (a `Stage`), one slab of
rows after the other. What this computes twice is what lies beyond a slab within the reach of the
filters, and large tensors with two readers: in a U-Net the first layers, which are cheap, because
the image has few channels.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
from network import Layer, Network
from operations import DEPTH, Shape

Array: TypeAlias = np.ndarray[Any, Any]

# A larger tensor is made in slabs in which no tensor is larger.
SLAB_BYTES = 1 << 24


@dataclass
class Stage:
    """Layers that run together; the last one's result is held."""

    layers: list[Layer]
    slabs: int
    done: int = 0
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return self.layers[-1].shape

    def reads(self) -> set[str]:
        """Return the tensors that the layers read."""
        return {tensor.name for layer in self.layers for tensor in layer.inputs}


Report: TypeAlias = Callable[[Stage], object]


def stages_of(network: Network, slab_bytes: int = SLAB_BYTES) -> list[Stage]:
    """Divide the layers into those that run together."""
    before = network.layers[:-1]
    passing = {layer.name: layer for layer in before if _bytes(layer.shape) > slab_bytes}
    stages = []
    for layer in network.layers:
        if layer.name not in passing:
            group = list({each.name: each for each in _leading_to(layer, passing)}.values())
            stages.append(Stage(group, _slabs(group, slab_bytes)))
    return stages


def run(
    network: Network, image: Array, report: Report | None = None, slab_bytes: int = SLAB_BYTES
) -> Array:
    """Run a network on an image.

    Parameters
    ----------
    network
        The layers.
    image
        Of the shape that the network takes; float32.
    report
        Called before the first and after each slab of a stage, with the stage.
    slab_bytes
        How large the tensors between held ones may be.

    Raises
    ------
    ValueError
        If the image has another shape.
    """
    if image.shape != network.image.shape:
        raise ValueError(
            f"the network takes an image of shape {list(network.image.shape)}; "
            f"given {list(image.shape)}"
        )
    held = {network.image.name: np.ascontiguousarray(image, np.float32)}
    del image
    stages = stages_of(network, slab_bytes)
    for index, stage in enumerate(stages):
        result = _run_stage(stage, held, report)
        needed = {name for later in stages[index + 1 :] for name in later.reads()}
        held = {name: array for name, array in held.items() if name in needed}
        held[stage.layers[-1].name] = result
    return result


def _leading_to(layer: Layer, passing: Mapping[str, Layer]) -> Iterator[Layer]:
    """Yield the passing layers between the held tensors and a layer, and it."""
    for tensor in layer.inputs:
        if tensor.name in passing:
            yield from _leading_to(passing[tensor.name], passing)
    yield layer


def _bytes(shape: Shape) -> int:
    return 4 * prod(shape)


def _slabs(layers: list[Layer], slab_bytes: int) -> int:
    """Return how many slabs it takes for no tensor in one to be too large."""
    largest = max(_bytes(layer.shape) for layer in layers)
    return min(-(-largest // slab_bytes), layers[-1].shape[DEPTH])


def _run_stage(stage: Stage, held: Mapping[str, Array], report: Report | None) -> Array:
    result = np.empty(stage.shape, np.float32)
    run = _Run(stage, held)
    depth = stage.shape[DEPTH]
    bounds = [depth * index // stage.slabs for index in range(stage.slabs + 1)]
    if report:
        report(stage)
    for start, stop in pairwise(bounds):
        run.compute(stage.layers[-1], range(start, stop), result[:, start:stop])
        stage.done += 1
        if report:
            report(stage)
    return result


@dataclass
class _Run:
    """A stage being run."""

    stage: Stage
    held: Mapping[str, Array]

    def __post_init__(self) -> None:
        self.makers = {layer.name: layer for layer in self.stage.layers}

    def rows(self, name: str, rows: range) -> Array:
        """Return rows of a tensor: of the held one, or made now."""
        if name in self.held:
            return self.held[name][:, rows.start : rows.stop]
        return self.compute(self.makers[name], rows)

    def compute(self, layer: Layer, rows: range, out: Array | None = None) -> Array:
        """Compute rows of a layer's result, into `out` if there is one."""
        read = layer.operation.rows_read(rows, layer.inputs[0].shape[DEPTH])
        inputs = [self.rows(tensor.name, read) for tensor in layer.inputs]
        begun = time.perf_counter()
        made = layer.operation.shape(*(array.shape for array in inputs))
        whole = made[DEPTH] == len(rows)
        result = layer.operation.run(inputs, out if whole else None)
        del inputs
        first = rows.start - int(read.start * layer.operation.scale)
        result = result[:, first : first + len(rows)]
        # Row by row all that is done in place, as long as the row is in the processor's cache.
        for row in result[0]:
            for change in layer.in_place:
                change(row)
        if out is not None and not whole:
            np.copyto(out, result)
            result = out
        self.stage.seconds[layer.name] += time.perf_counter() - begun
        return result
