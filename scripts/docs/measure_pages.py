"""Counts words, code blocks and table rows of the guides: prose, examples and reference in balance.

`python scripts/docs/measure_pages.py` prints a row for each page, and the sum of the guides per
1,000 words, beside the goals.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
MINIMUM_BLOCKS = 10
"""Code blocks per 1,000 words that the guides should have at least."""
MAXIMUM_ROWS = 12
"""Rows of tables per 1,000 words that the guides should have at most."""
_BLOCK = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^ *\|(?![-: |]+$).*$", re.MULTILINE)


class Balance(NamedTuple):
    """Words, code blocks and rows of tables; code is no words, cells are."""

    words: int
    blocks: int
    rows: int

    def per_thousand(self) -> tuple[float, float]:
        """Return blocks and rows per 1,000 words."""
        return 1000 * self.blocks / self.words, 1000 * self.rows / self.words


def measured(page: Path) -> Balance:
    """Return the balance of a page."""
    text = page.read_text(encoding="utf-8")
    prose = _BLOCK.sub("", text)
    return Balance(len(prose.split()), len(_BLOCK.findall(text)), len(_ROW.findall(prose)))


def of_guides() -> dict[str, Balance]:
    """Return the balance of each guide by its name."""
    return {page.name: measured(page) for page in sorted(GUIDES.glob("*.md"))}


def total(balances: dict[str, Balance]) -> Balance:
    """Return the sum of several pages."""
    return Balance(*map(sum, zip(*balances.values(), strict=True)))


def main() -> None:
    """Print the balance of each guide and of all."""
    pages = of_guides()
    for name, page in {**pages, "all guides": total(pages)}.items():
        blocks, rows = page.per_thousand()
        sys.stdout.write(
            f"{name:24} {page.words:6} words {page.blocks:4} blocks ({blocks:5.1f} per 1,000)"
            f" {page.rows:4} rows ({rows:5.1f})\n"
        )
    goal = f"at least {MINIMUM_BLOCKS} blocks and at most {MAXIMUM_ROWS} rows per 1,000 words"
    sys.stdout.write(f"goal: {goal}\n")


if __name__ == "__main__":
    main()
