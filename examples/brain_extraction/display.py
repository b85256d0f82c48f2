"""What a person sees while the network runs: each layer when it is done, and what runs now."""

import sys
from typing import TextIO

from network import Layer
from operations import Shape
from slabs import Stage


class Display:
    """A report of stages, in lines of at most 80 characters."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self._show(_columns("layer", "operations", "input -> result", "time"))

    def __call__(self, stage: Stage) -> None:
        """Show a stage: what it does, or what it has done."""
        if stage.done < stage.slabs:
            if self.stream.isatty():
                now = f"  {_short(stage.layers[-1].name)}, {stage.done} of {stage.slabs} slabs"
                print(f"\r{now:<79}", end="", file=self.stream, flush=True)
            return
        if self.stream.isatty():
            print(f"\r{'':79}\r", end="", file=self.stream)
        for layer in stage.layers:
            time = f"{stage.seconds[layer.name]:.3f}"
            self._show(_columns(_short(layer.name), "+".join(layer.ops), _shapes(layer), time))
        if stage.slabs > 1:
            self._show(f"  {len(stage.layers)} layers together, in {stage.slabs} slabs")

    def _show(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


def _columns(name: str, ops: str, shapes: str, time: str) -> str:
    return f"{name:<18} {ops:<22} {shapes:<31} {time:>6}"


def _short(name: str) -> str:
    """Return the name of the layer that a node belongs to."""
    return name.partition("/")[0]


def _shapes(layer: Layer) -> str:
    several = len(layer.inputs) > 1
    inputs = f"{len(layer.inputs)} tensors" if several else _extents(layer.inputs[0].shape)
    return f"{inputs} -> {_extents(layer.shape)}"


def _extents(shape: Shape) -> str:
    return "x".join(map(str, shape[1:]))
