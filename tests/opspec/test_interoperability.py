"""The arrays of real libraries: each result is an array of the caller's library, or a clear error.

A library that is not installed skips its tests; CI has all of them in one of its steps.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opspec
from opspec.errors import OpTypeError

SHAPE = [2, 5, 4, 3, 4]
STRIDES = (2, 2, 1)


@pytest.fixture(scope="module")
def problem() -> Any:
    """Operands of small whole numbers, and the result that NumPy's arrays give."""
    draw = np.random.default_rng(5)
    data = draw.integers(-4, 5, (2, 3, 2, 3, 6)).astype(np.float32)
    filters = draw.integers(-4, 5, (3, 2, 2, 4, 6)).astype(np.float32)
    return data, filters, opspec.nn.conv3d_transpose(data, filters, SHAPE, STRIDES)


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


def called(data: Any, filters: Any, **changes: Any) -> Any:
    return opspec.nn.conv3d_transpose(data, filters, SHAPE, STRIDES, **changes)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_torch_gets_tensors(dtype: str, problem: Any) -> None:
    torch = library("torch")
    data, filters, expected = problem
    operands = [torch.from_numpy(array).to(getattr(torch, dtype)) for array in (data, filters)]
    before = [operand.clone() for operand in operands]
    found = called(*operands)
    assert type(found) is torch.Tensor
    assert found.dtype == operands[0].dtype
    assert found.is_contiguous()
    np.testing.assert_array_equal(found.double().numpy(), expected)
    assert all(map(torch.equal, operands, before))
    out = torch.full(SHAPE, float("nan"), dtype=found.dtype)
    assert called(*operands, out=out) is out
    assert torch.equal(out, found)


def test_tensors_of_torch_may_be_strided_parameters_and_beside_lists(problem: Any) -> None:
    torch = library("torch")
    data, filters, expected = problem
    wide = torch.full((*data.shape[:-1], 12), float("nan"))
    wide[..., ::2] = torch.from_numpy(data)
    parameter = torch.nn.Parameter(torch.from_numpy(filters), requires_grad=False)
    for beside in (parameter, filters.tolist()):
        found = called(wide[..., ::2], beside)
        assert type(found) is torch.Tensor
        np.testing.assert_array_equal(found.numpy(), expected)


def test_tensors_of_torch_that_cannot_be_lent_are_refused(problem: Any) -> None:
    torch = library("torch")
    data, filters, _ = problem
    tensor = torch.from_numpy(data)
    for operand, words in (
        (tensor.clone().requires_grad_(), r"requires grad, which opspec would lose; \.detach\(\)"),
        (tensor.to("meta"), "meta"),
        (tensor.to_sparse(), "torch.strided"),
    ):
        with pytest.raises(OpTypeError, match=words):
            called(operand, torch.from_numpy(filters))
    with pytest.raises(OpTypeError, match=r"given torch beside numpy\.ndarray"):
        called(tensor, filters)


def test_gradients_of_torchs_tensors_are_tensors(problem: Any) -> None:
    torch = library("torch")
    data, filters, _ = problem
    result, pullback = opspec.vjp(
        "conv3d_transpose", torch.from_numpy(data), torch.from_numpy(filters), SHAPE, STRIDES
    )
    _, expected = opspec.vjp("conv3d_transpose", data, filters, SHAPE, STRIDES)
    wanted = expected(np.ones(SHAPE, np.float32))
    for name, found in pullback(torch.ones_like(result)).items():
        assert type(found) is torch.Tensor
        np.testing.assert_array_equal(found.numpy(), wanted[name])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_jax_gets_its_arrays(dtype: str, problem: Any) -> None:
    jax = library("jax")
    data, filters, expected = problem
    with jax.enable_x64(True):
        operands = [jax.numpy.asarray(array).astype(dtype) for array in (data, filters)]
        found = called(*operands)
        assert isinstance(found, jax.Array)
        assert found.dtype.name == dtype
        np.testing.assert_array_equal(np.asarray(found, np.float64), expected)


def test_what_jax_cannot_lend_or_write_is_refused(problem: Any) -> None:
    jax = library("jax")
    data, filters, _ = map(jax.numpy.asarray, problem)
    with pytest.raises(OpTypeError, match=r"no memory to lend; call opspec outside jax\.jit"):
        jax.jit(called)(data, filters)
    with pytest.raises(opspec.OpError, match="given a read-only array"):
        called(data, filters, out=jax.numpy.zeros(SHAPE))

    def on_host(*operands: Any) -> Any:
        return np.asarray(called(*map(np.asarray, operands)))

    kind = jax.ShapeDtypeStruct(tuple(SHAPE), np.float32)
    traced = jax.jit(lambda *operands: jax.pure_callback(on_host, kind, *operands))
    np.testing.assert_array_equal(traced(data, filters), problem[2])


@pytest.mark.parametrize(
    ("module", "make", "way_out"),
    [
        ("xarray", lambda xarray, data: xarray.DataArray(data), ".to_numpy()"),
        ("dask.array", lambda dask, data: dask.from_array(data), ".compute()"),
        ("pandas", lambda pandas, data: pandas.DataFrame(data[0, 0, 0]), ".to_numpy()"),
    ],
)
def test_arrays_that_no_result_can_be_turned_back_into_say_how_to_convert(
    module: str, make: Any, way_out: str, problem: Any
) -> None:
    data, filters, expected = problem
    operand = make(library(module), data)
    with pytest.raises(OpTypeError) as caught:
        called(operand, filters)
    assert caught.value.given.endswith(f"convert it first: {way_out}")
    if module != "pandas":
        converted = getattr(operand, way_out[1:-2])()
        np.testing.assert_array_equal(called(converted, filters), expected)


def test_files_are_read_and_give_numpys_arrays(problem: Any, tmp_path: Path) -> None:
    nibabel = library("nibabel")
    data, filters, expected = problem
    file = tmp_path / "volume.nii"
    nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), file)
    image = nibabel.load(file)
    for operand in (image.dataobj, image.get_fdata(dtype=np.float32)):
        found = called(operand, filters)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)


def test_stores_of_zarr_are_read_and_give_numpys_arrays(problem: Any, tmp_path: Path) -> None:
    library("zarr")
    data, filters, expected = problem
    np.savez(tmp_path / "problem.npz", data=data, filters=filters, expected=expected)
    # zarr starts threads that outlive their use; a process of its own ends them.
    code = (
        "import numpy as np, opspec, zarr\n"
        "problem = np.load('problem.npz')\n"
        "store = zarr.open('store', mode='w', shape=problem['data'].shape, dtype='float32')\n"
        "store[:] = problem['data']\n"
        f"found = opspec.nn.conv3d_transpose(store, problem['filters'], {SHAPE}, {STRIDES})\n"
        "assert type(found) is np.ndarray\n"
        "np.testing.assert_array_equal(found, problem['expected'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
