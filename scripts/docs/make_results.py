"""Writes the tables of benchmarks/results.md, and the picture of the README, from kept recalls.

It needs no run and no data: `benchmarks/quality.py` measured, and the recall of every question is
kept in `benchmarks/results`. A table stands between `<!-- table: name -->` and `<!-- /table -->`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from results.bars import bars  # noqa: E402 -- of the folder above
from results.picture import picture  # noqa: E402
from results.summary import Summary  # noqa: E402
from results.tables import TABLES, lead  # noqa: E402

PAGE = ROOT / "benchmarks" / "results.md"
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "size-curves.svg"
BARS = ROOT / "docs" / "images" / "bars.svg"
_TABLE = re.compile(r"(?<=<!-- table: )([a-z-]+)( -->\n).*?(?=<!-- /table -->)", re.DOTALL)
_LEAD = re.compile(r"(?<=<!-- lead -->\n).*?(?=<!-- /lead -->)", re.DOTALL)


def with_lead(page: str) -> str:
    """The text of the README with what stands under its picture made anew."""
    return _LEAD.sub(lambda _: f"{lead()}\n", page)


def with_tables(page: str) -> str:
    """The text of the page with its tables made anew."""
    return _TABLE.sub(lambda found: f"{found[1]}{found[2]}\n{TABLES[found[1]]()}\n\n", page)


def main() -> None:
    """Write both pages and the pictures."""
    README.write_text(with_lead(README.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
    BARS.write_text(bars(Summary.load()), encoding="utf-8")


if __name__ == "__main__":
    main()
