"""The types in the public signatures."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)
Array = TypeVar("Array")
Numbers = Sequence[Any]
Sizes = Sequence[int] | npt.NDArray[np.integer[Any]]
Steps = int | Sequence[int] | npt.NDArray[np.integer[Any]] | None
FiveSteps = Sequence[int] | npt.NDArray[np.integer[Any]]
Padding = Literal["SAME", "VALID"]
DataFormat = Literal["NDHWC", "NCDHW"] | None
