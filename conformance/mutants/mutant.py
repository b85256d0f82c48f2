"""What a mutant is: a kernel with one fault, and a backend around it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from opspec.conformance.mutants.recipe import Kernel
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS
from opspec.registry import Backend, Capabilities

OPERATION = "Conv3DBackpropInputV2"
DECLARED = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)

FAMILIES = (
    "index",
    "padding",
    "stride",
    "dilation",
    "layout",
    "channels",
    "batch",
    "precision",
    "memory",
    "special",
    "empties",
    "dtype",
    "concurrency",
    "crash",
    "hang",
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A kernel with one fault, wrong for at least one valid call.

    Parameters
    ----------
    name
        Unique.
    family
        One of `FAMILIES`.
    looks_like
        The fault in words that fit after "looks like".
    make
        Makes the kernel afresh: some keep things from one call to the next.
    ends
        For a kernel that ends or blocks its process, and so has to run in one of its own: words
        of the verdict, such as ``"SIGSEGV"``. None for all others.
    operation
        The raw operation that it computes.
    """

    name: str
    family: str
    looks_like: str
    make: Callable[[], Kernel]
    ends: str | None = None
    operation: str = OPERATION

    @property
    def attribute(self) -> str:
        """The name as Python spells names, for ``module:attribute``."""
        return self.name.replace("-", "_")

    @property
    def isolated(self) -> bool:
        """Whether it has to run in a process of its own."""
        return self.ends is not None

    def backend(self) -> Backend:
        """Return a fresh backend, which declares all of its operation."""
        return backend_of(self.name, self.make(), self.operation)


def backend_of(name: str, kernel: Kernel, operation: str = OPERATION) -> Backend:
    """Return a backend of this kernel that declares all of one operation."""
    declared = replace(DECLARED, operations=(operation,))
    backend = Backend(name=name, arrays="numpy.ndarray", capabilities=declared)
    backend.implements(operation)(kernel)
    return backend


def family_of(family: str, rows: Iterable[tuple[str, str, Kernel]]) -> Iterator[Mutant]:
    """Yield a mutant for each row of name, looks and a kernel that keeps nothing between calls."""
    for name, looks_like, kernel in rows:
        yield Mutant(name, family, looks_like, _again(kernel))


def remembering(
    family: str, rows: Iterable[tuple[str, str, Callable[[], Kernel]]]
) -> Iterator[Mutant]:
    """Yield a mutant for each row of name, looks and what makes a kernel that keeps something."""
    for name, looks_like, make in rows:
        yield Mutant(name, family, looks_like, make)


def _again(kernel: Kernel) -> Callable[[], Kernel]:
    return lambda: kernel
