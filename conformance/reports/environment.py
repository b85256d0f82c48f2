"""Where and when a run took place."""

import platform
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import numpy

import opspec


@dataclass(frozen=True, slots=True)
class Environment:
    """What a reader needs to know to get the same again.

    Parameters
    ----------
    opspec, python, numpy
        Versions.
    platform
        The system and the processor.
    date
        When, in words.
    """

    opspec: str
    python: str
    numpy: str
    platform: str
    date: str

    @classmethod
    def of_this_process(cls, date: datetime) -> Self:
        """Return the environment that this process runs in."""
        return cls(
            opspec=opspec.__version__,
            python=f"{platform.python_implementation()} {platform.python_version()}",
            numpy=numpy.__version__,
            platform=platform.platform(),
            date=f"{date:%Y-%m-%d %H:%M %Z}".strip(),
        )
