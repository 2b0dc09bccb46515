"""The tables of parsers in the documentation say what the list of parsers says."""

import runpy
from pathlib import Path

import pytest

from rag_nodes.parsers import PRESETS

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "docs" / "make_tables.py"))


@pytest.mark.parametrize("page", SCRIPT["PAGES"], ids=lambda page: page.name)
def test_the_table_of_parsers_is_the_one_that_make_format_writes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    made = "short_table" if page.name == "README.md" else "parsers_table"
    assert SCRIPT[made]() in text
    assert SCRIPT["with_tables"](text) == text, "run make format"


def test_a_table_names_every_preset_with_its_class_and_summary() -> None:
    rows = SCRIPT["parsers_table"]().splitlines()[2:]
    for row, (name, preset) in zip(rows, PRESETS.items(), strict=True):
        assert row.startswith(f"| `{name}` | `{preset.parser.__name__}` | {preset.summary} |")
