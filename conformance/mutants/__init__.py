"""Deliberately wrong kernels, each with one fault: a suite is as good as what it catches of them.

Each is a backend of its own too: ``opspec check opspec.conformance.mutants:overlaps_averaged``.
"""

from difflib import get_close_matches
from functools import cache

from opspec.conformance.mutants.batch import batch_mutants
from opspec.conformance.mutants.channels import channel_mutants
from opspec.conformance.mutants.concurrency import concurrency_mutants
from opspec.conformance.mutants.endings import ending_mutants
from opspec.conformance.mutants.form import form_mutants
from opspec.conformance.mutants.index import index_mutants
from opspec.conformance.mutants.layout import layout_mutants
from opspec.conformance.mutants.memory import memory_mutants
from opspec.conformance.mutants.mutant import FAMILIES, Mutant, backend_of
from opspec.conformance.mutants.operands import operand_mutants
from opspec.conformance.mutants.padding import padding_mutants
from opspec.conformance.mutants.precision import precision_mutants
from opspec.conformance.mutants.recipe import RIGHT
from opspec.conformance.mutants.reuse import reuse_mutants
from opspec.conformance.mutants.seldom import seldom_mutants
from opspec.conformance.mutants.settings import settings_mutants
from opspec.conformance.mutants.shapes import shape_mutants
from opspec.conformance.mutants.sibling_kernels import RIGHT as RIGHT_SIBLING
from opspec.conformance.mutants.sibling_kernels import kernel_of
from opspec.conformance.mutants.siblings import SHORT, sibling_mutants
from opspec.conformance.mutants.special import special_mutants
from opspec.conformance.mutants.specialised import specialised_mutants
from opspec.conformance.mutants.steps import step_mutants
from opspec.conformance.mutants.tiles import tile_mutants
from opspec.registry import Backend

__all__ = [
    "FAMILIES",
    "RIGHT",
    "Mutant",
    "all_mutants",
    "find",
    "right_backend",
    "right_sibling",
]

_SOURCES = (
    index_mutants,
    tile_mutants,
    shape_mutants,
    padding_mutants,
    step_mutants,
    layout_mutants,
    channel_mutants,
    batch_mutants,
    precision_mutants,
    memory_mutants,
    reuse_mutants,
    operand_mutants,
    special_mutants,
    settings_mutants,
    form_mutants,
    specialised_mutants,
    seldom_mutants,
    concurrency_mutants,
    ending_mutants,
    sibling_mutants,
)


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Return all mutants, those of a family together."""
    found = [mutant for source in _SOURCES for mutant in source()]
    return tuple(sorted(found, key=lambda mutant: FAMILIES.index(mutant.family)))


def find(name: str) -> Mutant:
    """Return the mutant of that name.

    Raises
    ------
    LookupError
        If there is none; the message names those that are spelled alike.
    """
    known = {mutant.name: mutant for mutant in all_mutants()}
    if name in known:
        return known[name]
    close = get_close_matches(name, known, n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise LookupError(f"there is no mutant {name!r:.80}{hint}")


def right_backend() -> Backend:
    """Return a backend of the recipe that all mutants are made from, without a fault."""
    return backend_of("right-recipe", RIGHT)


def right_sibling(operation: str) -> Backend:
    """Return a backend of what the mutants of Conv3D or of the filter's gradient are made from."""
    return backend_of("right-sibling", kernel_of(operation, RIGHT_SIBLING), operation)


def __getattr__(attribute: str) -> Backend:
    """Return a fresh backend of the mutant whose name is spelled so, or of a right recipe.

    Those are called ``right``, ``right_conv3d`` and ``right_filter_gradient``.
    """
    if attribute == "right":
        return right_backend()
    for operation, short in SHORT.items():
        if attribute == f"right_{short.replace('-', '_')}":
            return right_sibling(operation)
    for mutant in all_mutants():
        if mutant.attribute == attribute:
            return mutant.backend()
    try:
        find(attribute.replace("_", "-"))
    except LookupError as error:
        raise AttributeError(f"module {__name__!r} has no {attribute!r}: {error}") from None
    raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")
