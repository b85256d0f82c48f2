"""The shape calculator on an operation's page: what it has to know, and its HTML.

Its arithmetic is that of the picture ``docs/taps.html``, taken from there, and ``calculator.js``.
"""

import json
from pathlib import Path
from typing import Any

from opspec.definition import OpDefinition

DOCS = Path(__file__).parents[1]


def calculator_html(definition: OpDefinition) -> str:
    """Return the calculator as HTML with its scripts inside."""
    described = json.dumps(described_operation(definition))
    return "\n".join(
        [
            '<div class="calculator" id="calculator"></div>',
            f"<script>{geometry_script()}</script>",
            f"<script>{calculator_script()}</script>",
            f'<script>calculator(document.getElementById("calculator"), {described});</script>',
            "<noscript>The calculator is a script; "
            f"<code>opspec infer {definition.name}</code> computes shapes too.</noscript>",
        ]
    )


def geometry_script() -> str:
    """Return the arithmetic of the picture's page.

    Raises
    ------
    LookupError
        If the page has no such script.
    """
    page = (DOCS / "taps.html").read_text("utf-8")
    _, found, rest = page.partition('<script id="geometry">')
    if not found:
        raise LookupError("docs/taps.html has no script of the id geometry")
    return rest.partition("</script>")[0]


def calculator_script() -> str:
    """Return the calculator's own script."""
    return (Path(__file__).parent / "calculator.js").read_text("utf-8")


def described_operation(definition: OpDefinition) -> dict[str, Any]:
    """Return what the calculator has to know of an operation, from its definition."""
    sides = dict(definition.operand_sides)
    if definition.sizes is not None:
        sides[definition.sizes] = definition.result_side
    filter_name = next(name for name, side in sides.items() if side == "filter")
    dimensions = {operand.name: operand.dimensions for operand in definition.operands}
    # Every filter is [spatial dimensions, channels of the large side, channels of the small side].
    *spatial, large_channels, small_channels = next(iter(dimensions[filter_name].values()))
    return {
        "function": definition.public.replace(":", "."),
        "layouts": list(dimensions[filter_name]),
        "spatial": spatial,
        "channels": {"input": large_channels, "output": small_channels},
        "operands": [{"name": one.name, "side": sides[one.name]} for one in definition.operands],
        "sizes": definition.sizes,
        "result": definition.result_side,
    }
