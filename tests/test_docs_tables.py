"""The tables of parsers in the documentation say what the list of parsers says."""

import re
import runpy
from pathlib import Path

import pytest

import rag_nodes
from rag_nodes.parsers import PRESETS, SpanNodeParser

ROOT = Path(__file__).parents[1]
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
