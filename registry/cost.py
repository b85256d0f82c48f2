"""What a backend's calls cost, as it declares; where the arrays decide, the cheapest one runs."""

import math
from dataclasses import dataclass, fields

from opspec.registry.errors import BackendContractError

# A call is expected to be repeated this often, as the layers of a network are over a file's worth
# of volumes. It decides how large a call must be for compiling to repay itself.
EXPECTED_CALLS = 5000


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls cost, in seconds. Measured once by the author, not while programs run.

    Parameters
    ----------
    start
        Paid once in a process before the first call of a dtype and data format, such as compiling.
    call
        Paid by every call, whatever its size.
    per_multiply_add
        Paid for each product that is added.

    Raises
    ------
    BackendContractError
        For anything but finite numbers that are not negative.
    """

    start: float
    call: float
    per_multiply_add: float

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value < 0:
                raise BackendContractError(
                    f"a Cost's {field.name} is in seconds, finite and 0 or more; given {value!r}"
                )

    def expected(self, multiply_adds: int, *, started: bool) -> float:
        """Return what one call is expected to cost, its share of the start included."""
        share = 0.0 if started else self.start / EXPECTED_CALLS
        return share + self.call + multiply_adds * self.per_multiply_add
