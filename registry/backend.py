"""What a backend's author writes: a `Backend` with kernels."""

import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from opspec.registry.capabilities import Capabilities, Demand
from opspec.registry.cost import Cost
from opspec.registry.errors import BackendContractError, UnsupportedByBackend
from opspec.registry.table import Kernel, KernelTable

K = TypeVar("K", bound=Kernel)

NUMPY_ARRAY = "numpy.ndarray"

# Of a backend that declares none. Somebody who installs a backend wants it before NumPy's, whose
# calls are declared to cost more in every respect.
DEFAULT_COST = Cost(start=0, call=20e-6, per_multiply_add=3e-11)


def _always_available() -> None:
    return None


def _nowhere() -> None:
    return None


def _no_facts() -> Mapping[str, Callable[[], object]]:
    return {}


def _unchanged(array: Any) -> Any:
    return array


class Backend:
    """One implementation of one or more operations.

    Parameters
    ----------
    name
        What callers write in ``backend=``.
    arrays
        The qualified name of the array type its kernels take and return, such as
        ``"numpy.ndarray"``.
    capabilities
        What it declares.
    kernel_modules
        Modules whose import hands in the kernels. They are imported at the first use, so that the
        module that defines the backend stays light.
    unavailable
        Called at most once, when first needed: why the backend cannot run here and what to install,
        or None when it can.
    from_numpy, to_numpy
        How the backend's arrays are made from NumPy arrays and turned back. Needed when `arrays` is
        not NumPy's.
    cost
        What its calls cost. Among the backends for the same arrays that declare a call, the one
        that is expected to take the least time runs. By default a little less than NumPy's.
    warm
        Called with a dtype and a data format by `opspec.warmup`: compiles one piece after another
        and yields the name of each when it is done. None if there is nothing to do in advance.
    cached_in
        Called after warming: where what was compiled lies for the next process, or None.
    suite
        The version of the conformance suite that it is checked with; None for the newest.
    emulated
        Where a backend lies, as ``module:attribute``, that runs the same kernels without the
        device: what ``opspec check --emulated`` takes in this one's place.
    caveat
        What a check of this backend cannot show, in words. Reports print it.
    facts
        Called by ``opspec doctor``: what there is to know about this machine and the libraries that
        the backend needs, each by name with what finds it out. One that fails does not hide others.

    Raises
    ------
    BackendContractError
        For an unusable name, missing conversions, or parts of the wrong type.
    """

    def __init__(
        self,
        name: str,
        arrays: str,
        capabilities: Capabilities,
        *,
        kernel_modules: tuple[str, ...] = (),
        unavailable: Callable[[], str | None] = _always_available,
        from_numpy: Callable[[Any], Any] | None = None,
        to_numpy: Callable[[Any], Any] | None = None,
        cost: Cost = DEFAULT_COST,
        warm: Callable[[str, str], Iterator[str]] | None = None,
        cached_in: Callable[[], object] = _nowhere,
        suite: int | None = None,
        emulated: str | None = None,
        caveat: str | None = None,
        facts: Callable[[], Mapping[str, Callable[[], object]]] = _no_facts,
    ) -> None:
        _refuse_unusable_name(name)
        _refuse_wrong_parts(name, capabilities, kernel_modules, cost, warm)
        _refuse_no_version(name, suite)
        if arrays != NUMPY_ARRAY and (from_numpy is None or to_numpy is None):
            raise BackendContractError(
                f"backend {name!r} computes on {arrays}, so it must say how to convert: "
                "give both from_numpy= and to_numpy="
            )
        self.name = name
        self.arrays = arrays
        self.capabilities = capabilities
        self.cost = cost
        self.warm = warm
        self.cached_in = cached_in
        self.suite = suite
        self.emulated = emulated
        self.caveat = caveat
        self.facts = facts
        self.from_numpy = from_numpy or _unchanged
        self.to_numpy = to_numpy or _unchanged
        self._kernel_modules = kernel_modules
        self._ask_unavailable = unavailable
        self._unavailable: tuple[str | None] | None = None
        self._details: Callable[[str, Any], str] | None = None
        self._started: set[tuple[str, str]] = set()
        self._table = KernelTable(name)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Backend({self.name!r}, arrays={self.arrays!r})"

    def implements(self, operation: str) -> Callable[[K], K]:
        """Hand in the decorated function as the kernel for `operation`.

        Raises
        ------
        BackendContractError
            For an unknown operation, a second kernel, or parameters that do not fit.
        """
        if not isinstance(operation, str):
            raise BackendContractError(
                f"backend {self.name!r}: implements takes an operation's name, as in "
                f'@backend.implements("Conv3DBackpropInputV2"); given {operation!r:.60}'
            )

        def hand_in(kernel: K) -> K:
            self._table.add(operation, kernel)
            return kernel

        return hand_in

    def details(self, function: Callable[[str, Any], str]) -> Callable[[str, Any], str]:
        """Hand in the decorated function, which says in words how a problem would be computed.

        It gets the operation and what its kernel gets first; `opspec.explain` shows what it says.
        """
        self._details = function
        return function

    def details_of(self, operation: str, problem: Any) -> str | None:
        """Say how a problem would be computed, or None where the backend's author says nothing."""
        self.kernel(operation)
        return None if self._details is None else self._details(operation, problem)

    def unavailable_reason(self) -> str | None:
        """Say why it cannot run here, or None. Asked for once, then remembered."""
        with self._lock:
            if self._unavailable is None:
                self._unavailable = (self._reason_in_words(),)
            return self._unavailable[0]

    def _reason_in_words(self) -> str | None:
        try:
            return self._ask_unavailable()
        # A missing driver may raise anything; it must not stop the other backends.
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def kernel(self, operation: str) -> Kernel:
        """Return the kernel for `operation`, importing the kernel modules at the first need.

        Raises
        ------
        UnsupportedByBackend
            If it hands in none.
        """
        if self._kernel_modules:
            self._import_kernels()
        kernel = self._table.get(operation)
        if kernel is None:
            raise UnsupportedByBackend(
                f"backend {self.name!r} hands in no kernel for {operation}; its author writes "
                f'@backend.implements("{operation}")'
            )
        return kernel

    def takes_out(self, operation: str) -> bool:
        """Whether the kernel for `operation` can write its result into an array that it is given.

        To be asked once `kernel` has returned it.
        """
        return self._table.takes_out(operation)

    def expected_seconds(self, demand: Demand, *, started: bool = False) -> float:
        """Return what a call is expected to cost, or would if the start was paid already."""
        started = started or (demand.dtype, demand.data_format) in self._started
        return self.cost.expected(demand.multiply_adds, started=started)

    def count_as_started(self, dtype: str, data_format: str) -> None:
        """From now on expect calls of this dtype and data format to cost no start."""
        self._started.add((dtype, data_format))

    def _import_kernels(self) -> None:
        """Import what is pending. Of a module that fails halfway no kernel is kept."""
        with self._lock:
            while self._kernel_modules:
                before = self._table.copied()
                try:
                    importlib.import_module(self._kernel_modules[0])
                except BaseException:
                    self._table = before
                    raise
                self._kernel_modules = self._kernel_modules[1:]


def _refuse_unusable_name(name: object) -> None:
    if not isinstance(name, str) or not name or ":" in name or name != name.strip():
        raise BackendContractError(
            f"a backend's name is a word without ':' or outer spaces; given {name!r}"
        )


def _refuse_wrong_parts(
    name: str, capabilities: object, kernel_modules: object, cost: object, warm: object
) -> None:
    if not isinstance(capabilities, Capabilities):
        raise BackendContractError(
            f"backend {name!r} declares what it can do as Capabilities; "
            f"given a {type(capabilities).__name__}"
        )
    if isinstance(kernel_modules, str):
        raise BackendContractError(
            f"backend {name!r}: kernel_modules is a tuple of names: ({kernel_modules!r},)"
        )
    if not isinstance(cost, Cost):
        raise BackendContractError(
            f"backend {name!r} declares what its calls cost as a Cost; "
            f"given a {type(cost).__name__}"
        )
    if warm is not None and not callable(warm):
        raise BackendContractError(
            f"backend {name!r}: warm is a function of a dtype and a data format that yields what "
            f"it has compiled; given a {type(warm).__name__}"
        )


def _refuse_no_version(name: str, suite: object) -> None:
    is_version = isinstance(suite, int) and not isinstance(suite, bool) and suite >= 1
    if suite is not None and not is_version:
        raise BackendContractError(
            f"backend {name!r} pins a version of the suite as an integer from 1 on, such as "
            f"suite=1; given {suite!r}"
        )
