"""Write the tables of benchmarks/results.md and the figures of the README from kept recalls.

It needs no run and no data: `benchmarks/quality.py` measured, and the recall of every question is
kept in `benchmarks/results`. A table stands between `<!-- table: name -->` and `<!-- /table -->`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from results.dots import dots  # noqa: E402 -- of the folder above
from results.field import hybrid, keyword, lead  # noqa: E402
from results.picture import picture  # noqa: E402
from results.tables import TABLES  # noqa: E402

PAGE = ROOT / "benchmarks" / "results.md"
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "size-curves.svg"
FIELDS = {"recall-keyword": keyword, "recall-hybrid": hybrid}
"""Figures of the README."""
_TABLE = re.compile(r"(?<=<!-- table: )([a-z-]+)( -->\n).*?(?=<!-- /table -->)", re.DOTALL)
_LEAD = re.compile(r"(?<=<!-- lead -->\n).*?(?=<!-- /lead -->)", re.DOTALL)


def figures() -> dict[Path, str]:
    """Return the figures by their files."""
    folder = PICTURE.parent
    fields = {folder / f"{name}.svg": dots(field()) for name, field in FIELDS.items()}
    return {PICTURE: picture(), **fields}


def with_lead(page: str) -> str:
    """Return the text of the README with the sentences under its figures made again."""
    return _LEAD.sub(lambda _: f"{lead()}\n", page)


def with_tables(page: str) -> str:
    """The text of the page with its tables made anew."""
    return _TABLE.sub(lambda match: f"{match[1]}{match[2]}\n{TABLES[match[1]]()}\n\n", page)


def main() -> None:
    """Write both pages and the figures."""
    README.write_text(with_lead(README.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for path, figure in figures().items():
        path.write_text(figure, encoding="utf-8")


if __name__ == "__main__":
    main()
