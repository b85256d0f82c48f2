"""An operation's page, made from its definition."""

import inspect
import textwrap
from collections.abc import Iterator

import behaviour
from calculator import calculator_html
from page_text import section_link, table
from rejections import Rejection, rejections

from opspec import pages
from opspec.definition import OpDefinition
from opspec.explanation import public_function
from opspec.out import out_rules
from opspec.rule import Rule

ROOT = "../"


def operation_page(definition: OpDefinition) -> str:
    """Return the page as MyST Markdown."""
    return "\n".join(_page_lines(definition)) + "\n"


def _page_lines(definition: OpDefinition) -> Iterator[str]:
    yield f"# {definition.name}"
    yield ""
    yield definition.summary
    yield ""
    yield from _block("python", _signature(definition))
    yield definition.reference
    yield ""
    yield from _operand_lines(definition)
    yield from _attribute_lines(definition)
    yield "## Shapes"
    yield ""
    yield from _block("{raw} html", calculator_html(definition))
    yield "## What runs it"
    yield ""
    yield pages.support_table(definition)
    yield ""
    yield from _rule_lines(definition)
    yield "## Where TensorFlow differs"
    yield ""
    yield from _difference_lines(definition)
    yield "## Sources"
    yield ""
    for source in definition.sources:
        yield f"* {_source(source)}"


def _signature(definition: OpDefinition) -> str:
    """Return how the public function is called, without the types."""
    signature = inspect.signature(public_function(definition))
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    shown = signature.replace(parameters=bare, return_annotation=signature.empty)
    name = definition.public.replace(":", ".")
    return "\n".join(textwrap.wrap(f"{name}{shown}", 76, subsequent_indent=" " * (len(name) + 1)))


def _operand_lines(definition: OpDefinition) -> Iterator[str]:
    yield "## Operands"
    yield ""
    rows = [(f"`{one.name}`", one.summary, ", ".join(one.dtypes)) for one in definition.operands]
    yield table(("operand", "what it is", "dtypes"), [*rows, ("result", definition.result, "")])
    yield ""
    layouts = list(definition.operands[0].dimensions)
    dimensions = [
        (f"`{one.name}`", *(_dimensions(one.dimensions[layout]) for layout in layouts))
        for one in definition.operands
    ]
    if definition.sizes is not None:
        holder = f"`{definition.sizes}` holds those of the result"
        yield f"Their dimensions in each data format; {holder}:"
    else:
        yield "Their dimensions in each data format:"
    yield ""
    yield table(("", *layouts), dimensions)
    yield ""


def _dimensions(names: tuple[str, ...]) -> str:
    return f"[{', '.join(names)}]"


def _attribute_lines(definition: OpDefinition) -> Iterator[str]:
    yield "## Attributes"
    yield ""
    rows = [
        (
            f"`{name}`",
            "required" if field.is_required() else f"`{field.default!r}`",
            field.description or "",
        )
        for name, field in definition.Attributes.model_fields.items()
    ]
    yield table(("attribute", "default", "what it is"), rows)
    yield ""
    yield "<details><summary>As JSON Schema</summary>"
    yield ""
    yield from _block("json", pages.json_schema(definition))
    yield "</details>"
    yield ""


def _rule_lines(definition: OpDefinition) -> Iterator[str]:
    yield "## Rules"
    yield ""
    yield (
        "They are checked in this order, and the first that is broken is the error. Each opens "
        "to a call that breaks it, and what that says."
    )
    yield ""
    broken = rejections(definition)
    for number, rule in enumerate(definition.rules, 1):
        yield from _one_rule(definition, number, rule, broken.get(rule.id))
    yield f"The rules of `out=` come after those; [calling]({ROOT}calling.md) has more on it."
    yield ""
    rows = [(f"`{rule.label}`", rule.sentence) for rule in out_rules(definition.name)]
    yield table(("rule", "says"), rows)
    yield ""


def _one_rule(
    definition: OpDefinition, number: int, rule: Rule, rejection: Rejection | None
) -> Iterator[str]:
    yield f'<details class="rule"><summary><span id="{rule.id}">{number}.</span> {rule.sentence}'
    yield f"<code>{rule.label}</code></summary>"
    yield ""
    yield f"`{rule.id}`, from {section_link(rule.source, ROOT)}."
    yield ""
    if rejection is None:
        yield "No golden case breaks it: they are of one array library."
        yield ""
    else:
        yield from _block("python", rejection.call)
        yield from _block("text", rejection.message)
        answers = behaviour.recorded(definition, "reject").get(rejection.case)
        if answers is not None:
            yield from _said_lines(answers)
    yield "</details>"
    yield ""


def _said_lines(answers: behaviour.Answers) -> Iterator[str]:
    """Say what TensorFlow answers to the call, alike ways together."""
    alike: dict[str, list[str]] = {}
    for way, title in behaviour.WAYS.items():
        said = f"{behaviour.in_short(answers[way])}"
        if answers[way]["did"] == "error":
            said += f": `{answers[way]['said'].replace('`', chr(39))}`"
        alike.setdefault(said, []).append(title)
    for said, titles in alike.items():
        yield f"* {'; '.join(titles)}: {said}"
    yield ""


def _difference_lines(definition: OpDefinition) -> Iterator[str]:
    if not behaviour.recorded(definition, "reject"):
        yield "This operation came after TensorFlow's behaviour was recorded."
    else:
        yield (
            f"Recorded with TensorFlow {behaviour.record()['versions']['tensorflow']}; "
            f"[what TensorFlow does]({ROOT}behaviour.md) says how. The calls are the "
            "golden cases of the rules (lanes reject and accept) and those that are named."
        )
        yield ""
        yield behaviour.differences(definition)
    yield ""


def _source(source: str) -> str:
    if source.startswith("docs/"):
        return f"[{source}]({ROOT}{source.removeprefix('docs/')})"
    return f"<{source}>"


def _block(language: str, text: str) -> Iterator[str]:
    yield f"```{language}"
    yield text
    yield "```"
    yield ""
