"""An answer on a terminal while it grows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from rag_nodes.cli.views.text import clean

if TYPE_CHECKING:
    from rich.console import Console


_WORD = re.compile(r"\S*\s+")
_LONGEST_WAIT = 80
"""Characters without a blank after which the beginning of a word is shown: not every language
puts blanks between words."""


class GrowingText:
    """Writes text that arrives in pieces, word by word, so that none is broken at the border.

    A control sequence split over two pieces loses its effect like any other.

    Args:
        console: where to write.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._waiting = ""
        self._column = 0

    def add(self, text: str) -> None:
        """Show what is complete of the text so far."""
        self._waiting += text
        end = 0
        for word in _WORD.finditer(self._waiting):
            self._write(word[0])
            end = word.end()
        self._waiting = self._waiting[end:]
        if len(self._waiting) > _LONGEST_WAIT:
            self._flush()

    def end(self) -> None:
        """Show the rest and end the line."""
        self._flush()
        if self._column:
            self._put("\n")

    def _flush(self) -> None:
        self._write(self._waiting)
        self._waiting = ""

    def _write(self, word: str) -> None:
        shown = clean(word).replace("\t", " ")
        if self._column and self._column + cell_len(shown.rstrip()) > self._console.width:
            self._put("\n")
        self._put(shown)

    def _put(self, text: str) -> None:
        self._console.print(Text(text), end="", soft_wrap=True)
        before, line_end, last = text.rpartition("\n")
        self._column = cell_len(last) + (0 if line_end else self._column + cell_len(before))
