"""What the axes of a convolution's sides are, and which of them an operand has with the result.

The large side has channels C, the small side channels J, and the filter both; batch entries N are
in all but the filter. Of these three letters the result has two, and each operand one of the two:
along it, a part of the operand makes just that part of the result.
"""

from opspec.definition import OpDefinition
from opspec.geometry import Side

SHARED = "NCJ"


def places_axes(side: Side, data_format: str) -> str:
    """Return the axes of a result as reports name its elements: C is the channel it is made in."""
    return "DHWCJ" if side == "filter" else data_format


def axes_of(side: Side, data_format: str) -> str:
    """Return the axes of a side, a letter for each."""
    if side == "filter":
        return "DHWCJ"
    return data_format if side == "input" else data_format.replace("C", "J")


def axes_in_common(definition: OpDefinition, data_format: str) -> dict[str, tuple[int, int]]:
    """Return, for each operand, the axis that it has in common with the result: in it, in that."""
    result = axes_of(definition.result_side, data_format)
    found = {}
    for name, side in definition.operand_sides.items():
        own = axes_of(side, data_format)
        (letter,) = set(own) & set(result) & set(SHARED)
        found[name] = own.index(letter), result.index(letter)
    return found
