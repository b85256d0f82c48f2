"""The PyTorch backend: right, on the caller's device, and light until it is needed."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opspec import nn, raw_ops
from opspec.conformance.oracle import exact_sum
from opspec.conformance.runner import check
from opspec.registry import Backend

FOLDER = Path(__file__).parents[2] / "examples" / "torch_backend"
DTYPES = ("float16", "bfloat16", "float32", "float64")


@pytest.fixture(scope="module")
def package() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("opspec_torch")


@pytest.fixture(scope="module")
def torch() -> Iterator[Any]:
    found = pytest.importorskip("torch", reason="PyTorch is not installed")
    threads = found.get_num_threads()
    # The problems are tiny: on a busy machine threads would spend minutes waiting for each other.
    found.set_num_threads(1)
    yield found
    found.set_num_threads(threads)


@pytest.fixture
def backend(package: ModuleType, torch: Any) -> Backend:
    found: Backend = package.backend
    return found


def problem(torch: Any, dtype: str, data_format: str = "NDHWC", device: str = "cpu") -> Any:
    """A raw call on small whole numbers, and its exact result."""
    draw = np.random.default_rng(3)
    call: dict[str, Any] = {
        "input_sizes": [2, 7, 5, 6, 3],
        "filter": draw.integers(-4, 5, (3, 2, 3, 3, 2)).astype(np.float64),
        "out_backprop": draw.integers(-4, 5, (2, 4, 3, 2, 2)).astype(np.float64),
        "strides": [1, 2, 2, 3, 1],
        "padding": "SAME",
        "data_format": "NDHWC",
        "dilations": [1, 1, 1, 2, 1],
    }
    if data_format == "NCDHW":
        call["out_backprop"] = np.moveaxis(call["out_backprop"], -1, 1).copy()
        for name in ("input_sizes", "strides", "dilations"):
            call[name] = [call[name][axis] for axis in (0, 4, 1, 2, 3)]
        call["data_format"] = data_format
    expected = exact_sum(**call)
    for name in ("filter", "out_backprop"):
        call[name] = torch.tensor(call[name], dtype=getattr(torch, dtype), device=device)
    return call, expected


@pytest.mark.slow
def test_it_does_all_that_it_declares_and_declares_all_that_it_does(backend: Backend) -> None:
    report = check(backend, strict=True)
    assert report.ok, report.objections
    assert report.executed > 140


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_tensors_in_and_a_tensor_out(
    dtype: str, data_format: str, torch: Any, backend: Backend
) -> None:
    call, expected = problem(torch, dtype, data_format)
    result = raw_ops.Conv3DBackpropInputV2(**call, backend=backend)
    assert type(result) is torch.Tensor
    assert result.dtype == getattr(torch, dtype)
    assert result.device.type == "cpu"
    assert result.is_contiguous()
    np.testing.assert_array_equal(result.double().numpy(), expected)


def test_on_a_gpu_the_result_is_there_too(torch: Any, backend: Backend) -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU that torch can use")
    call, expected = problem(torch, "float32", device="cuda")
    result = raw_ops.Conv3DBackpropInputV2(**call, backend=backend)
    assert result.device == call["filter"].device
    np.testing.assert_array_equal(result.cpu().double().numpy(), expected)
    call["filter"] = call["filter"].cpu()
    with pytest.raises(ValueError, match="filter is on cpu, out_backprop on cuda:0"):
        raw_ops.Conv3DBackpropInputV2(**call, backend=backend)


def test_strided_and_expanded_tensors_are_read_and_stay_as_they_are(
    torch: Any, backend: Backend
) -> None:
    call, expected = problem(torch, "float32")
    strided = {}
    for name in ("filter", "out_backprop"):
        wide = torch.full((*call[name].shape[:4], 2 * call[name].shape[4]), float("nan"))
        wide[..., ::2] = call[name]
        strided[name] = wide[..., ::2]
        assert not strided[name].is_contiguous()
    result = raw_ops.Conv3DBackpropInputV2(**call | strided, backend=backend)
    np.testing.assert_array_equal(result.numpy(), expected)
    assert all(torch.equal(strided[name], call[name]) for name in strided)
    ones = torch.ones(1)
    spread = nn.conv3d_transpose(
        ones.expand(1, 2, 2, 2, 1), ones.expand(2, 2, 2, 1, 1), [1, 4, 4, 4, 1], 2, backend=backend
    )
    assert torch.equal(spread, torch.ones(1, 4, 4, 4, 1))


def test_numpy_arrays_in_and_a_numpy_array_out(torch: Any, backend: Backend) -> None:
    call, expected = problem(torch, "float32")
    for name in ("filter", "out_backprop"):
        call[name] = call[name].numpy()[::-1].copy()[::-1]
        call[name].flags.writeable = False
    result = raw_ops.Conv3DBackpropInputV2(**call, backend=backend)
    assert type(result) is np.ndarray
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions_keep_every_bit_and_share_no_memory(
    dtype: str, torch: Any, package: ModuleType
) -> None:
    values = np.array([[1.5, -0.0, np.inf], [np.nan, -np.inf, 2.0**-14]]).astype(
        ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    )
    for array in (values, values[::-1, ::-1], values.T, values[:, :0]):
        tensor = package.from_numpy(array)
        assert tensor.dtype == getattr(torch, dtype)
        back = package.to_numpy(tensor)
        assert back.dtype == array.dtype
        assert back.tobytes() == array.tobytes()
        assert not np.shares_memory(back, values)


def test_gradients_flow_to_both_operands(torch: Any, backend: Backend) -> None:
    call, _ = problem(torch, "float64")
    call["filter"] = call["filter"][..., :1]
    call["out_backprop"] = call["out_backprop"][:1, ..., :1]
    call["input_sizes"] = [1, *call["input_sizes"][1:]]

    def function(filter: Any, out_backprop: Any) -> Any:
        operands = {"filter": filter, "out_backprop": out_backprop}
        return raw_ops.Conv3DBackpropInputV2(**call | operands, backend=backend)

    operands = [call[name].clone().requires_grad_() for name in ("filter", "out_backprop")]
    assert torch.autograd.gradcheck(function, operands)
    with torch.no_grad():
        assert not function(*operands).requires_grad


def test_an_infinity_stays_with_its_tap(torch: Any, backend: Backend) -> None:
    filters = torch.ones(1, 1, 3, 1, 1)
    filters[0, 0, 0] = float("inf")
    line = torch.tensor([0.0, 1.0]).reshape(1, 1, 1, 2, 1)
    result = nn.conv3d_transpose(
        line, filters, [1, 1, 1, 6, 1], (1, 1, 3), padding="VALID", backend=backend
    )
    expected = [np.nan, 0, 0, np.inf, 1, 1]
    np.testing.assert_array_equal(result.ravel().numpy(), expected)


def test_operands_on_two_devices_are_an_error(torch: Any, backend: Backend) -> None:
    call, _ = problem(torch, "float32")
    call["filter"] = call["filter"].to("meta")
    with pytest.raises(ValueError, match="filter is on meta, out_backprop on cpu; move one"):
        raw_ops.Conv3DBackpropInputV2(**call, backend=backend)


def test_the_result_can_go_into_a_tensor_of_the_callers(torch: Any, backend: Backend) -> None:
    call, expected = problem(torch, "bfloat16")
    out = torch.full(tuple(call["input_sizes"]), float("nan"), dtype=torch.bfloat16)
    assert raw_ops.Conv3DBackpropInputV2(**call, out=out, backend=backend) is out
    np.testing.assert_array_equal(out.double().numpy(), expected)


def test_looking_at_the_backend_does_not_import_torch() -> None:
    code = "import sys, opspec_torch; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, check=False)
    assert done.returncode == 0


def test_without_torch_it_says_what_to_install(
    package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    assert package._unavailable() == "PyTorch is not installed; pip install torch"


def test_it_has_fewer_than_100_lines() -> None:
    files = (FOLDER / "opspec_torch").glob("*.py")
    assert 40 < sum(len(file.read_text("utf-8").splitlines()) for file in files) < 100
