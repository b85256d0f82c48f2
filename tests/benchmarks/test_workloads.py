"""The benchmarks' workloads are problems that opspec takes, and their costs are counted right."""

import json
from dataclasses import asdict, replace
from itertools import product

import pytest
import sweep
import variants
from real_layers import real_layers
from workload import Dimension
from workloads import WORKLOADS, Workload, chosen

from opspec import TensorSpec, ops
from opspec.geometry import Window

ALL = (*WORKLOADS, *real_layers())


def _accept(workload: Workload) -> None:
    definition = ops.get("conv3d_transpose")
    attributes = definition.Attributes(
        strides=workload.strides,
        padding=workload.padding,
        data_format=workload.data_format,
        dilations=workload.dilations,
    )
    result = definition.infer(
        attributes,
        input=TensorSpec(workload.dtype, workload.input_shape),
        filters=TensorSpec(workload.dtype, workload.filters_shape),
        output_shape=workload.output_shape,
    )
    assert result.shape == workload.output_shape


def test_there_are_thirteen_and_seventy_seven_and_each_has_its_own_name() -> None:
    assert (len(WORKLOADS), len(real_layers())) == (13, 77)
    assert len({workload.name for workload in ALL}) == len(ALL)


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: str(workload.name))
def test_the_rules_accept_it(workload: Workload) -> None:
    _accept(workload)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: str(workload.name))
def test_the_rules_accept_its_variants(workload: Workload) -> None:
    for contender in variants.contenders("opspec-numpy", workload).values():
        _accept(contender.workload)


def test_the_rules_accept_every_point_of_the_sweep() -> None:
    points = sweep.points()
    assert len({point.name for point in points}) == len(points) > 80
    for point in points:
        _accept(point)


def test_real_layers_have_both_data_formats_and_two_dtypes() -> None:
    assert {layer.data_format for layer in real_layers()} == {"NDHWC", "NCDHW"}
    assert {layer.dtype for layer in real_layers()} == {"float32", "bfloat16"}


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: str(workload.name))
def test_the_padding_is_that_of_opspec(workload: Workload) -> None:
    for each in workload.dimensions:
        window = Window.fitted(each.result, each.kernel, each.stride, each.dilation, each.padding)
        assert window.output == each.size
        assert window.before == each.before
        assert each.full == each.result + each.before + each.after - each.beyond
        inside = sum(len(window.positions(tap)) for tap in range(each.kernel))
        assert inside == each.landings.total()


@pytest.mark.parametrize(
    ("padding", "stride", "dilation", "extra"),
    [
        ("SAME", 1, 1, 0),
        ("SAME", 2, 1, 0),
        ("SAME", 2, 2, 1),
        ("SAME", 5, 1, 2),
        ("VALID", 3, 2, 2),
    ],
)
def test_useful_multiplications_are_those_of_a_brute_force_count(
    padding: str, stride: int, dilation: int, extra: int
) -> None:
    size, kernel = 3, 3
    spanned = (size - 1) * stride + (1 if padding == "SAME" else (kernel - 1) * dilation + 1)
    result = spanned + min(extra, stride - 1)
    workload = Workload(
        name="counted",
        meaning="",
        batch=2,
        spatial=(size, size, size),
        in_channels=3,
        out_channels=5,
        kernel=(kernel, kernel, kernel),
        strides=(stride, stride, stride),
        padding="SAME" if padding == "SAME" else "VALID",
        dilations=(dilation, dilation, dilation),
        result_spatial=(result, result, result),
    )
    _accept(workload)
    before = workload.dimensions[0].before
    counts: dict[tuple[int, ...], int] = {}
    for position in product(range(size), repeat=3):
        for tap in product(range(kernel), repeat=3):
            place = tuple(
                i * stride + t * dilation - before for i, t in zip(position, tap, strict=True)
            )
            if all(0 <= each < result for each in place):
                counts[place] = counts.get(place, 0) + 1
    assert workload.useful_multiply_adds == 2 * 3 * 5 * sum(counts.values())
    assert workload.products_per_value == 3 * max(counts.values())
    assert workload.multiply_adds == 2 * size**3 * kernel**3 * 3 * 5


def test_positions_that_no_tap_reaches_are_told() -> None:
    sparse = Dimension(size=3, result=12, kernel=2, stride=4, dilation=1, padding="SAME")
    assert (sparse.before, sparse.after, sparse.beyond) == (0, 0, 2)


def test_multiply_adds_of_one_tap_are_those_of_a_matrix_product() -> None:
    one_tap = next(workload for workload in WORKLOADS if workload.name == "k1s1")
    assert one_tap.multiply_adds == one_tap.useful_multiply_adds == 32**3 * 64 * 64


def test_bytes_are_those_of_the_dtype() -> None:
    tiny = next(workload for workload in WORKLOADS if workload.name == "tiny")
    assert tiny.operand_bytes == 4 * (4**3 * 3 + 2**3 * 2 * 3)
    assert replace(tiny, dtype="bfloat16").result_bytes == 2 * 8**3 * 2


def test_a_workload_survives_json() -> None:
    for workload in ALL:
        assert Workload.from_json(json.loads(json.dumps(asdict(workload)))) == workload


def test_groups_and_names_choose_each_once() -> None:
    assert chosen(["study"]) == WORKLOADS
    assert chosen(["tiny", "study", "vnet_up64"])[::13] == (WORKLOADS[-1], real_layers()[2])
    assert len(chosen(["study", "real"])) == 90


def test_an_unknown_name_gets_a_near_one() -> None:
    with pytest.raises(LookupError, match="perhaps tiny"):
        chosen(["tinny"])
