"""Where backends come from, and what becomes of those that are broken."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import opspec
from opspec.registry import BackendUnavailable, discovery

MODULE = """
from opspec.registry import Backend, Capabilities

class Home:
    backend = Backend(
        name="mine",
        arrays="numpy.ndarray",
        capabilities=Capabilities(operations=(), dtypes=(), data_formats=()),
    )

nothing = 3
"""


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    found: list[EntryPoint] = []
    monkeypatch.setattr(discovery, "entry_points", lambda: found)
    discovery.forget()
    monkeypatch.setattr(discovery, "_loaded", {})
    return found


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    discovery.forget()


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, discovery.GROUP)


def test_the_built_in_backends_come_by_the_same_entry_points_as_any_other() -> None:
    assert {"cupy", "numba", "numpy"} <= set(discovery.names())


def test_a_module_and_attribute_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_backend.py").write_text(MODULE, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert discovery.find("my_own_backend:Home.backend").name == "mine"
    with pytest.raises(BackendUnavailable, match=r"not an opspec\.registry\.Backend but a int"):
        discovery.find("my_own_backend:nothing")
    with pytest.raises(BackendUnavailable, match=r"AttributeError.*missing"):
        discovery.find("my_own_backend:missing")
    with pytest.raises(BackendUnavailable, match="No module named 'no_such_module'"):
        discovery.find("no_such_module:backend")


def test_a_broken_backend_stops_no_other(points: list[EntryPoint]) -> None:
    points += [
        point("broken", "no_such_module:backend"),
        point("numpy", "opspec.backends.numpy:backend"),
    ]
    one = np.ones((1, 1, 1, 1, 1), np.float32)
    assert opspec.nn.conv3d_transpose(one, one, [1] * 5, 1).ravel().tolist() == [1]
    text = str(opspec.explain("conv3d_transpose", one, one, [1] * 5, 1))
    assert "broken: not used: backend 'broken' cannot be loaded: ModuleNotFoundError" in text
    with pytest.raises(BackendUnavailable, match="no_such_module"):
        opspec.nn.conv3d_transpose(one, one, [1] * 5, 1, backend="broken")


def test_a_name_that_two_packages_claim_is_refused_by_both_places(
    points: list[EntryPoint],
) -> None:
    points += [point("twice", "one:backend"), point("twice", "other:backend")]
    with pytest.raises(BackendUnavailable, match=r"claimed by .*one:backend.*other:backend"):
        discovery.find("twice")


def test_one_package_seen_twice_is_one_claim(points: list[EntryPoint]) -> None:
    points += [point("numpy", "opspec.backends.numpy:backend")] * 2
    assert discovery.find("numpy").name == "numpy"


def test_without_any_backend_the_error_says_what_to_install(points: list[EntryPoint]) -> None:
    with pytest.raises(BackendUnavailable, match="pip install opspec"):
        discovery.find("numpy")


def test_what_was_found_is_remembered_until_forgotten(points: list[EntryPoint]) -> None:
    assert discovery.names() == ()
    points.append(point("late", "late:backend"))
    assert discovery.names() == ()
    discovery.forget()
    assert discovery.names() == ("late",)
