"""The golden cases: how they are written down, and how they are read.

A folder for each operation, in it a pair of files for each lane: ``lane.json`` describes the cases,
``lane.safetensors`` holds their tensors. Both are plain data that any language can read.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal

import ml_dtypes
import numpy as np
import safetensors
from pydantic import BaseModel, ConfigDict, Field

Lane = Literal["exact", "bounded", "real", "accept", "reject"]
LANES: tuple[Lane, ...] = ("exact", "bounded", "real", "accept", "reject")
FORMAT = 1

FOLDERS = {
    "Conv3D": "conv3d",
    "Conv3DBackpropFilterV2": "conv3d_backprop_filter_v2",
    "Conv3DBackpropInputV2": "conv3d_backprop_input_v2",
    "conv3d_transpose": "conv3d_transpose",
}

_DTYPES = {
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F16": np.dtype(np.float16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "I32": np.dtype(np.int32),
    "I64": np.dtype(np.int64),
}


class Model(BaseModel):
    """Frozen, and a misspelt key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Argument(Model):
    """One argument of a call, in one of four spellings.

    Parameters
    ----------
    tensor
        The name of a tensor in the payload.
    value
        A plain value: number, text, true, false, null, or nested lists of them.
    array
        Nested lists that become an array of `dtype`.
    zeros
        The shape of an array of zeros of `dtype`.
    dtype
        Of `array` or `zeros`.
    """

    tensor: str | None = None
    value: Any = None
    array: Any = None
    zeros: list[int] | None = None
    dtype: str | None = None

    def build(self, tensors: dict[str, np.ndarray[Any, Any]]) -> Any:
        """Return the argument as the call gets it."""
        if self.tensor is not None:
            return tensors[self.tensor]
        if self.dtype is None:
            return self.value
        dtype = np.dtype(ml_dtypes.bfloat16 if self.dtype == "bfloat16" else self.dtype)
        if self.zeros is not None:
            return np.zeros(self.zeros, dtype)
        return np.array(self.array, dtype)


class Expected(Model):
    """What must come of a case.

    Parameters
    ----------
    result
        The payload tensor that holds the result: bits in lane "exact" and "accept", the float64
        reference in lanes "bounded" and "real".
    magnitude
        The payload tensor of the sums of absolute values, for the bound.
    shape
        The shape of a result without elements, when it has no payload tensor.
    rule
        The id of the rule that must be the error.
    """

    result: str | None = None
    shape: list[int] | None = None
    magnitude: str | None = None
    rule: str | None = None


class Case(Model):
    """One call and what must come of it.

    Parameters
    ----------
    name
        Unique in its lane.
    shows
        What it is there to show.
    rule
        In lanes "accept" and "reject": the rule whose boundary it stands on.
    through
        Whether the arguments go to the operation's public function, to its attributes model, or to
        its shape inference, for shapes so large that a simple kernel would loop for ever.
    arguments
        The keyword arguments.
    expected
        What must come of it.
    oracles
        The independent sources that agreed on the expected values.
    since
        The version of the suite that brought it.
    """

    name: str
    shows: str
    rule: str | None = None
    through: Literal["call", "attributes", "infer"] = "call"
    arguments: dict[str, Argument]
    expected: Expected
    oracles: list[str] = Field(default_factory=list)
    since: int = Field(default=1, ge=1)


class Pedigree(Model):
    """Where a file of cases comes from.

    Parameters
    ----------
    generator, seed
        What made it, from which seed.
    versions
        Of everything that had a say in the values.
    payload_sha256
        Of the payload file.
    source, licence
        Of data that was not made here.
    """

    generator: str
    seed: int
    versions: dict[str, str]
    payload_sha256: str
    source: str | None = None
    licence: str | None = None


class CaseFile(Model):
    """A lane of one operation, as written down."""

    format: Literal[1]
    operation: str
    lane: Lane
    pedigree: Pedigree
    cases: list[Case]


class Golden:
    """A lane of one operation with its tensors.

    Parameters
    ----------
    folder
        The operation's folder.
    lane
        The lane's name.

    Raises
    ------
    ValueError
        If the payload is not the one the description was written for, or names repeat.
    """

    def __init__(self, folder: Traversable, lane: str) -> None:
        text = (folder / f"{lane}.json").read_text("utf-8")
        self.file = CaseFile.model_validate_json(text)
        self.folder = folder.name
        payload = (folder / f"{lane}.safetensors").read_bytes()
        found = hashlib.sha256(payload).hexdigest()
        if found != self.file.pedigree.payload_sha256:
            raise ValueError(f"{folder.name}/{lane}.safetensors is not the payload of its .json")
        names = [case.name for case in self.file.cases]
        if len(set(names)) != len(names):
            raise ValueError(f"{folder.name}/{lane}.json names two cases alike")
        self.tensors = read_tensors(payload)

    def identity(self, case: Case) -> str:
        """Return the case's id: folder, lane and name."""
        return f"{self.folder}/{self.file.lane}/{case.name}"

    def arguments(self, case: Case) -> dict[str, Any]:
        """Return fresh arguments for a call; a kernel that writes into them harms no other case."""
        built = {name: given.build(self.tensors) for name, given in case.arguments.items()}
        return {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in built.items()
        }

    def expected(self, case: Case) -> np.ndarray[Any, Any]:
        """Return the expected result; one without elements needs no payload tensor."""
        if case.expected.result is not None:
            return self.tensors[case.expected.result]
        return np.empty(tuple(case.expected.shape or ()), np.int8)


def read_tensors(payload: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Read a safetensors payload; the NumPy reader that it comes with has no bfloat16."""
    return {
        name: np.frombuffer(bytearray(view["data"]), _DTYPES[view["dtype"]]).reshape(view["shape"])
        for name, view in safetensors.deserialize(payload)  # type: ignore[no-untyped-call]  # its own
    }


@cache
def golden(operation_folder: str, lane: str) -> Golden:
    """Return one lane of golden cases, read once."""
    return Golden(golden_folder() / operation_folder, lane)


def golden_folder() -> Traversable:
    """Return where the golden cases lie."""
    return files("opspec.conformance") / "golden"


def all_golden() -> Iterator[Golden]:
    """Yield every lane of every operation, sorted."""
    for folder in sorted(golden_folder().iterdir(), key=lambda place: place.name):
        for lane in LANES:
            if folder.is_dir() and (folder / f"{lane}.json").is_file():
                yield golden(folder.name, lane)
