"""The golden files: complete, vouched for, small, and what their generator makes."""

import json
from pathlib import Path

import numpy as np
import pytest

from opspec import ops
from opspec.conformance.case import FOLDERS, Golden, all_golden, golden, golden_folder
from opspec.conformance.generate.golden import build_all, differences

GOLDEN = list(all_golden())
VALUE_LANES = ("exact", "bounded", "real")

# It takes arrays of two libraries to break it, which no data file can hold; the selection tests do.
NOT_DATA = {
    "Conv3D.filter.library_equals_input",
    "Conv3DBackpropFilterV2.out_backprop.library_equals_input",
    "Conv3DBackpropInputV2.out_backprop.library_equals_filter",
    "conv3d_transpose.input.library_equals_filters",
}


def test_there_are_at_least_60_value_cases() -> None:
    assert sum(len(g.file.cases) for g in GOLDEN if g.file.lane in VALUE_LANES) >= 60


@pytest.mark.parametrize("lane", ["accept", "reject"])
@pytest.mark.parametrize("operation", FOLDERS)
def test_every_rule_has_its_case_and_every_case_its_rule(operation: str, lane: str) -> None:
    ids = {rule.id for rule in ops.get(operation).rules}
    assert len(ids) == len(ops.get(operation).rules)
    cases = golden(FOLDERS[operation], lane).file.cases
    assert {case.rule for case in cases if case.rule is not None} == ids - NOT_DATA
    spelled = [case.name for case in cases if case.rule is None]
    assert all(name.startswith("spelled-") for name in spelled)
    assert bool(spelled) == ((operation, lane) == ("conv3d_transpose", "accept"))


def test_at_least_two_sources_vouch_for_every_value() -> None:
    for lane in GOLDEN:
        for case in lane.file.cases:
            if case.expected.result is not None:
                assert len(set(case.oracles)) >= 2, lane.identity(case)


def test_tensorflow_vouches_for_every_value_that_it_survives() -> None:
    without = [
        lane.identity(case)
        for lane in GOLDEN
        for case in lane.file.cases
        if case.expected.result and not any("tensorflow" in name for name in case.oracles)
    ]
    assert without == [
        # It refuses a window that does not fit, and a filter that makes no channel.
        "conv3d/exact/kernel-above-size-valid",
        "conv3d/exact/no-made-channels",
        "conv3d_backprop_filter_v2/exact/kernel-above-size-valid",
        "conv3d_backprop_filter_v2/exact/no-made-channels",
        # It dies.
        "conv3d_backprop_input_v2/exact/zero-contraction",
        "conv3d_backprop_input_v2/exact/zero-contraction-ncdhw",
    ]


def test_every_file_has_its_pedigree() -> None:
    for lane in GOLDEN:
        pedigree = lane.file.pedigree
        assert pedigree.versions["tensorflow-cpu"] == "2.21.0"
        assert pedigree.seed > 0
    real = golden("conv3d_transpose", "real").file.pedigree
    assert real.source is not None
    assert "deepbrain" in real.source
    assert real.licence == "MIT"


def test_the_checked_in_data_is_small() -> None:
    for operation, most in (("", 16), *((folder, 8) for folder in FOLDERS.values())):
        files = (Path(str(golden_folder())) / operation).rglob("*")
        assert sum(file.stat().st_size for file in files if file.is_file()) < most * 10**6


def test_extents_that_could_be_mistaken_for_each_other_differ() -> None:
    for data_format in ("ndhwc", "ncdhw"):
        for padding in ("same", "valid"):
            lane = golden("conv3d_backprop_input_v2", "exact")
            case = next(c for c in lane.file.cases if c.name == f"{data_format}-{padding}-float32")
            size = lane.expected(case).shape
            assert len(set(size)) == 5
            kernel = lane.tensors[f"{case.name}.filter"].shape[:3]
            assert len(set(kernel)) == 3
            strides = case.arguments["strides"].value
            assert len({strides[data_format.index(letter)] for letter in "dhw"}) == 3


def test_making_the_cases_anew_gives_the_same() -> None:
    real = Path(str(golden_folder())) / "conv3d_transpose" / "real.safetensors"
    made = list(build_all(None, real))
    assert len(made) == len(GOLDEN) == 16
    for built in made:
        assert differences(built, golden(FOLDERS[built.operation], built.lane)) == []


def test_a_changed_value_or_word_is_noticed() -> None:
    real = Path(str(golden_folder())) / "conv3d_transpose" / "real.safetensors"
    built = next(made for made in build_all(None, real) if made.lane == "exact")
    name, tensor = next(item for item in built.tensors.items() if item[1].size)
    built.tensors[name] = np.nextafter(tensor, np.float32(100), dtype=tensor.dtype)
    built.cases[3]["shows"] = "something else"
    found = differences(built, golden(FOLDERS[built.operation], "exact"))
    assert any(name in text for text in found)
    assert any("described differently" in text for text in found)


def test_a_payload_of_other_bytes_is_refused(tmp_path: Path) -> None:
    lane = GOLDEN[0]
    source = Path(str(golden_folder())) / lane.folder
    for suffix in ("json", "safetensors"):
        content = (source / f"{lane.file.lane}.{suffix}").read_bytes()
        (tmp_path / f"{lane.file.lane}.{suffix}").write_bytes(content)
    Golden(tmp_path, lane.file.lane)
    payload = tmp_path / f"{lane.file.lane}.safetensors"
    payload.write_bytes(payload.read_bytes()[:-1] + b"\1")
    with pytest.raises(ValueError, match="not the payload"):
        Golden(tmp_path, lane.file.lane)


def test_a_misspelt_key_is_refused(tmp_path: Path) -> None:
    source = Path(str(golden_folder())) / "conv3d_transpose"
    described = json.loads((source / "reject.json").read_text("utf-8"))
    described["cases"][0]["argumets"] = {}
    (tmp_path / "reject.json").write_text(json.dumps(described), "utf-8")
    (tmp_path / "reject.safetensors").write_bytes((source / "reject.safetensors").read_bytes())
    with pytest.raises(ValueError, match="argumets"):
        Golden(tmp_path, "reject")
