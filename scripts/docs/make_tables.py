"""Writes the tables of parsers in README and docs from the list of them: `make format` runs it.

A table stands between two comments, `<!-- parsers -->` and `<!-- /parsers -->`; the README has a
short one of some of them, between `<!-- some parsers -->` and `<!-- /some parsers -->`.
"""

from __future__ import annotations

import re
from pathlib import Path

from rag_nodes.parsers.offer import ranges_of
from rag_nodes.parsers.presets import PRESETS

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "reference" / "parsers.md")
SOME = ("retrieval", "heading", "token-overlap", "semantic", "sentence-window", "parent-child")
_TABLE = re.compile(r"(?<=<!-- parsers -->\n).*?(?=\n<!-- /parsers -->)", re.DOTALL)
_SHORT = re.compile(r"(?<=<!-- some parsers -->\n).*?(?=\n<!-- /some parsers -->)", re.DOTALL)


def parsers_table() -> str:
    """A row for each preset: name, class, how it splits, and what is worth trying."""
    rows = ["| preset | class | how it splits | worth trying |", "|---|---|---|---|"]
    for name, preset in PRESETS.items():
        fields = ", ".join(f"`{option.field}`" for option in ranges_of(preset))
        class_name = preset.path.rpartition(":")[2]
        rows.append(f"| `{name}` | `{class_name}` | {preset.summary} | {fields} |")
    return "\n".join(rows)


def short_table() -> str:
    """A row for each of `SOME`: name, and how it splits."""
    rows = [f"| `{name}` | {PRESETS[name].summary} |" for name in SOME]
    return "\n".join(["| preset | how it splits |", "|---|---|", *rows])


def with_tables(page: str) -> str:
    """The text of a page with its tables made anew."""
    return _SHORT.sub(lambda _: short_table(), _TABLE.sub(lambda _: parsers_table(), page))


def main() -> None:
    """Write the tables into the pages that have them."""
    for path in PAGES:
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
