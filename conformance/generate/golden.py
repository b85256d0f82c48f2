"""How the golden files are made, and made again to see that they are still the same.

Operands come from a recorded seed; expected values from the oracles, never from a backend.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from opspec.conformance.case import FOLDERS, FORMAT, Case, CaseFile, Golden, Pedigree
from opspec.conformance.generate.built import SEED, Array, Built, DisagreementError
from opspec.conformance.generate.oracles import LEAST
from opspec.conformance.generate.real_lane import real_layers
from opspec.conformance.generate.rule_lanes import accepted, rejected
from opspec.conformance.generate.shape_specs import shape_specs
from opspec.conformance.generate.sibling_specs import sibling_specs
from opspec.conformance.generate.special_specs import special_specs
from opspec.conformance.generate.tensorflow_child import TensorFlowChild
from opspec.conformance.generate.value_lanes import add_value_case
from opspec.conformance.generate.value_specs import value_specs

GENERATOR = "opspec.conformance.generate.golden"


def build_all(tensorflow: TensorFlowChild | None, real: Path) -> Iterator[Built]:
    """Make every lane of every operation.

    Parameters
    ----------
    tensorflow
        A running TensorFlow, to be asked as well; None to do without.
    real
        The file of real layers, which is taken over as it is.
    """
    for operation in FOLDERS:
        for built in (
            Built(operation, "exact"),
            Built(operation, "bounded"),
            accepted(operation, tensorflow),
        ):
            for spec in (*shape_specs(), *value_specs(), *special_specs(), *sibling_specs()):
                if (spec.public, spec.lane) == (operation, built.lane):
                    add_value_case(built, spec, tensorflow)
            if built.cases:
                yield built
        yield rejected(operation)
    yield real_layers(real, tensorflow)


def write(built: Built, folder: Path, versions: Mapping[str, str]) -> None:
    """Write a lane's pair of files."""
    for case in built.cases:
        _refuse_orphan(built, case)
    folder.mkdir(parents=True, exist_ok=True)
    payload = safetensors.numpy.save(built.tensors)
    pedigree = Pedigree(
        generator=GENERATOR,
        seed=SEED,
        versions=dict(versions),
        payload_sha256=hashlib.sha256(payload).hexdigest(),
        source=built.source,
        licence=built.licence,
    )
    file = CaseFile(
        format=FORMAT,
        operation=built.operation,
        lane=built.lane,
        pedigree=pedigree,
        cases=[Case.model_validate(case) for case in built.cases],
    )
    text = json.dumps(file.model_dump(exclude_unset=True), indent=1)
    (folder / f"{built.lane}.json").write_text(text + "\n", "utf-8")
    (folder / f"{built.lane}.safetensors").write_bytes(payload)


def differences(built: Built, golden: Golden) -> list[str]:
    """Say how a lane made anew differs from the golden one, in values or in words."""
    found = []
    then = {case.name: case for case in golden.file.cases}
    now = {case["name"]: Case.model_validate(case) for case in built.cases}
    for name in then.keys() ^ now.keys():
        when = "in the golden file" if name in then else "in what the generator makes"
        found.append(f"{golden.folder}/{built.lane}/{name} is only {when}")
    for name in then.keys() & now.keys():
        unasked: dict[str, list[str]] = {"oracles": []}
        if then[name].model_copy(update=unasked) != now[name].model_copy(update=unasked):
            found.append(f"{golden.folder}/{built.lane}/{name} is described differently")
    for name in built.tensors.keys() | golden.tensors.keys():
        if not _is_same(name, built.tensors, golden.tensors):
            found.append(f"{golden.folder}/{built.lane}: tensor {name} differs")
    return sorted(found)


def _is_same(name: str, now: Mapping[str, Array], then: Mapping[str, Array]) -> bool:
    """Compare bits, and by the bound float64 sums that another processor adds in another order."""
    one, other = now.get(name), then.get(name)
    if one is None or other is None or (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.tobytes() == other.tobytes():
        return True
    case, _, part = name.rpartition(".")
    magnitude = then.get(f"{case}.magnitude")
    if magnitude is None or part not in ("result", "magnitude"):
        return False
    unit = 2.0**-53 if part == "result" else 2.0**-24
    return bool((np.abs(one - other) <= 8 * unit * magnitude).all())


def _refuse_orphan(built: Built, case: Mapping[str, Any]) -> None:
    """Refuse values that fewer than two independent sources vouch for."""
    if "result" in case["expected"] and len(case["oracles"]) < LEAST:
        name = f"{built.operation}/{built.lane}/{case['name']}"
        raise DisagreementError(f"{name}: only {case['oracles']} vouch for it")
