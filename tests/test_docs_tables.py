"""Lists in the documentation agree with the code, and its pages keep their shape."""

import ast
import importlib
import re
import runpy
import textwrap
from pathlib import Path

import pytest

import rag_nodes
from rag_nodes.parsers import PRESETS, SpanNodeParser

ROOT = Path(__file__).parents[1]
DOCS = [
    page
    for page in (ROOT / "docs").rglob("*.md")
    if re.search(r"^ *```py$", page.read_text("utf-8"), re.MULTILINE)
]
COMMON = {*SpanNodeParser.model_fields, "splitter_class", "options", "digest"}
"""Fields of every parser, and those that a wrapped splitter finds out."""
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "docs" / "make_tables.py"))


@pytest.mark.parametrize("page", SCRIPT["PAGES"], ids=lambda page: page.name)
def test_the_table_of_parsers_is_the_one_that_make_format_writes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "\n<!-- /" in text
    assert SCRIPT["with_tables"](text) == text, "run make format"


def test_a_table_names_every_preset_with_its_class_and_summary() -> None:
    rows = SCRIPT["parsers_table"]().splitlines()[2:]
    for row, (name, preset) in zip(rows, PRESETS.items(), strict=True):
        assert row.startswith(f"| `{name}` | [`{preset.parser.__name__}`](../parsers/")
        assert f") | {preset.summary} |" in row


def test_every_parser_has_a_page_of_the_same_shape() -> None:
    assert {preset.parser.__name__ for preset in PRESETS.values()} < {*SCRIPT["OF_CLASSES"]}
    for name, page in SCRIPT["OF_CLASSES"].items():
        text = page.read_text(encoding="utf-8")
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        headings = re.findall(r"^## (.*)$", prose, re.MULTILINE)
        assert headings[:3] == ["What it does", "When to use it", "Parameters"], page
        assert text.partition("## When to use it")[0].count('```text title="Output"') == 1
        for option in getattr(rag_nodes, name).model_fields.keys() - COMMON:
            assert f"- `{option}` (`" in text, f"{page}: run make format"


def test_the_guides_have_more_code_than_tables() -> None:
    measure = runpy.run_path(str(ROOT / "scripts" / "docs" / "measure_pages.py"))
    blocks, rows = measure["total"](measure["of_guides"]()).per_thousand()
    assert blocks >= measure["MINIMUM_BLOCKS"]
    assert rows <= measure["MAXIMUM_ROWS"]


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_that_is_not_run_here_is_python_and_imports_names_that_exist(page: Path) -> None:
    blocks = re.findall(
        r"^( *)```py\n(.*?)^ *```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    for indent, code in blocks:
        tree = ast.parse(textwrap.dedent(code) if indent else code)
        ours = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        for node in ours:
            module = node.module or ""
            if module.startswith("rag_nodes"):
                for name in node.names:
                    assert hasattr(importlib.import_module(module), name.name), (page, name.name)
