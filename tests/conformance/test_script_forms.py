"""The lines of a form lay the operands out as the form says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opspec.conformance.script import write

Array = np.ndarray[Any, Any]

LYING: dict[str, Callable[[Array], bool]] = {
    "strided": lambda a: a.strides[-1] == 2 * a.itemsize and a.strides[0] == 4 * a[0].nbytes,
    "negative-stride": lambda a: max(a.strides) < 0,
    "fortran": lambda a: a.flags.f_contiguous,
    "read-only": lambda a: not a.flags.writeable,
    "big-endian": lambda a: a.dtype.byteorder == ">",
    "misaligned": lambda a: not a.flags.aligned,
    "broadcast": lambda a: 0 in a.strides,
}


@pytest.mark.parametrize("form", LYING)
def test_operands_lie_as_the_form_says(form: str) -> None:
    taps = np.arange(48, dtype=np.float32).reshape(2, 2, 2, 3, 2)
    data = np.arange(48, dtype=np.float32).reshape(2, 2, 2, 3, 2)
    arguments = {
        "input_sizes": [2, 2, 2, 3, 3],
        "filter": taps,
        "out_backprop": data,
        "strides": [1] * 5,
        "padding": "SAME",
    }
    script = write(
        "Conv3DBackpropInputV2",
        arguments,
        backend="numpy",
        form=form,
        shows=lambda program: False,
    )
    made: dict[str, Any] = {}
    exec(script.partition("got = ")[0], made)
    for name, given in (("data", data), ("taps", taps)):
        assert LYING[form](made[name])
        if form != "broadcast":
            np.testing.assert_array_equal(made[name], given)
