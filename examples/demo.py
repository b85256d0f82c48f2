"""What opspec does, in under two minutes: ``python examples/demo.py``.

First the three transposed convolutions of a trained network, on every backend that can run here,
measured against TensorFlow's own answers; then a real MRI volume enlarged by one call; last the
quick conformance run of the same backends, whose exit code is the demo's.
"""

import argparse
import importlib.resources
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import demo_mri
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.rule import Rule
from rich.table import Table
from safetensors import safe_open

import opspec
from opspec.cli import main as opspec_command
from opspec.conformance.oracle import direct_sum
from opspec.conformance.tolerance import LARGEST_RHO, rhos
from opspec.registry import Piece, discovery

Array: TypeAlias = np.ndarray[Any, Any]

STRIDES = [1, 2, 2, 2, 1]

console = Console(highlight=False)
console.width = min(console.width, 80)


@dataclass(frozen=True)
class Layer:
    """A layer of a trained network with what TensorFlow made of it."""

    name: str
    input: Array
    filters: Array
    tf_float32: Array
    tf_float64: Array

    @property
    def output_shape(self) -> list[int]:
        """The shape of the result."""
        return list(self.tf_float64.shape)

    def transposed(self, backend: str) -> Array:
        """Compute the layer."""
        return opspec.nn.conv3d_transpose(
            self.input, self.filters, self.output_shape, strides=2, padding="SAME", backend=backend
        )

    def backpropagated(self, backend: str) -> Array:
        """Compute the layer as the gradient that it also is."""
        return opspec.raw_ops.Conv3DBackpropInputV2(
            input_sizes=self.output_shape,
            filter=self.filters,
            out_backprop=self.input,
            strides=STRIDES,
            padding="SAME",
            backend=backend,
        )

    def magnitude(self) -> Array:
        """Sum the absolute values that meet in each element: what rounding is measured by."""
        _, absolute = direct_sum(
            input_sizes=self.output_shape,
            filter=self.filters,
            out_backprop=self.input,
            strides=STRIDES,
            padding="SAME",
            data_format="NDHWC",
            dilations=[1] * 5,
        )
        return absolute


def main(arguments: list[str] | None = None) -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(description="What opspec does, in under two minutes.")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where the pictures go")
    out = parser.parse_args(arguments).out
    try:
        available = show_layers()
        show_enlargement(out)
        check = ["check", "--quick", *available]
        heading(f"3. The conformance run: opspec {' '.join(check)}")
        return opspec_command(check)
    except KeyboardInterrupt:
        console.print("\nInterrupted.")
        return 130


def heading(text: str) -> None:
    """Print a heading."""
    console.print()
    console.print(Rule(f"[bold]{escape(text)}[/]", align="left"))


def show_layers() -> list[str]:
    """Run the network's layers on every backend that can, and return those backends."""
    heading("1. Three layers of a trained network, against TensorFlow")
    console.print(
        "deepbrain 0.1 is a 3-D U-Net that finds the brain in an MRI scan. These are its\n"
        "three Conv3DBackpropInputV2 layers, on activations from nibabel's example scan.\n"
    )
    layers = read_layers()
    available = who_can_run(layers[0])
    table = Table(title_justify="left", caption_justify="left", caption_style="")
    for title in ("input", "result", "computed by"):
        table.add_column(title)
    for title in (f"error (limit {LARGEST_RHO:g})", "best time"):
        table.add_column(title, justify="right")
    for layer in layers:
        magnitude = layer.magnitude()
        theirs = float(rhos(layer.tf_float32, layer.tf_float64, magnitude).max())
        shapes = [shape_in_words(layer.input.shape), shape_in_words(layer.tf_float64.shape)]
        table.add_row(*shapes, "TensorFlow", f"{theirs:.2f}", "")
        for name in available:
            table.add_row("", "", name, *measured(layer, name, magnitude))
        table.add_section()
    console.print(table)
    console.print(
        "Error: the largest |y - ref| / (u * sum|a*b|), where ref is TensorFlow's answer\n"
        "in float64 and u is 2**-24, of results in float32; TensorFlow's own too.\n"
        "Time: NumPy arrays in, a NumPy array out; the best of 15.\n"
        "raw_ops.Conv3DBackpropInputV2 gave the same bits as nn.conv3d_transpose."
    )
    return available


def read_layers() -> list[Layer]:
    """Read the layers that come with the conformance suite."""
    golden = importlib.resources.files("opspec.conformance.golden") / "conv3d_transpose"
    parts = ("input", "filters", "tf_float32", "tf_float64")
    with (
        importlib.resources.as_file(golden / "real.safetensors") as path,
        safe_open(path, framework="numpy") as file,
    ):
        names = sorted({key.partition(".")[0] for key in file.keys()})  # noqa: SIM118  # no mapping
        return [
            Layer(name, *(file.get_tensor(f"{name}.{part}") for part in parts)) for name in names
        ]


def who_can_run(layer: Layer) -> list[str]:
    """Print which backend takes the layer and why each other one does not; warm those that do."""
    call = (layer.input, layer.filters, layer.output_shape, 2)
    available = []
    for name in discovery.names():
        refusal = opspec.explain("conv3d_transpose", *call, backend=name).candidates[0].refusal
        if refusal is None:
            available.append(name)
            console.print(f"[bold]{name}[/] [green]runs[/]")
            if (warmth := opspec.warmup(name, progress=show_piece)).pieces:
                console.print(escape(str(warmth)), style="dim")
        else:
            console.print(f"[bold]{name}[/] [yellow]does not run:[/] {escape(refusal)}")
    chosen = opspec.explain("conv3d_transpose", *call).chosen
    console.print(f"Where the caller names no backend, [bold]{chosen}[/] takes this call.\n")
    return available


def show_piece(piece: Piece) -> None:
    """Print what a backend has just compiled."""
    console.print(f"  {escape(piece.name)} compiled in {piece.seconds:.1f} s", style="dim")


def measured(layer: Layer, backend: str, magnitude: Array) -> tuple[str, str]:
    """Return a layer's error and best time on a backend, as the table shows them."""
    result = layer.transposed(backend)
    error = float(rhos(result, layer.tf_float64, magnitude).max())
    if not error <= LARGEST_RHO:
        raise RuntimeError(f"{backend} is wrong by {error:.3g} bounds on {layer.name}")
    if result.tobytes() != layer.backpropagated(backend).tobytes():
        raise RuntimeError(f"{backend} gives other bits through raw_ops on {layer.name}")
    seconds = best_time(lambda: layer.transposed(backend), repeats=15)
    return f"{error:.2f}", f"{seconds * 1e3:.2f} ms"


def best_time(call: Callable[[], object], repeats: int) -> float:
    """Return the seconds that the fastest of several calls took: the least disturbed one."""
    return min(timeit.repeat(call, number=1, repeat=repeats))


def shape_in_words(shape: tuple[int, ...]) -> str:
    """Write a shape without its batch."""
    return "x".join(map(str, shape[1:]))


def show_enlargement(out: Path) -> None:
    """Enlarge the MRI volume, verify it, and save it as a picture and as a volume."""
    heading("2. A real MRI volume, twice as fine by one call of conv3d_transpose")
    scan = demo_mri.read_scan()
    volume = demo_mri.voxels_of(scan)
    large = demo_mri.enlarged(volume)
    seconds = best_time(lambda: demo_mri.enlarged(volume), repeats=3)
    reference = demo_mri.interpolated(volume)
    difference = float(np.abs(large - reference).max() / np.abs(reference).max())
    if not difference <= 1e-6:
        raise RuntimeError(f"the enlarged volume differs from interpolation by {difference:.2g}")
    finer = demo_mri.placed(large, scan)
    picture, file = demo_mri.save(scan, finer, out)
    console.print(
        f"from   {demo_mri.in_words(scan)}\n"
        f"to     {demo_mri.in_words(finer)}\n"
        f"in     {seconds * 1e3:.0f} ms, padding and cropping included\n\n"
        f"Largest difference from numpy.interp, axis by axis in float64: {difference:.1e} of\n"
        "the brightest voxel. (The scan holds small integers and the weights are\n"
        "sixty-fourths, so 0 is possible, and expected.)\n"
    )
    # Paths are for copying, so they are not broken at the margin.
    console.print(f"picture {picture}\nvolume  {file}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    sys.exit(main())
