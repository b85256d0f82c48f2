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

from opspec import ops
from opspec.backends.numpy import backend as numpy_backend
from opspec.conformance import properties, property_search
from opspec.conformance.properties import Property, identity, judge_property
from opspec.conformance.property_trial import Trial
from opspec.conformance.report import CaseResult, Verdict
from opspec.dtypes import FLOATING
from opspec.geometry import DATA_FORMATS, ConvGeometry
from opspec.registry import Backend, Capabilities, discovery

OPERATION = "Conv3DBackpropInputV2"
ALL = Capabilities(operations=(OPERATION,), dtypes=FLOATING, data_formats=DATA_FORMATS)
RAW = [each for each in properties.ALL if ops.get(each.operation).kernel == OPERATION]
SIBLINGS = [each for each in properties.ALL if each not in RAW]
BY_NAME = {property.name: property for property in RAW}

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


@pytest.mark.parametrize("property", properties.ALL, ids=identity)
def test_the_numpy_backend_has_every_property(property: Property) -> None:
    result = judge_property(property, numpy_backend, 60)
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    assert result.demand is not None
    assert result.demand.operation == ops.get(property.operation).kernel
    assert (result.script, result.place, result.fingerprint) == (None, None, None)
    assert result.case == identity(property)
    assert result.lane == "property"


def test_the_ids_are_unique_and_lie_in_their_operations_folder() -> None:
    ids = [identity(property) for property in properties.ALL]
    assert len(set(ids)) == len(ids) == 19
    transposes = {name for name in ids if name.startswith("conv3d_transpose/")}
    assert transposes == {
        "conv3d_transpose/property/spellings-agree",
        "conv3d_transpose/property/operations-agree",
    }


PLANTED = Path(__file__).parent / "planted"


@pytest.fixture
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLANTED))


def place_of(name: str) -> str:
    """Where the kernel lies that breaks a property."""
    return f"property_faults:{name.replace('-', '_')}"


def run(script: str) -> "subprocess.CompletedProcess[str]":
    blocked = "import sys\nfor name in ('hypothesis', 'safetensors', 'pytest', 'rich'):\n"
    program = f"{blocked}    sys.modules[name] = None\n{script}"
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PLANTED)},
    )


@pytest.mark.parametrize("property", RAW, ids=lambda property: property.name)
@pytest.mark.usefixtures("_importable")
def test_a_wrong_kernel_is_caught_and_a_small_script_shows_it(
    property: Property,
) -> None:
    place = place_of(property.name)
    result = judge_property(property, discovery.find(place), 40, name=place)
    assert result.verdict == Verdict.FAIL
    assert result.reason.startswith(f"{property.name} does not hold: ")
    assert "at (n=0, " in result.reason
    assert result.place is not None
    assert result.place.elements <= 16
    assert result.demand is not None
    assert result.demand.data_format in result.features
    assert result.script is not None
    assert len(result.script.splitlines()) <= 15
    shown = run(result.script)
    assert shown.returncode == 1
    assert "AssertionError: " in shown.stderr
    well = run(result.script.replace(repr(place), "'numpy'"))
    assert (well.returncode, well.stderr) == (0, "")


SIBLING_FAULTS = {
    "conv3d/property/definition": "conv3d_filter_flipped",
    "conv3d/property/bounded": "conv3d_scaled",
    "conv3d_backprop_filter_v2/property/definition": "filter_gradient_result_flipped",
    "conv3d_backprop_filter_v2/property/bounded": "filter_gradient_scaled",
    "conv3d_backprop_filter_v2/property/entries-add-up": "filter_gradient_first_entry_everywhere",
}


@pytest.mark.parametrize("name", SIBLING_FAULTS)
def test_a_wrong_sibling_is_caught_and_a_small_script_shows_it(name: str) -> None:
    property = next(each for each in SIBLINGS if identity(each) == name)
    place = f"opspec.conformance.mutants:{SIBLING_FAULTS[name]}"
    result = judge_property(property, discovery.find(place), 60, name=place)
    assert result.verdict == Verdict.FAIL
    assert result.place is not None
    assert result.script is not None
    assert len(result.script.splitlines()) <= 15
    shown = subprocess.run(
        [sys.executable, "-c", result.script], capture_output=True, text=True, check=False
    )
    assert "AssertionError: " in shown.stderr
    well = run(result.script.replace(repr(place), "'numpy'"))
    assert (well.returncode, well.stderr) == (0, "")


@pytest.mark.parametrize("name", ["conv3d", "conv3d_backprop_filter_v2"])
def test_kernels_that_are_not_each_others_adjoints_are_caught(name: str) -> None:
    property = next(each for each in SIBLINGS if identity(each) == f"{name}/property/adjoint")
    assert judge_property(property, discovery.find("numpy"), 40).verdict == Verdict.PASS
    capabilities = replace(ALL, operations=tuple(numpy_backend.capabilities.operations))
    backend = Backend(name="askew", arrays="numpy.ndarray", capabilities=capabilities)
    backend.implements(OPERATION)(right)
    backend.implements("Conv3DBackpropFilterV2")(numpy_backend.kernel("Conv3DBackpropFilterV2"))

    @backend.implements("Conv3D")
    def conv3d(geometry: ConvGeometry, input: Array, filter: Array) -> Any:
        return numpy_backend.kernel("Conv3D")(geometry, input, filter[::-1])

    result = judge_property(property, backend, 60)
    assert result.verdict == Verdict.FAIL
    assert "> is " in result.reason or "definition" in result.reason


@pytest.mark.usefixtures("_importable")
def test_what_only_the_mean_shows_is_shown_by_the_script() -> None:
    place = place_of("mean")
    result = judge_property(BY_NAME["bounded"], discovery.find(place), 60, name=place)
    assert result.verdict == Verdict.FAIL
    assert "root mean square" in result.reason
    assert result.script is not None
    shown = run(result.script)
    assert "AssertionError: root mean square error: " in shown.stderr
    assert run(result.script.replace(repr(place), "'numpy'")).returncode == 0


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


def test_shrinking_comes_to_an_end_though_there_is_much_to_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(property_search, "SHRINKING_TRIES", 20)
    count = [0]

    def counted(geometry: ConvGeometry, filter: Array, out_backprop: Array) -> Any:
        count[0] += 1
        made = right(geometry, filter, out_backprop)
        # Wrong in a way that needs a large problem, so that there is much to try.
        return made + made.dtype.type(1) if made.size > 40 and out_backprop.size > 40 else made

    assert judged("definition", counted).verdict == Verdict.FAIL
    # One call for each try, for each example, for the last look, and for each script that is tried.
    assert 20 < count[0] <= 20 + 40 + 10


def test_a_fault_of_a_law_itself_is_not_the_backends() -> None:
    def broken(trial: Trial) -> None:
        trial.compute()
        raise ValueError("a mistake in this law")

    law = replace(BY_NAME["definition"], holds=broken)
    with pytest.raises(ValueError, match="a mistake in this law"):
        judge_property(law, numpy_backend, 5)


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
        ("definition", {"dtypes": ()}, "none of the dtypes"),
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

    for property in RAW:
        result = judge_property(property, planted(picky, few), 30)
        wanted = Verdict.UNSUPPORTED if property.across_layouts else Verdict.PASS
        assert (property.name, result.verdict) == (property.name, wanted)


def test_nothing_is_left_behind_where_it_runs(tmp_path: Path) -> None:
    program = (
        "from opspec.conformance.properties import ALL, judge_property\n"
        "from opspec.registry import discovery\n"
        "print(judge_property(ALL[0], discovery.find('numpy'), 60).verdict)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "pass\n"
    assert list(tmp_path.iterdir()) == []
