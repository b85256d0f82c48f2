"""Every property holds for a right backend, and catches a kernel that breaks it."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from opspec.backends.numpy import backend as numpy_backend
from opspec.conformance import properties
from opspec.conformance.problems import LARGEST_SUM, Problem, problems
from opspec.conformance.properties import Property, identity, judge_property
from opspec.conformance.report import CaseResult, Verdict
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS, ConvGeometry
from opspec.registry import Backend, Capabilities

OPERATION = "Conv3DBackpropInputV2"
ALL = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)
BY_NAME = {property.name: property for property in properties.ALL}

Array = np.ndarray[Any, Any]
Kernel = Callable[[ConvGeometry, Array, Array], Any]
right = numpy_backend.kernel(OPERATION)


def planted(kernel: Kernel, capabilities: Capabilities = ALL) -> Backend:
    backend = Backend(name="planted", arrays="numpy.ndarray", capabilities=capabilities)

    @backend.implements(OPERATION)
    def conv3d(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Any:
        return kernel(geometry, filter, out_backprop)

    return backend


def judged(name: str, kernel: Kernel, capabilities: Capabilities = ALL) -> CaseResult:
    return judge_property(BY_NAME[name], planted(kernel, capabilities), 40)


@pytest.mark.parametrize("property", properties.ALL, ids=lambda property: property.name)
def test_the_numpy_backend_has_every_property(property: Property) -> None:
    result = judge_property(property, numpy_backend, 60)
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    assert result.demand is not None
    assert result.demand.operation == OPERATION
    assert (result.script, result.place, result.fingerprint) == (None, None, None)
    assert result.case == identity(property)
    assert result.lane == "property"


def test_the_ids_are_unique_and_lie_in_their_operations_folder() -> None:
    ids = [identity(property) for property in properties.ALL]
    assert len(set(ids)) == len(ids) == 12
    transposes = {name for name in ids if name.startswith("conv3d_transpose/")}
    assert transposes == {
        "conv3d_transpose/property/spellings-agree",
        "conv3d_transpose/property/operations-agree",
    }


# The source is what a subprocess imports too, so that scripts can be run there.
FAULTS = '''
from dataclasses import replace

import numpy as np

from opspec.backends.numpy import backend as numpy_backend
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS
from opspec.registry import Backend, Capabilities

OPERATION = "Conv3DBackpropInputV2"
right = numpy_backend.kernel(OPERATION)
ALL = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)


def other_padding(g, f, o):
    windows = tuple(replace(w, before=w.after) for w in g.windows)
    return right(replace(g, windows=windows), f, o)


def ten_bits(g, f, o):
    if f.dtype != np.float32:
        return right(g, f, o)
    return right(g, (f.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32), o)


def less_precise(g, f, o):
    """Within the bound for each element, but too often far from the sum."""
    if f.dtype != np.float32:
        return right(g, f, o)
    return right(g, (f.view(np.uint32) & np.uint32(0xFFFFFFFC)).view(np.float32), o)


def first_position_dropped(g, f, o):
    kept = o.copy()
    kept[(slice(None),) + (slice(0, 1),) * 3 if g.data_format == "NDHWC" else ()] = 0
    return right(g, f, kept)


def last_contracted_dropped(g, f, o):
    kept = f.copy()
    kept[..., -1:] = 0
    return right(g, kept, o)


def channels_first_reversed(g, f, o):
    made = right(g, f, o)
    return np.ascontiguousarray(made[:, ::-1]) if g.data_format == "NCDHW" else made


calls = 0


def every_other_call(g, f, o):
    global calls
    calls += 1
    return right(g, f, o) + np.array(calls % 2, f.dtype)


KERNELS = {
    "definition": lambda g, f, o: right(g, np.ascontiguousarray(f[::-1, ::-1, ::-1]), o),
    "bounded": ten_bits,
    "linear-in-filter": lambda g, f, o: right(g, abs(f), o),
    "linear-in-out_backprop": lambda g, f, o: right(g, f, np.maximum(o, np.zeros((), o.dtype))),
    "adjoint": other_padding,
    "spatial-shift": first_position_dropped,
    "channel-permutation": last_contracted_dropped,
    "batch-independence": lambda g, f, o: np.ascontiguousarray(right(g, f, o)[::-1]),
    "layouts-agree": channels_first_reversed,
    "powers-of-two": lambda g, f, o: right(g, np.clip(f, -1000, 1000).astype(f.dtype), o),
    "spellings-agree": every_other_call,
    "operations-agree": every_other_call,
    "mean": less_precise,
}


def planted(kernel):
    backend = Backend("planted", "numpy.ndarray", ALL)
    backend.implements(OPERATION)(lambda geometry, filter, out_backprop: kernel(
        geometry, filter, out_backprop
    ))
    return backend


class faulty:
    pass


for name, kernel in KERNELS.items():
    setattr(faulty, name.replace("-", "_"), planted(kernel))
'''


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    (folder / "property_faults.py").write_text(FAULTS, "utf-8")
    return folder


def backend_named(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Backend:
    monkeypatch.syspath_prepend(str(folder))
    import property_faults  # type: ignore[import-not-found]  # written by the fixture

    found: Backend = getattr(property_faults.faulty, name.replace("-", "_"))
    return found


def run(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    blocked = "import sys\nfor name in ('hypothesis', 'safetensors', 'pytest', 'rich'):\n"
    program = f"{blocked}    sys.modules[name] = None\n{script}"
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )


@pytest.mark.parametrize("property", properties.ALL, ids=lambda property: property.name)
def test_a_wrong_kernel_is_caught_and_a_small_script_shows_it(
    property: Property, faults: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = backend_named(faults, property.name, monkeypatch)
    place = f"property_faults:faulty.{property.name.replace('-', '_')}"
    result = judge_property(property, backend, 40, name=place)
    assert result.verdict == Verdict.FAIL
    assert result.reason.startswith(f"{property.name} does not hold: ")
    assert "at (n=0, " in result.reason
    assert result.place is not None
    assert result.place.elements <= 16
    assert result.demand is not None
    assert result.demand.data_format in result.features
    assert result.script is not None
    assert len(result.script.splitlines()) <= 15
    shown = run(result.script, faults)
    assert shown.returncode == 1
    assert "AssertionError: " in shown.stderr
    well = run(result.script.replace(repr(place), "'numpy'"), faults)
    assert (well.returncode, well.stderr) == (0, "")


def test_what_only_the_mean_shows_is_shown_by_the_script(
    faults: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = backend_named(faults, "mean", monkeypatch)
    place = "property_faults:faulty.mean"
    result = judge_property(BY_NAME["bounded"], backend, 60, name=place)
    assert result.verdict == Verdict.FAIL
    assert "root mean square" in result.reason
    assert result.script is not None
    shown = run(result.script, faults)
    assert "AssertionError: root mean square error: " in shown.stderr
    assert run(result.script.replace(repr(place), "'numpy'"), faults).returncode == 0


def zeros(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Array:
    return np.zeros(geometry.input_shape, filter.dtype)


def dilated_raises(error: BaseException) -> Kernel:
    def kernel(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Any:
        if geometry.dilated:
            raise error
        return right(geometry, filter, out_backprop)

    return kernel


@pytest.mark.parametrize("error", [ZeroDivisionError("no"), SystemExit(0)])
def test_an_exception_is_a_failure(error: BaseException) -> None:
    result = judged("definition", dilated_raises(error))
    assert result.verdict == Verdict.FAIL
    assert result.reason == f"definition does not hold: {type(error).__name__}: {error}"
    assert result.fingerprint == f"{type(error).__name__}: {error}"
    assert "dilated" in result.features
    assert "empty" not in result.features


def test_saying_that_it_cannot_is_a_failure_of_its_own() -> None:
    result = judged("adjoint", dilated_raises(NotImplementedError("later")))
    assert result.verdict == Verdict.UNDECLARED_UNSUPPORTED
    assert result.reason == "declared, but NotImplementedError: later"


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        judged("definition", dilated_raises(KeyboardInterrupt()))


def test_the_same_counter_example_comes_every_time() -> None:
    one, two = judged("definition", zeros), judged("definition", zeros)
    assert replace(one, seconds=0) == replace(two, seconds=0)


def test_an_unsteady_fault_is_called_so() -> None:
    count = [0]

    def once(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Any:
        count[0] += 1
        return (zeros if count[0] == 20 else right)(geometry, filter, out_backprop)

    result = judged("definition", once)
    assert result.verdict == Verdict.FAIL
    assert result.reason.endswith("(the same problem did not fail each time)")


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("layouts-agree", {"data_formats": ("NDHWC",)}, "data_format NCDHW"),
        ("layouts-agree", {"data_formats": ("NCDHW",)}, "data_format NDHWC"),
        ("definition", {"data_formats": ()}, "data_format NDHWC or NCDHW"),
        ("definition", {"dtypes": ("int8",)}, "none of the dtypes"),
        ("operations-agree", {"operations": ()}, f"the operation {OPERATION}"),
    ],
)
def test_what_the_declaration_rules_out_is_unsupported(
    name: str, changes: dict[str, Any], words: str
) -> None:
    result = judged(name, zeros, replace(ALL, **changes))
    assert result.verdict == Verdict.UNSUPPORTED
    assert words in result.reason
    assert result.demand is None


def test_only_what_is_declared_is_asked_for() -> None:
    few = Capabilities(
        operations=(OPERATION,),
        dtypes=("bfloat16",),
        data_formats=("NCDHW",),
        dilation=False,
        empties=False,
    )

    def picky(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Any:
        assert (geometry.dtype, geometry.data_format) == ("bfloat16", "NCDHW")
        assert not geometry.dilated
        assert not geometry.empty
        return right(geometry, filter, out_backprop)

    for property in properties.ALL:
        result = judge_property(property, planted(picky, few), 30)
        wanted = Verdict.UNSUPPORTED if property.across_layouts else Verdict.PASS
        assert (property.name, result.verdict) == (property.name, wanted)


KINDS: dict[str, Callable[[Problem], bool]] = {
    "no batch": lambda p: p.input_sizes[0] == 0,
    "no contraction": lambda p: p.filter.shape[4] == 0,
    "no position": lambda p: 0 in [p.out_backprop.shape[a] for a in p.spatial_axes],
    "channels beyond 16": lambda p: p.filter.shape[4] > 16,
    "made channels beyond 8": lambda p: p.filter.shape[3] > 8,
    "width beyond 16": lambda p: p.out_backprop.shape[p.spatial_axes[2]] > 16,
    "dilation and stride": lambda p: max(p.dilations) > 1 and max(p.strides) > 1,
    "stride above the kernel": lambda p: p.strides[2] > p.filter.shape[1] and p.padding == "SAME",
    **{f"dtype {name}": lambda p, name=name: p.dtype == name for name in FLOATING},  # type: ignore[misc]
}


SEARCH = settings(
    max_examples=300,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_every_kind_of_problem_is_drawn() -> None:
    seen: set[str] = set()

    @SEARCH
    @given(problems(ALL))
    def examine(problem: Problem) -> None:
        seen.update(kind for kind, is_such in KINDS.items() if is_such(problem))

    examine()
    assert seen == set(KINDS)


def test_every_sum_has_room_to_spare() -> None:
    loud: list[float] = []

    @SEARCH
    @given(problems(ALL))
    def examine(problem: Problem) -> None:
        absolute = replace(
            problem, filter=abs(problem.filter), out_backprop=abs(problem.out_backprop)
        )
        largest = absolute.exact_result().max(initial=0)
        assert 4 * largest <= LARGEST_SUM[problem.dtype]
        loud.append(largest)

    examine()
    assert max(loud) > 50
