"""The example's network: graphs are read, refused, or run as TensorFlow does, in little memory."""

import math
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="the demo extra is not installed")

import extraction
import frozen_graph
import operations
import slabs
from frozen_graph import Node
from network import Network, network_of

import opspec

Array: TypeAlias = np.ndarray[Any, Any]
Add: TypeAlias = Callable[..., str]

TINY = Path(__file__).parent / "tiny_unet"
WHOLE = 1 << 30


@pytest.fixture(autouse=True)
def numpy_backend() -> Iterator[None]:
    with opspec.use_backend("numpy"):
        yield


class Graph:
    """A graph being written."""

    def __init__(self) -> None:
        self.message = frozen_graph.message_class("Graph")()
        self("img", "Placeholder", shape=(-1, 6, 4, 4, 1))

    def __call__(self, name: str, op: str, *inputs: str, **attributes: Any) -> str:
        node = self.message.node.add(name=name, op=op, input=inputs)
        for key, value in attributes.items():
            written = node.attr.add(key=key).value
            if isinstance(value, str):
                written.s = value.encode()
            elif isinstance(value, bool):
                written.b = value
            elif isinstance(value, int):
                written.i = value
            elif isinstance(value, list):
                written.list.i.extend(value)
            elif isinstance(value, tuple):
                for size in value:
                    written.shape.dim.add(size=size)
            else:
                code = next(k for k, v in frozen_graph.DTYPES.items() if v == value.dtype.name)
                written.tensor.dtype = code
                written.tensor.tensor_content = value.tobytes()
                for size in value.shape:
                    written.tensor.tensor_shape.dim.add(size=size)
        return name

    def constant(self, name: str, value: Any) -> str:
        return self(name, "Const", value=np.asarray(value))

    def convolution(self, name: str, source: str, **attributes: Any) -> str:
        filter = self.constant(f"{name}/filter", np.ones((3, 3, 3, 1, 1), np.float32))
        given = {"strides": [1] * 5, "padding": "SAME"} | attributes
        return self(name, "Conv3D", source, filter, **given)

    def nodes(self, folder: Path) -> dict[str, Node]:
        (folder / "graph.pb").write_bytes(self.message.SerializeToString())
        return frozen_graph.read(folder / "graph.pb")

    def network(self, folder: Path) -> Network:
        return network_of(self.nodes(folder), "img", "prob", {"training": False})


@pytest.fixture(scope="module")
def tiny() -> Network:
    return extraction.deepbrain_network(TINY / "graph.pb")


@pytest.fixture(scope="module")
def values() -> dict[str, Array]:
    return dict(np.load(TINY / "values.npz"))


@pytest.mark.parametrize("slab_bytes", [1, 500, 1500, 2000, 4000, WHOLE])
def test_in_slabs_of_any_size_the_network_gives_what_tensorflow_gave(
    tiny: Network, values: dict[str, Array], slab_bytes: int
) -> None:
    found = slabs.run(tiny, values["image"], slab_bytes=slab_bytes)
    np.testing.assert_allclose(found, values["probability"], rtol=0, atol=1e-6)


def test_other_sizes_of_slabs_are_other_ways_to_run(tiny: Network) -> None:
    ways = {
        size: [stage.slabs for stage in slabs.stages_of(tiny, size)] for size in (1, 2000, WHOLE)
    }
    assert ways == {1: [8], 2000: [4, 1, 5], WHOLE: [1] * len(tiny.layers)}


def test_what_is_done_in_place_belongs_to_the_layer_before(tiny: Network) -> None:
    assert [layer.ops for layer in tiny.layers] == [
        ("Conv3D", "BiasAdd", "Relu"),
        ("Conv3D", "BiasAdd", "Relu"),
        ("MaxPool3D",),
        ("Conv3D", "BiasAdd", "Relu"),
        ("Conv3DBackpropInputV2",),
        ("ConcatV2",),
        ("Conv3D", "BiasAdd", "Relu"),
        ("Conv3D", "BiasAdd", "Sigmoid"),
    ]


def test_a_tensor_with_two_readers_is_not_changed_in_place(tmp_path: Path) -> None:
    add = Graph()
    made = add.convolution("made", "img")
    positive = add("positive", "Relu", made)
    axis = add.constant("axis", np.int32(-1))
    add("prob", "ConcatV2", made, positive, axis, N=2)
    image = np.random.default_rng(0).normal(0, 1, (1, 6, 4, 4, 1)).astype(np.float32)
    for slab_bytes in (1, WHOLE):
        found = slabs.run(add.network(tmp_path), image, slab_bytes=slab_bytes)
        assert found[..., 0].min() < 0
        np.testing.assert_array_equal(found[..., 1], np.maximum(found[..., 0], 0))


def test_the_image_is_left_as_it_is(tmp_path: Path) -> None:
    add = Graph()
    add("prob", "Relu", "img")
    image = np.full((1, 6, 4, 4, 1), -1, np.float32)
    assert not slabs.run(add.network(tmp_path), image).any()
    assert (image == -1).all()


def test_slabs_take_less_memory(tmp_path: Path) -> None:
    draw, add = np.random.default_rng(0), Graph()
    add.message.node[0].attr[0].value.shape.dim[1].size = 256
    name = "img"
    for index, (read, made) in enumerate([(1, 8), (8, 16), (16, 1)]):
        filter = add.constant(
            f"filter_{index}", draw.normal(0, 0.1, (3, 3, 3, read, made)).astype("f4")
        )
        name = add(f"layer_{index}", "Conv3D", name, filter, strides=[1] * 5, padding="SAME")
    add("prob", "Sigmoid", name)
    network = add.network(tmp_path)
    image = draw.random(network.image.shape, np.float32)
    peaks, results = [], []
    for slab_bytes in (WHOLE, 1 << 14):
        slabs.run(network, image, slab_bytes=slab_bytes)
        tracemalloc.start()
        results.append(slabs.run(network, image, slab_bytes=slab_bytes))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-6)
    assert peaks[0] > 4 * 256 * 16 * (8 + 16)
    assert peaks[1] < peaks[0] / 2


def test_stages_are_reported_with_the_time_of_each_layer(
    tiny: Network, values: dict[str, Array]
) -> None:
    seen: list[tuple[int, int]] = []

    def report(stage: slabs.Stage) -> None:
        seen.append((stage.done, stage.slabs))
        if stage.done == stage.slabs:
            assert all(stage.seconds[layer.name] > 0 for layer in stage.layers)

    slabs.run(tiny, values["image"], report, slab_bytes=2000)
    assert seen == [(done, count) for count in (4, 1, 5) for done in range(count + 1)]


def test_an_image_of_another_shape_is_refused(tiny: Network) -> None:
    with pytest.raises(ValueError, match=r"takes an image of shape \[1, 8, 12, 4, 1\]; given \[2,"):
        slabs.run(tiny, np.zeros((2, 8, 12, 4, 1), np.float32))


@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2), (1, 3), (3, 1), (2, 3)])
def test_pooling_takes_the_largest_of_each_window(size: int, stride: int) -> None:
    values = np.random.default_rng(size).normal(0, 1, (1, 7, 6, 9, 2)).astype(np.float32)
    pool = operations.MaxPool(size, stride)
    expected = np.full(pool.shape(values.shape), np.nan, np.float32)
    for d, h, w in product(*map(range, expected.shape[1:4])):
        window = values[
            0,
            d * stride : d * stride + size,
            h * stride : h * stride + size,
            w * stride : w * stride + size,
        ]
        expected[0, d, h, w] = window.reshape(-1, 2).max(0)
    np.testing.assert_array_equal(pool.run([values], None), expected)
    out = np.empty_like(expected)
    assert pool.run([values], out) is out
    np.testing.assert_array_equal(out, expected)


def test_what_is_done_in_place_is_what_it_says() -> None:
    values = np.array([-100, -1.5, 0, 0.25, 3, 100], np.float32).reshape(1, 1, 1, 3, 2)
    added, positive, squeezed = values.copy(), values.copy(), values.copy()
    operations.bias_add(np.array([0.5, -2], np.float32))(added)
    operations.relu(positive)
    operations.sigmoid(squeezed)
    assert added.ravel().tolist() == [-99.5, -3.5, 0.5, -1.75, 3.5, 98]
    assert positive.ravel().tolist() == [0, 0, 0, 0.25, 3, 100]
    expected = [1 / (1 + math.exp(-float(value))) for value in values.ravel()]
    np.testing.assert_allclose(squeezed.ravel(), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("kernel", "stride"), [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (3, 2), (5, 2), (3, 3), (4, 3)]
)
def test_rows_that_are_read_are_enough_and_no_more(kernel: int, stride: int) -> None:
    depth = 6
    filter = np.ones((kernel, kernel, kernel, 1, 1), np.float32)
    kinds: list[operations.Operation] = [operations.TransposedConvolution(filter, stride)]
    if stride == 1:
        kinds.append(operations.Convolution(filter))
    for operation in kinds:
        # Which row of the result depends on which row of the input: from one row at a time.
        reached = [
            np.flatnonzero(operation.run([row.reshape(1, -1, 1, 1, 1)], None).any((0, 2, 3, 4)))
            for row in np.eye(depth, dtype=np.float32)
        ]
        rows = operation.shape((1, depth, 1, 1, 1))[1]
        for start, stop in product(range(rows), range(1, rows + 1)):
            if start < stop:
                needed = [i for i in range(depth) if set(reached[i]) & set(range(start, stop))]
                read = operation.rows_read(range(start, stop), depth)
                assert set(needed) <= set(read)
                assert len(read) == len(needed)


def test_a_tensor_is_read_however_it_is_written() -> None:
    message = frozen_graph.message_class("Tensor")
    zeros = message(dtype=1)
    filled = message(dtype=1, float_val=[2.5])
    listed = message(dtype=9, int64_val=[1, 2, 3])
    padded = message(dtype=3, int_val=[4, 5])
    for tensor, size in ((filled, 3), (listed, 3), (padded, 4), (zeros, 2)):
        tensor.tensor_shape.dim.add(size=size)
    assert frozen_graph.tensor(filled).tolist() == [2.5, 2.5, 2.5]
    assert frozen_graph.tensor(listed).tolist() == [1, 2, 3]
    assert frozen_graph.tensor(padded).tolist() == [4, 5, 5, 5]
    assert frozen_graph.tensor(zeros).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("dtype", "content", "size", "words"),
    [
        (1, b"12345678", 3, r"shape \[3\] with 2 values"),
        (2, b"12345678", 1, "a tensor of type 2"),
        (1, b"123", 1, "multiple of element size"),
    ],
)
def test_a_tensor_that_is_none_is_refused(
    dtype: int, content: bytes, size: int, words: str
) -> None:
    tensor = frozen_graph.message_class("Tensor")(dtype=dtype, tensor_content=content)
    tensor.tensor_shape.dim.add(size=size)
    with pytest.raises(ValueError, match=words):
        frozen_graph.tensor(tensor)


@pytest.mark.parametrize("content", [b"", b"no graph at all", b"\x0a\xff\xff"])
def test_a_file_that_is_no_graph_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.pb").write_bytes(content)
    with pytest.raises(ValueError, match=r"file\.pb is no frozen TensorFlow graph"):
        frozen_graph.read(tmp_path / "file.pb")


def _sizes_that_do_not_fit(add: Graph) -> None:
    sizes = add.constant("sizes", np.array([1, 11, 8, 8, 1], np.int32))
    filter = add.constant("filter", np.ones((3, 3, 3, 1, 1), np.float32))
    given = {"strides": [1, 2, 2, 2, 1], "padding": "SAME"}
    add("prob", "Conv3DBackpropInputV2", sizes, filter, "img", **given)


def _gaps(add: Graph) -> None:
    sizes = add.constant("sizes", np.array([1, 18, 12, 12, 1], np.int32))
    filter = add.constant("filter", np.ones((3, 3, 2, 1, 1), np.float32))
    given = {"strides": [1, 3, 3, 3, 1], "padding": "SAME"}
    add("prob", "Conv3DBackpropInputV2", sizes, filter, "img", **given)


def _two_outputs_of_one(add: Graph) -> None:
    add.convolution("made", "img")
    add("prob", "Relu", "made:1")


def _bias_of_two(add: Graph) -> None:
    add("prob", "BiasAdd", "img", add.constant("bias", np.ones(2, np.float32)))


FAULTS: list[tuple[str, Callable[[Graph], object]]] = [
    ("node 'prob': the operation Erf is not run here", lambda add: add("prob", "Erf", "img")),
    (
        r"'prob' \(Conv3D\): strides must be \[1, 1, 1, 1, 1\]; given \[1, 2, 2, 2, 1\]",
        lambda add: add.convolution("prob", "img", strides=[1, 2, 2, 2, 1]),
    ),
    (
        r"'prob' \(Conv3D\): data_format must be NDHWC; given NCDHW",
        lambda add: add.convolution("prob", "img", data_format="NCDHW"),
    ),
    (
        r"'prob' \(Conv3D\): unknown attribute 'explicit_paddings'",
        lambda add: add.convolution("prob", "img", explicit_paddings=[]),
    ),
    (
        r"ksize must be \[1, n, n, n, 1\] with n from 1 to 8; given \[1, 2, 2, 3, 1\]",
        lambda add: add("prob", "MaxPool3D", "img", ksize=[1, 2, 2, 3, 1]),
    ),
    ("'prob' (.*) needs 2 inputs; given 1", lambda add: add("prob", "BiasAdd", "img")),
    ("'gone', which node 'prob' reads, is not in", lambda add: add("prob", "Relu", "gone")),
    ("'prob', which the result reads, is not in", lambda add: add("other", "Relu", "img")),
    ("the graph has a cycle: prob", lambda add: add("prob", "Relu", "prob")),
    ("reads 'made:1', which no node makes", _two_outputs_of_one),
    ("is not computed from the image", lambda add: add.constant("prob", np.float32(1))),
    (r"input_sizes must be \[1, 12, 8, 8, 1\], stride times", _sizes_that_do_not_fit),
    (r"a filter of \[3, 3, 2\] leaves gaps at stride 3", _gaps),
    (r"bias must have shape \[1\]; given \[2\]", _bias_of_two),
    (
        "not the inputs that should do so depend on the image",
        lambda add: add("prob", "Conv3D", "img", "img", strides=[1] * 5, padding="SAME"),
    ),
]


@pytest.mark.parametrize(("words", "build"), FAULTS)
def test_what_is_not_run_here_is_refused_by_name(
    words: str, build: Callable[[Graph], object], tmp_path: Path
) -> None:
    add = Graph()
    build(add)
    with pytest.raises(ValueError, match=words):
        add.network(tmp_path)


def test_what_the_result_does_not_need_may_be_anything(tmp_path: Path) -> None:
    add = Graph()
    add("prob", "Relu", "img")
    add("other", "Erf", "img")
    assert len(add.network(tmp_path).layers) == 1
