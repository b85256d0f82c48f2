"""What a definition says about itself, as text, and the rules of every call beside it."""

import json
import textwrap
from collections.abc import Iterator

from opspec import ops
from opspec.definition import OpDefinition, Operand
from opspec.out import out_rules
from opspec.registry import Backend, BackendUnavailable, discovery

WIDTH = 80


def listing() -> str:
    """Return every operation with its summary."""
    definitions = [ops.get(name) for name in ops.names()]
    width = max(len(definition.name) for definition in definitions)
    lines = [f"{one.name:{width}}  {one.summary}" for one in definitions]
    return "\n".join(lines)


def support_table(*definitions: OpDefinition) -> str:
    """Return operations x backends x dtypes x layouts as Markdown, from what is declared.

    Parameters
    ----------
    *definitions
        The operations; all of them if none is given.
    """
    chosen = definitions or tuple(map(ops.get, ops.names()))
    header = ["| operation | backend | dtypes | data formats | dilation | empties | device |"]
    header.append("|---|---|---|---|---|---|---|")
    rows = [row for definition in chosen for row in _support_rows(definition)]
    return "\n".join(header + rows)


def page(definition: OpDefinition) -> str:
    """Return all that a definition says, for reading in a terminal."""
    return "\n".join(_page_lines(definition))


def json_schema(definition: OpDefinition) -> str:
    """Return the JSON Schema of an operation's attributes."""
    return json.dumps(definition.Attributes.model_json_schema(), indent=2)


def _support_rows(definition: OpDefinition) -> Iterator[str]:
    for name in discovery.names():
        try:
            backend = discovery.find(name)
        except BackendUnavailable:
            continue
        if definition.kernel in backend.capabilities.operations:
            yield f"| `{definition.name}` | {_support(backend)} |"


def _support(backend: Backend) -> str:
    can = backend.capabilities
    cells = [
        backend.name,
        ", ".join(can.dtypes),
        ", ".join(can.data_formats),
        "yes" if can.dilation else "no",
        "yes" if can.empties else "no",
        can.device,
    ]
    return " | ".join(cells)


def _page_lines(definition: OpDefinition) -> Iterator[str]:
    yield f"{definition.name}: {definition.summary}"
    yield f"call: {definition.public.replace(':', '.')}"
    yield ""
    yield definition.reference
    yield ""
    yield "operands"
    for operand in definition.operands:
        yield from _operand_lines(operand)
    yield ""
    yield "attributes"
    for name, field in definition.Attributes.model_fields.items():
        default = "required" if field.is_required() else f"default {field.default!r}"
        yield from _entry(f"{name} ({default})", field.description or "")
    yield ""
    yield from _entry("result", definition.result, indent="")
    yield ""
    yield "rules, in the order in which they are checked"
    for number, rule in enumerate(definition.rules, 1):
        yield from _entry(f"{number:2}. {rule.id}", f"{rule.sentence} [{rule.source}]")
    yield ""
    yield "rules of the call's argument out, checked after those"
    for number, rule in enumerate(out_rules(definition.name), 1):
        yield from _entry(f"{number:2}. {rule.id}", f"{rule.sentence} [{rule.source}]")
    yield ""
    yield "sources"
    for source in definition.sources:
        yield f"  {source}"


def _operand_lines(operand: Operand) -> Iterator[str]:
    yield from _entry(f"{operand.name} ({', '.join(operand.dtypes)})", operand.summary)
    for data_format, dimensions in operand.dimensions.items():
        yield f"      {data_format}: [{', '.join(dimensions)}]"


def _entry(title: str, text: str, indent: str = "  ") -> Iterator[str]:
    yield f"{indent}{title}"
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    "
    )
