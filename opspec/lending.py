"""Arrays of libraries that no backend computes on, lent through DLPack and given back.

A kernel for NumPy's arrays computes on the memory of any array that lies where a CPU reads it, and
one for CuPy's on any CUDA array: `lend` makes such a view, without a copy. The result goes back the
same way, through the library's own ``from_dlpack``, so that it is an array of the caller's library
on the caller's device. Nothing is ever moved from one device to another.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from opspec.bfloat16_in_dlpack import with_bfloat16_as
from opspec.dtypes import name_of, numpy_dtype
from opspec.registry.backend import NUMPY_ARRAY

CUPY_ARRAY = "cupy.ndarray"

# DLPack's numbers for where an array lies, and whose arrays can be views of it.
_CPU = 1
_CUDA = 2
_BORROWERS = {_CPU: NUMPY_ARRAY, 3: NUMPY_ARRAY, 11: NUMPY_ARRAY, _CUDA: CUPY_ARRAY}
_DEVICES = {3: "pinned memory", 11: "pinned memory", _CUDA: "cuda", 8: "metal", 10: "rocm"}

# How the libraries call turning an array into NumPy's; the first that there is makes the hint.
_WAYS_OUT = ("to_numpy", "compute", "numpy")


class Owner(NamedTuple):
    """The library that lent an array, and where the array lies.

    Parameters
    ----------
    name
        Of the library, such as ``"torch"``; followed by the device where that is not the CPU.
    from_dlpack
        Makes an array of the library's from an array that is lent to it.
    """

    name: str
    from_dlpack: Callable[[Any], Any]

    def given_back(self, result: Any) -> Any:
        """Return a result as an array of the library's, on the memory where it is."""
        if name_of(result.dtype) == "bfloat16":
            result = with_bfloat16_as("bfloat16", result.view("uint16"))
        return self.from_dlpack(result)


class Loan(NamedTuple):
    """An array that is lent.

    Parameters
    ----------
    array
        A view of its memory.
    library
        The qualified name of the view's type.
    owner
        Who gets the result.
    """

    array: Any
    library: str
    owner: Owner


class CannotLendError(Exception):
    """An array cannot be lent; the message says what it is, why, and what to do."""


def lend(value: Any) -> Loan:
    """Return a view of another library's array.

    Raises
    ------
    CannotLendError
        If there is none, in words that go on with what was given.
    """
    kind = described(value)
    found = _maker(value)
    if found is None:
        raise CannotLendError(f"{kind}, which no installed backend takes{_way_out(value)}")
    if getattr(value, "requires_grad", False):
        raise CannotLendError(f"{kind} that requires grad, which opspec would lose; .detach() it")
    if not hasattr(value, "__dlpack_device__"):
        # JAX's traced arrays, for example.
        raise CannotLendError(
            f"{kind}, which has no memory to lend; call opspec outside jax.jit and its kin, or "
            "through jax.pure_callback"
        )
    device, number = value.__dlpack_device__()
    try:
        borrower = _BORROWERS.get(device)
        if borrower is None:
            place = _DEVICES.get(device, f"DLPack's device {int(device)}")
            raise CannotLendError(f"{kind} on {place}, where no installed backend computes")
        array = _borrowed(value, importlib.import_module(borrower.partition(".")[0]))
    except ModuleNotFoundError as error:
        raise CannotLendError(
            f"{kind} on {_DEVICES[device]}, where only CuPy could compute, and {error.name} is not "
            "installed; move the array to the CPU, or install opspec[cuda13]"
        ) from error
    name, from_dlpack = found
    place = "" if borrower == NUMPY_ARRAY else f" on {_DEVICES[device]}:{number}"
    return Loan(array, borrower, Owner(name + place, from_dlpack))


def lent_if_it_can_be(value: Any) -> tuple[Any, str]:
    """Return a view of an array and its owner's name; or the value itself, and why."""
    try:
        loan = lend(value)
    except CannotLendError as refusal:
        return value, str(refusal)
    # Foreign attributes may fail in any way; whatever it was is the reason.
    except Exception as error:
        return value, f"{described(value)} that cannot be lent ({error!r:.200})"
    return loan.array, loan.owner.name


def described(value: Any) -> str:
    """Return what type an object has, in words."""
    kind = type(value)
    return f"a {kind.__module__}.{kind.__qualname__}"


def refuse_without_way_back(value: Any) -> None:
    """Refuse an array-like whose library computes, so that callers expect its arrays back.

    Libraries that override NumPy's own functions do; a file that can only be read does not.

    Raises
    ------
    CannotLendError
        If it is one.
    """
    kind = type(value)
    if hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__"):
        raise CannotLendError(
            f"{described(value)}, which a result cannot be turned back into{_way_out(value)}"
        )


def _borrowed(value: Any, borrower: Any) -> Any:
    if name_of(value.dtype) == "bfloat16":
        words = borrower.from_dlpack(with_bfloat16_as("uint16", value))
        return words.view(numpy_dtype("bfloat16"))
    return borrower.from_dlpack(value)


def _maker(value: Any) -> tuple[str, Callable[[Any], Any]] | None:
    """Return a library's name and its ``from_dlpack``: of the array's namespace, or its package."""
    packages = (kind.__module__.partition(".")[0] for kind in type(value).__mro__)
    homes = [sys.modules.get(package) for package in packages]
    if hasattr(value, "__array_namespace__"):
        homes.insert(0, value.__array_namespace__())
    for home in homes:
        from_dlpack = getattr(home, "from_dlpack", None)
        if home is not None and callable(from_dlpack):
            return home.__name__, from_dlpack
    return None


def _way_out(value: Any) -> str:
    """Say how to make a NumPy array of an object."""
    ways = (f".{way}()" for way in _WAYS_OUT if callable(getattr(type(value), way, None)))
    return f"; convert it first: {next(ways, 'numpy.asarray()')}"
