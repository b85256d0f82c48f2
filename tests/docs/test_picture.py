"""The scripts of the picture and of the shape calculator, run by a browser, beside opspec."""

import html
import itertools
import json
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from calculator import calculator_script, described_operation, geometry_script

from opspec import ops
from opspec.definition import OpDefinition
from opspec.geometry import Window, input_sizes_for
from opspec.rule import TensorSpec

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURE = Path(__file__).parents[2] / "docs" / "taps.html"
PRINTED = re.compile(r'<pre id="printed">(.*?)</pre>', re.DOTALL)
DEFINITIONS = [ops.get(name) for name in ops.names()]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


def dumped(page: Path, profile: Path, fragment: str = "") -> str:
    """Return a page as it is after its scripts have run."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=2000",
            "--dump-dom",
            f"{page.as_uri()}{fragment}",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


def evaluated(page: str, script: str, place: Path) -> Any:
    """Return what a script at the end of a page evaluates to, read from what it prints there."""
    printing = f"""<script>
      const printed = document.createElement("pre");
      printed.id = "printed";
      printed.textContent = JSON.stringify((() => {{ {script} }})());
      document.body.append(printed);
    </script>"""
    file = place / "page.html"
    file.write_text(page + printing, "utf-8")
    found = PRINTED.search(dumped(file, place / "profile"))
    assert found is not None, "the page's script failed"
    return json.loads(html.unescape(found[1]))


def test_the_arithmetic_of_the_picture_is_that_of_opspec(tmp_path: Path) -> None:
    parameters = list(itertools.product(range(13), range(1, 6), range(1, 6), (1, 2, 3)))
    cases = [(*one, padding) for one in parameters for padding in ("SAME", "VALID")]
    script = f"""
      return {json.dumps(cases)}.map((one) => {{
        const window = fitted(...one);
        const {{ first, last }} = inputSizesFor(...one);
        return [window, meetings(window).map((met) => [met.position, met.tap, met.at]),
          phases(window).map((phase) => phase.taps), first, last];
      }});"""
    answers = evaluated(PICTURE.read_text("utf-8"), script, tmp_path)
    assert len(answers) == len(cases) == 1950
    for case, (window, met, phases, first, last) in zip(cases, answers, strict=True):
        expected = Window.fitted(*case)
        assert window == {name: getattr(expected, name) for name in Window.__slots__}, case
        assert sorted(map(tuple, met)) == sorted(meetings(expected)), case
        assert phases == phases_by_landing(expected), case
        # The first number is taken for a number of windows here.
        assert range(first, last + 1) == input_sizes_for(*case), case


def meetings(window: Window) -> list[tuple[int, int, int]]:
    return [
        (position, tap, window.landing(position, tap))
        for tap in range(window.kernel)
        for position in window.positions(tap)
    ]


def phases_by_landing(window: Window) -> list[list[int]]:
    """Return, per phase, the taps that land in it from whatever position, outside or not."""
    return [
        [t for t in range(window.kernel) if (window.landing(0, t) - phase) % window.stride == 0]
        for phase in range(min(window.stride, window.input))
    ]


@pytest.mark.parametrize(
    ("direction", "window"),
    [
        ("transpose", Window.fitted(8, 3, 2, 1, "SAME")),
        ("forward", Window.fitted(9, 3, 2, 2, "VALID")),
        ("transpose", Window.fitted(2, 3, 1, 1, "VALID")),
    ],
)
def test_the_lines_that_are_drawn_are_the_taps_that_meet(
    tmp_path: Path, direction: str, window: Window
) -> None:
    padding = "SAME" if window.after else "VALID"
    fragment = (
        f"#direction={direction}&size={window.input}&kernel={window.kernel}&stride={window.stride}"
        f"&dilation={window.dilation}&padding={padding}"
    )
    page = dumped(PICTURE, tmp_path, fragment)
    drawn = re.findall(r'data-position="(\d+)" data-tap="(\d+)" data-at="(\d+)"', page)
    lines = [tuple(map(int, one)) for one in drawn]
    assert sorted(lines) == sorted(meetings(window))
    sizes = [int(size) for size in re.findall(r"<button[^>]*>(\d+)</button>", page)]
    legal = input_sizes_for(window.output, window.kernel, window.stride, window.dilation, padding)
    assert sizes == list(legal)


def test_the_picture_follows_its_controls_and_says_what_it_does_not_take(tmp_path: Path) -> None:
    script = """
      const set = (name, value) => {
        const field = form.elements[name];
        field.value = value;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        return [element("facts").textContent, element("fault").textContent];
      };
      const first = [set("size", "5"), set("stride", "3"), set("kernel", "0"), set("kernel", "2.5"),
        set("kernel", "2"), set("direction", "forward")];
      document.querySelector('[data-side="small"][data-index="1"]').dispatchEvent(
        new MouseEvent("click", { bubbles: true }));
      return [...first, element("sum").textContent];"""
    *steps, chosen = evaluated(PICTURE.read_text("utf-8"), script, tmp_path)
    facts, faults = zip(*steps, strict=True)
    assert facts[0].startswith("10 positions out, 5 windows")
    assert facts[1].startswith("15 positions out, 5 windows")
    assert facts[2] == facts[3] == facts[1]
    assert faults[2] == faults[3] == "kernel must be a whole number from 1 to 12."
    assert faults[4] == ""
    assert facts[5].startswith("15 positions in, 5 windows, a span of 2")
    # 15 positions, stride 3, kernel 2: window 1 begins at 3.
    assert chosen == "output[1] = input[3]·filter[0] + input[4]·filter[1]"


def problems(definition: OpDefinition) -> list[dict[str, Any]]:
    """Return random problems as the calculator reads them."""
    draw = random.Random(definition.name)
    described = described_operation(definition)
    return [
        {
            "layout": draw.choice(described["layouts"]),
            "padding": draw.choice(("SAME", "VALID")),
            "batch": draw.randint(0, 3),
            "inputChannels": draw.randint(1, 4),
            "outputChannels": draw.randint(0, 4),
            "dimensions": [
                {
                    "size": draw.randint(1, 12),
                    "kernel": draw.randint(1, 5),
                    "stride": draw.randint(1, 4),
                    "dilation": draw.randint(1, 3),
                }
                for _ in described["spatial"]
            ],
        }
        for _ in range(60)
    ]


def test_the_calculator_gives_the_shapes_that_the_definitions_infer(tmp_path: Path) -> None:
    asked = [
        (described_operation(definition), problem)
        for definition in DEFINITIONS
        for problem in problems(definition)
    ]
    scripts = f"<body><script>{geometry_script()}</script><script>{calculator_script()}</script>"
    script = f"return {json.dumps(asked)}.map(([operation, one]) => shapesOf(operation, one));"
    answers = iter(evaluated(scripts, script, tmp_path))
    for definition in DEFINITIONS:
        for problem in problems(definition):
            assert_shapes(definition, problem, next(answers))


def assert_shapes(
    definition: OpDefinition, problem: dict[str, Any], shapes: dict[str, Any]
) -> None:
    described = described_operation(definition)
    attributes = definition.Attributes(
        strides=shapes["strides"],
        dilations=shapes["dilations"],
        padding=problem["padding"],
        data_format=problem["layout"],
    )
    operands = {
        operand["name"]: shapes[operand["side"]]
        if operand["name"] == definition.sizes
        else TensorSpec("float32", tuple(shapes[operand["side"]]))
        for operand in described["operands"]
    }
    result = definition.infer(attributes, **operands)
    assert list(result.shape) == shapes[described["result"]], (definition.name, problem)
