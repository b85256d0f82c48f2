"""Seventy-seven transposed convolutions as public code has them, from `real_layers.json`.

The file holds sizes only. Where its source pads or crops in another way, a layer's note says so:
the cost is the same, the alignment is not.
"""

import json
from functools import cache
from pathlib import Path

from workload import Workload

FILE = Path(__file__).with_name("real_layers.json")


@cache
def real_layers() -> tuple[Workload, ...]:
    """Return the layers, in the file's order."""
    layers = json.loads(FILE.read_text())
    for layer in layers:
        note = layer.pop("note", None)
        layer["meaning"] = layer.pop("source") + (f" ({note})" if note else "")
    return tuple(Workload.from_json(layer) for layer in layers)
