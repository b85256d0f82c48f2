"""Pages of operations say what the definitions say, with the messages that calls really get."""

import re
from pathlib import Path

import pytest
from operation_page import operation_page
from page_text import page_name, section_link, table
from rejections import rejections
from site_pages import write_pages

import opspec
from opspec import ops
from opspec.definition import OpDefinition

DEFINITIONS = [ops.get(name) for name in ops.names()]
every_operation = pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda one: one.name)


@every_operation
def test_a_page_has_all_that_the_definition_says(definition: OpDefinition) -> None:
    page = operation_page(definition)
    places = [page.index(f"<code>{rule.label}</code>") for rule in definition.rules]
    assert places == sorted(places)
    for rule in definition.rules:
        assert rule.sentence in page
        assert f'id="{rule.id}"' in page
    for operand in definition.operands:
        assert operand.summary in page
        for names in operand.dimensions.values():
            assert f"[{', '.join(names)}]" in page
    for name, field in definition.Attributes.model_fields.items():
        assert f"`{name}`" in page
        assert (field.description or "") in page
    assert definition.reference in page


@every_operation
def test_each_rule_that_golden_cases_break_has_the_message_of_that_call(
    definition: OpDefinition,
) -> None:
    found = rejections(definition)
    without = {rule.id for rule in definition.rules} - found.keys()
    # Golden cases have arrays of NumPy only.
    assert all(".library_equals_" in rule for rule in without)
    page = operation_page(definition)
    for rule, rejection in found.items():
        assert f"[{rule}]" in rejection.message
        assert rejection.message in page
        assert rejection.call in page


def test_a_call_on_a_page_run_as_it_stands_says_what_the_page_says() -> None:
    import numpy

    found = rejections(ops.get("Conv3D"))["Conv3D.filter.rank_is_5"]
    with pytest.raises(opspec.OpError) as caught:
        eval(found.call, {"np": numpy, "Conv3D": opspec.raw_ops.Conv3D})
    assert str(caught.value) == found.message


def test_one_page_is_written_for_each_operation_and_stale_ones_go(tmp_path: Path) -> None:
    (tmp_path / "operations").mkdir()
    (tmp_path / "operations" / "gone.md").write_text("# Gone\n", "utf-8")
    write_pages(tmp_path)
    written = {page.stem for page in (tmp_path / "operations").glob("*.md")}
    assert written == {page_name(one) for one in DEFINITIONS} | {"index"}
    assert (tmp_path / "behaviour.md").is_file()


def test_a_source_becomes_a_link_to_its_section() -> None:
    link = section_link("TensorFlow reference pages; docs/semantics.md §2, §3.5", "../")
    assert re.findall(r"\[(§[\d.]+)\]\(\.\./semantics\.md#(\d)-", link) == [
        ("§2", "2"),
        ("§3.5", "3"),
    ]
    with pytest.raises(KeyError):
        section_link("docs/semantics.md §99.1")


def test_a_cell_with_a_bar_stays_one_cell() -> None:
    assert table(("a",), [("x|y\nz",)]).splitlines()[2] == r"| x\|y z |"
