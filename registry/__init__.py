"""Who implements an operation: backends, how they are found, which one takes a call.

A leaf: it needs the standard library only and knows neither operations nor array libraries.
"""

from opspec.registry.backend import Backend
from opspec.registry.capabilities import Capabilities, Demand
from opspec.registry.cost import Cost
from opspec.registry.errors import (
    BackendContractError,
    BackendError,
    BackendUnavailable,
    UnknownBackend,
    UnsupportedByBackend,
)
from opspec.registry.selection import Candidate, Explanation, use_backend
from opspec.registry.warming import Piece, Warmth, warmup

__all__ = [
    "Backend",
    "BackendContractError",
    "BackendError",
    "BackendUnavailable",
    "Candidate",
    "Capabilities",
    "Cost",
    "Demand",
    "Explanation",
    "Piece",
    "UnknownBackend",
    "UnsupportedByBackend",
    "Warmth",
    "use_backend",
    "warmup",
]
