"""Pay what backends cost before the first call in advance: `opspec.warmup`."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from opspec.registry import discovery
from opspec.registry.backend import Backend
from opspec.registry.errors import (
    BackendContractError,
    BackendUnavailable,
    UnsupportedByBackend,
)
from opspec.registry.selection import forget_choices


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that a backend made ready.

    Parameters
    ----------
    name
        As the backend calls it.
    dtype, data_format
        What it is needed for.
    seconds
        How long it took.
    """

    name: str
    dtype: str
    data_format: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Warmth:
    """What a backend made ready.

    Parameters
    ----------
    backend
        The backend's name.
    pieces
        In the order in which they were made.
    cached_in
        Where they lie for the next process, if the backend keeps them and says so.
    """

    backend: str
    pieces: tuple[Piece, ...]
    cached_in: str | None

    @property
    def seconds(self) -> float:
        """How long it took altogether."""
        return sum(piece.seconds for piece in self.pieces)

    def __str__(self) -> str:
        if not self.pieces:
            return f"{self.backend}: there is nothing to compile in advance"
        made = "1 piece" if len(self.pieces) == 1 else f"{len(self.pieces)} pieces"
        text = f"{self.backend}: {made} ready in {self.seconds:.1f} s"
        return f"{text}; kept in {self.cached_in}" if self.cached_in else text


def warmup(
    backend: str | Backend = "numba",
    *,
    dtypes: Iterable[str] = ("float32",),
    data_formats: Iterable[str] = ("NDHWC",),
    progress: Callable[[Piece], object] | None = None,
) -> Warmth:
    """Compile now what a backend would compile at its first calls.

    From then on this process expects calls of these dtypes and data formats to cost no start, so
    that smaller ones go to the backend too. Nothing else changes which backend runs a call.

    Parameters
    ----------
    backend
        A name, a ``module:attribute``, or a `Backend`.
    dtypes, data_formats
        What to compile for: every pair of these. Or a single name.
    progress
        Called with each `Piece` when it is done. What is done when Ctrl-C stops the rest stays.

    Returns
    -------
    Warmth
        What was made ready, how long it took and, if the backend says so, where it is kept.

    Raises
    ------
    BackendUnavailable
        If the backend is unknown or cannot run here.
    UnsupportedByBackend
        If it does not declare a dtype or data format.
    TypeError, ValueError
        If `dtypes` or `data_formats` are no names, or none.
    """
    found = discovery.find(backend) if isinstance(backend, str) else backend
    if not isinstance(found, Backend):
        raise BackendUnavailable(
            "a backend is given by name, as module:attribute, or as a Backend; "
            f"given a {type(found).__name__}"
        )
    if reason := found.unavailable_reason():
        raise BackendUnavailable(f"backend {found.name!r} cannot run here: {reason}")
    can = found.capabilities
    kinds = [
        *product(
            _declared("dtypes", dtypes, can.dtypes, found.name),
            _declared("data_formats", data_formats, can.data_formats, found.name),
        )
    ]
    pieces = []
    for kind in kinds:
        for piece in _pieces(found, *kind):
            pieces.append(piece)
            if progress is not None:
                progress(piece)
    place = found.cached_in()
    return Warmth(found.name, tuple(pieces), None if place is None else str(place))


def _pieces(backend: Backend, dtype: str, data_format: str) -> Iterator[Piece]:
    """Make one after the other; after the last one the backend counts as started."""
    if backend.warm is None:
        return
    made = backend.warm(dtype, data_format)
    if not isinstance(made, Iterator):
        raise BackendContractError(
            f"backend {backend.name!r}: warm yields what it has compiled (a generator); "
            f"it returned a {type(made).__name__}"
        )
    since = time.perf_counter()
    for name in made:
        yield Piece(str(name), dtype, data_format, time.perf_counter() - since)
        since = time.perf_counter()
    backend.count_as_started(dtype, data_format)
    forget_choices()


def _declared(
    argument: str, given: object, declared: tuple[str, ...], backend: str
) -> tuple[str, ...]:
    """Return the names that were given, each of them declared by the backend."""
    if not declared:
        raise UnsupportedByBackend(f"backend {backend!r} declares no {argument}")
    allowed = ", ".join(declared)
    names = (given,) if isinstance(given, str) else given
    names = tuple(names) if isinstance(names, Iterable) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be names: of {allowed}; given {given!r:.60}")
    if not names:
        raise ValueError(f"{argument} must name at least one of {allowed}; given none")
    for name in names:
        if name not in declared:
            raise UnsupportedByBackend(
                f"backend {backend!r} does not declare {name!r:.60} among its {argument}; "
                f"it has {allowed}"
            )
    return tuple(dict.fromkeys(names))
