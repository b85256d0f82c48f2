"""Settings of the whole process that a kernel changes and leaves changed."""

import random
from collections.abc import Iterator

import numpy as np

from opspec.conformance.mutants.mutant import Mutant, family_of
from opspec.conformance.mutants.recipe import RIGHT, Array, Kernel
from opspec.geometry import ConvGeometry


def settings_mutants() -> Iterator[Mutant]:
    """Yield more of the family "special"."""
    return family_of("special", _rows())


def _rows() -> Iterator[tuple[str, str, Kernel]]:
    yield (
        "floating-point-errors-left-raising",
        "NumPy left so that it raises where a number overflows",
        _leaving_errors,
    )
    yield "numpys-random-numbers-seeded", "NumPy's random numbers seeded", _seeding_numpy
    yield "pythons-random-numbers-drawn", "Python's random numbers drawn from", _drawing


def _leaving_errors(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    result = RIGHT(geometry, filter, out_backprop)
    np.seterr(over="raise", invalid="raise")
    return result


def _seeding_numpy(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    np.random.seed(0)
    return RIGHT(geometry, filter, out_backprop)


def _drawing(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    random.random()
    return RIGHT(geometry, filter, out_backprop)
