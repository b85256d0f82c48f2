"""Where backends come from: the entry points `opspec.backends`, or `module:attribute`."""

import importlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from opspec.registry.backend import Backend
from opspec.registry.errors import BackendUnavailable, UnknownBackend

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "opspec.backends"

_lock = threading.RLock()
_entry_points: "dict[str, list[EntryPoint]] | None" = None
_loaded: dict[str, Backend] = {}
_on_forget: list[Callable[[], object]] = []


def names() -> tuple[str, ...]:
    """The names of all installed backends, sorted. Loads none of them."""
    return tuple(sorted(_installed()))


def find(name: str) -> Backend:
    """Return the backend that is installed as `name`, or lies at `module:attribute`.

    Raises
    ------
    UnknownBackend
        If there is none.
    BackendUnavailable
        If two packages claim the name, or if loading it fails.
    """
    with _lock:
        if name not in _loaded:
            _loaded[name] = _load_attribute(name) if ":" in name else _load_installed(name)
        return _loaded[name]


def refuse_unknown(name: str) -> None:
    """Refuse a name that no installed backend has. Loads none.

    Raises
    ------
    UnknownBackend
        If there is none.
    """
    if name not in _installed():
        known = ", ".join(names()) or "none: is opspec itself installed? (pip install opspec)"
        raise UnknownBackend(
            f"no backend named {name[:60]!r} is installed; installed: {known}. "
            "A backend that is not installed can be named as module:attribute"
        )


def forget() -> None:
    """Forget everything found, so that newly installed backends are seen."""
    global _entry_points
    with _lock:
        _entry_points = None
        _loaded.clear()
        for clear in _on_forget:
            clear()


def on_forget(clear: Callable[[], object]) -> None:
    """Call `clear` whenever what was found is forgotten."""
    _on_forget.append(clear)


def entry_points() -> "Iterable[EntryPoint]":
    """Return the entry points of all installed backends."""
    # Imported when first needed: it takes longer than the rest of the registry.
    from importlib import metadata

    return metadata.entry_points(group=GROUP)


def _installed() -> "dict[str, list[EntryPoint]]":
    global _entry_points
    with _lock:
        if _entry_points is None:
            found: dict[str, list[EntryPoint]] = defaultdict(list)
            for point in entry_points():
                if all(point.value != other.value for other in found[point.name]):
                    found[point.name].append(point)
            _entry_points = dict(found)
        return _entry_points


def _load_installed(name: str) -> Backend:
    refuse_unknown(name)
    points = _installed()[name]
    if len(points) > 1:
        claims = " and ".join(f"{p.dist.name if p.dist else '?'} ({p.value})" for p in points)
        raise BackendUnavailable(
            f"backend {name!r} is claimed by {claims}; uninstall one, or name it module:attribute"
        )
    return _as_backend(name, points[0].load)


def _load_attribute(place: str) -> Backend:
    module, _, attribute = place.partition(":")

    def load() -> object:
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found

    return _as_backend(place, load)


def _as_backend(name: str, load: Callable[[], object]) -> Backend:
    try:
        found = load()
    # Third-party code may fail in any way; whatever it was becomes the reason.
    except Exception as error:
        kind = UnknownBackend if _is_nowhere(name, error) else BackendUnavailable
        raise kind(f"backend {name!r} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(found, Backend):
        raise BackendUnavailable(
            f"backend {name!r} is not an opspec.registry.Backend but a {type(found).__name__}"
        )
    return found


def _is_nowhere(place: str, error: Exception) -> bool:
    """Whether it is the module itself that is not there, not what the module imports."""
    module, colon, _ = place.partition(":")
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return bool(colon and missing) and f"{module}.".startswith(f"{missing}.")
