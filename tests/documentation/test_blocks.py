"""Shell blocks of a page make what its commands use, and its tables are drawn as tables."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_MADE = re.compile(r"\b([A-Z]+)=\$\(")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_makes_the_session_that_its_requests_name(page: Path) -> None:
    shell = "\n".join(_BLOCK.findall(page.read_text("utf-8")))
    is_made: set[str] = set()
    for line in shell.splitlines():
        used = {"SESSION"} if "$SESSION" in line else set()
        assert used <= is_made, f"{page.name}: {line.strip()}"
        is_made.update(_MADE.findall(line))
        if "SESSION" in is_made:
            assert "rag-nodes app &" in shell[: shell.index("SESSION=")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_of_a_table_has_the_cells_of_its_header(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^ *\|.*\n)+", text, re.MULTILINE):
        rows = [re.split(r"(?<!\\)\|", row.strip()) for row in table.splitlines()]
        assert [row for row in rows if len(row) != len(rows[0])] == []
        assert r"\|" not in "".join(re.findall(r"`[^`\n]*`", table)), "shown with the backslash"
