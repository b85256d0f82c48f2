"""The tier "cudnn" without a GPU: when it is chosen, what it tells cuDNN, and what comes after."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import opspec
from opspec.conformance.case import golden
from opspec.conformance.oracle import exact_sum, forward_sum
from opspec.conformance.oracle_siblings import exact_filter_sum
from opspec.dtypes import FLOATING, numpy_dtype
from opspec.errors import UnsupportedByBackend
from opspec.geometry import DATA_FORMATS, ConvGeometry, Side, Window
from opspec.registry import Backend, Capabilities

pytest.importorskip(
    "cupy", reason="CuPy is not installed; it comes with opspec[emulator] and needs no GPU here"
)

from opspec.backends.cupy import cudnn
from opspec.backends.cupy.choice import Wishes, choose
from opspec.backends.cupy.compute import compute, explain
from opspec.backends.cupy.convolution import Convolution
from opspec.backends.cupy.emulator import build, cudnn_port, memory
from opspec.backends.cupy.emulator.host import HostPort
from opspec.backends.cupy.port import CudnnPlan, Traits

if why := build.unavailable():
    pytest.skip(why, allow_module_level=True)

SIDES: tuple[Side, ...] = ("input", "output", "filter")
FOLDERS = {
    "Conv3D": "conv3d",
    "Conv3DBackpropFilterV2": "conv3d_backprop_filter_v2",
    "Conv3DBackpropInputV2": "conv3d_backprop_input_v2",
}
WITH_CUDNN = Traits(90, 4, 227 * 1024)
needs_library = pytest.mark.skipif(
    cudnn_port.unavailable() is not None,
    reason=f"{cudnn_port.unavailable()}; a step of CI has it",
)


def convolution(
    dtype: str = "float16", channels: tuple[int, int] = (16, 24), result: Side = "input"
) -> Convolution:
    windows = (
        Window.fitted(9, 3, 2, 1, "SAME"),
        Window.fitted(7, 2, 3, 1, "SAME"),
        Window.fitted(6, 3, 1, 2, "SAME"),
    )
    return Convolution(ConvGeometry(2, *channels, windows, "NDHWC", dtype), result)


class Played(HostPort):
    """Has plans, and does not know how to run them: it notes what it is given."""

    def __init__(self, plan: CudnnPlan | None, scarce: bool = False) -> None:
        super().__init__(traits=WITH_CUDNN)
        self._plan, self._scarce = plan, scarce
        self.asked: list[tuple[Convolution, bool]] = []
        self.given: list[tuple[dict[Side, Any], Any]] = []
        self.released = 0

    def cudnn_plan(self, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
        self.asked.append((convolution, tf32))
        return self._plan

    def execute(self, plan: CudnnPlan, arrays: dict[Side, Any], workspace: Any) -> None:
        self.given.append((arrays, workspace))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        if self._scarce and np.dtype(dtype) == np.uint8:
            raise MemoryError
        return super().empty(shape, dtype)

    def release_memory(self) -> None:
        self.released += 1


def operands(problem: Convolution) -> dict[Side, Any]:
    rng = np.random.default_rng(20261203)
    geometry = problem.geometry
    return {
        side: rng.integers(-2, 3, geometry.shape_of(side)).astype(geometry.dtype)
        for side in SIDES
        if side != problem.result
    }


def run(port: HostPort, tier: str | None, problem: Convolution) -> Any:
    given = {side: memory.from_numpy(array) for side, array in operands(problem).items()}
    return compute(port, tier, problem, given, None)


def expected(problem: Convolution) -> Any:
    given, windows = operands(problem), problem.geometry.windows
    attributes: dict[str, Any] = {
        "strides": [1, *(window.stride for window in windows), 1],
        "padding": "SAME",
        "data_format": "NDHWC",
        "dilations": [1, *(window.dilation for window in windows), 1],
    }
    if problem.result == "output":
        return forward_sum(input=given["input"], filter=given["filter"], **attributes)
    attributes["out_backprop"] = given["output"]
    sizes = list(problem.result_shape)
    if problem.result == "filter":
        return exact_filter_sum(input=given["input"], filter_sizes=sizes, **attributes)
    return exact_sum(input_sizes=sizes, filter=given["filter"], **attributes)


def is_right(result: Any, problem: Convolution) -> bool:
    return bool((memory.to_numpy(result).astype(np.float64) == expected(problem)).all())


@pytest.mark.parametrize(
    ("dtype", "channels", "tf32", "tier"),
    [
        ("float16", (16, 24), False, "cudnn"),
        ("bfloat16", (16, 24), False, "cudnn"),
        ("float32", (16, 24), True, "cudnn"),
        ("float32", (16, 24), False, "simt"),
        ("float64", (16, 24), False, "simt"),
        ("float16", (3, 24), False, "simt"),
    ],
)
def test_it_is_chosen_where_it_has_tensor_cores(
    dtype: str, channels: tuple[int, int], tf32: bool, tier: str
) -> None:
    problem = convolution(dtype, channels)
    assert choose(problem, WITH_CUDNN, Wishes(tf32=tf32)).tier == tier


def test_it_gets_the_filter_as_its_engines_want_it_and_memory_to_work_in() -> None:
    problem = convolution()
    port = Played(CudnnPlan(None, 1000))
    result = run(port, None, problem)
    (given,) = port.given
    arrays, workspace = given
    handed = operands(problem)
    arranged = memory.to_numpy(arrays["filter"])
    assert arrays["filter"].flags.c_contiguous
    assert (arranged == handed["filter"].transpose(4, 0, 1, 2, 3)).all()
    assert (memory.to_numpy(arrays["output"]) == handed["output"]).all()
    assert arrays["input"] is result
    assert (workspace.size, workspace.dtype) == (1000, np.uint8)
    assert port.asked == [(problem, False)]
    assert port.launched == []


def test_a_filter_is_made_as_its_engines_make_it_and_copied_to_where_it_belongs() -> None:
    problem = convolution(result="filter")

    class Filled(Played):
        def execute(self, plan: CudnnPlan, arrays: dict[Side, Any], workspace: Any) -> None:
            made = memory.as_numpy(arrays["filter"])
            made[...] = np.arange(made.size).reshape(made.shape)

    result = memory.to_numpy(run(Filled(CudnnPlan(None, 0)), None, problem))
    counted = np.arange(result.size).reshape(24, 3, 2, 3, 16)
    assert (result == counted.transpose(1, 2, 3, 4, 0).astype(np.float16)).all()


@pytest.mark.parametrize("side", SIDES)
def test_without_a_plan_the_next_tier_computes(side: Side) -> None:
    problem = convolution(result=side)
    port = Played(None)
    assert is_right(run(port, None, problem), problem)
    assert "tensor" in port.launched[0]
    assert explain(port, None, problem).startswith("tier tensor")
    with pytest.raises(UnsupportedByBackend, match=r"tier cudnn: cuDNN has no engine for it"):
        run(port, "cudnn", problem)


@pytest.mark.parametrize("side", SIDES)
def test_without_memory_for_its_workspace_the_next_tier_computes(side: Side) -> None:
    problem = convolution(result=side)
    port = Played(CudnnPlan(None, 1000), scarce=True)
    assert is_right(run(port, None, problem), problem)
    assert (port.released, port.given) == (1, [])
    assert "tensor" in port.launched[0]
    with pytest.raises(UnsupportedByBackend, match=r"tier cudnn: there is no memory"):
        run(port, "cudnn", problem)


def test_more_elements_than_its_engines_count_are_refused() -> None:
    window = Window.fitted(1200, 2, 2, 1, "SAME")
    windows = (window, window, window)
    large = Convolution(ConvGeometry(1, 16, 16, windows, "NDHWC", "float16"), "input")
    assert choose(large, WITH_CUDNN, Wishes()).tier == "tensor"
    with pytest.raises(UnsupportedByBackend, match=r"32-bit integers; given 27648000000"):
        choose(large, WITH_CUDNN, Wishes(tier="cudnn"))


def test_where_it_is_missing_the_reason_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from opspec.backends.cupy import cudnn_library

    monkeypatch.setattr(cudnn_library, "find_spec", lambda name: None)
    assert str(cudnn_library.missing()).startswith("cuDNN's frontend is not installed; pip install")
    traits = Traits(90, 4, 227 * 1024, (("cudnn", str(cudnn_library.missing())),))
    with pytest.raises(UnsupportedByBackend, match=r"tier cudnn: .*opspec\[cudnn13\]"):
        choose(convolution(), traits, Wishes(tier="cudnn"))


def test_float32_keeps_to_engines_without_tensor_cores_unless_tf32_is_allowed() -> None:
    assert "TENSOR_CORE" in cudnn.excluded("float32", tf32=False)
    assert "TENSOR_CORE" not in cudnn.excluded("float32", tf32=True)
    assert "TENSOR_CORE" not in cudnn.excluded("float16", tf32=False)
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        assert {"NONDETERMINISTIC", "DOWN_CONVERT_INPUTS"} < set(cudnn.excluded(dtype, tf32=True))


def golden_problems() -> dict[str, Convolution]:
    """Return the problem of every golden case that has something to add up."""
    seen: list[Convolution] = []
    recorder = Backend(
        name="recorder",
        arrays="numpy.ndarray",
        capabilities=Capabilities(
            operations=tuple(FOLDERS), dtypes=FLOATING, data_formats=DATA_FORMATS
        ),
    )

    def record(geometry: ConvGeometry, side: Side) -> Any:
        seen.append(Convolution(geometry, side))
        return np.zeros(geometry.shape_of(side), numpy_dtype(geometry.dtype))

    @recorder.implements("Conv3DBackpropInputV2")
    def backprop_input(geometry: ConvGeometry, filter: Any, out_backprop: Any) -> Any:
        return record(geometry, "input")

    @recorder.implements("Conv3D")
    def forward(geometry: ConvGeometry, input: Any, filter: Any) -> Any:
        return record(geometry, "output")

    @recorder.implements("Conv3DBackpropFilterV2")
    def backprop_filter(geometry: ConvGeometry, input: Any, out_backprop: Any) -> Any:
        return record(geometry, "filter")

    problems = {}
    for name, folder in FOLDERS.items():
        for lane in ("exact", "bounded"):
            cases = golden(folder, lane)
            for case in cases.file.cases:
                getattr(opspec.raw_ops, name)(**cases.arguments(case), backend=recorder)
                if not seen[-1].geometry.empty:
                    problems[f"{name} {case.name}"] = seen[-1]
    return problems


@needs_library
@pytest.mark.parametrize("device", ["T4", "A100", "H200"])
def test_it_has_a_plan_for_every_golden_problem(device: str) -> None:
    problems = golden_problems()
    assert len(problems) > 200
    for name, problem in problems.items():
        dtype = problem.geometry.dtype
        for tf32 in (False, True)[: 1 + (dtype == "float32")]:
            plan = cudnn_port.CudnnPort(device).cudnn_plan(problem, tf32)
            if (device, dtype) == ("T4", "bfloat16"):
                assert plan is None, "the first architecture with bfloat16 is the next one"
            else:
                assert plan is not None, (name, device, tf32)
                assert plan.workspace_bytes <= cudnn.WORKSPACE


@needs_library
def test_a_plan_that_would_take_too_much_memory_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cudnn, "WORKSPACE", -1)
    described = cudnn_port.described("H200")
    assert cudnn.build(convolution(), tf32=False, device_property=described) is None


@needs_library
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("side", SIDES)
def test_what_a_plan_says_is_the_operation(side: Side, dtype: str) -> None:
    problem = convolution(dtype, result=side)
    assert is_right(run(cudnn_port.CudnnPort(), "cudnn", problem), problem)


@needs_library
def test_padding_on_the_wrong_side_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = convolution()
    monkeypatch.setattr(cudnn, "_after", lambda window: window.before)
    turned = tuple(
        Window(w.input, w.output, w.kernel, w.stride, w.dilation, w.after, w.before)
        for w in problem.geometry.windows
    )
    plan = cudnn.build(
        problem.of(replace(problem.geometry, windows=turned)),  # type: ignore[arg-type]
        tf32=False,
        device_property=cudnn_port.described("H200"),
    )

    class Turned(cudnn_port.CudnnPort):
        def cudnn_plan(self, convolution: Convolution, tf32: bool) -> CudnnPlan | None:
            return plan

    assert not is_right(run(Turned(), "cudnn", problem), problem)
