"""Answers on a terminal while they grow; nothing here is used where output goes to a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.live import Live
from rich.text import Text

from rag_nodes.cli.views.answer import header_of, label
from rag_nodes.cli.views.comparison import growing_view
from rag_nodes.cli.views.text import clean
from rag_nodes.query import Delta, Failed

if TYPE_CHECKING:
    from rich.console import Console

    from rag_nodes.operations.run import Asking
    from rag_nodes.query import Event

_WORD = re.compile(r"\S*\s+")
_LONGEST_WAIT = 80
"""Characters without a blank after which the beginning of a word is shown: not every language
puts blanks between words."""
_FRAMES = 8
"""Times per second the columns of a comparison are drawn again."""


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


class Growing:
    """One answer word by word, or several side by side until they are complete.

    Args:
        console: a terminal.
        asking: who answers what.
    """

    def __init__(self, console: Console, asking: Asking) -> None:
        self._console = console
        self._texts = {name: Text("…", "dim") for name in asking.columns}
        self._arrived = dict.fromkeys(asking.columns, "")
        self._text: GrowingText | None = None
        self._view: Live | None = None
        if len(self._texts) == 1:
            console.print(header_of(asking.question, asking.models))
            console.print(label("Answer"))
            self._text = GrowingText(console)
            return
        self._view = Live(
            console=console,
            transient=True,
            refresh_per_second=_FRAMES,
            vertical_overflow="crop",
            get_renderable=lambda: growing_view(dict(self._texts), console),
        )
        self._view.start()

    def take(self, name: str, event: Event) -> None:
        """Show what has arrived of an answer."""
        if self._text:
            if isinstance(event, Delta):
                self._text.add(event.text)
        elif isinstance(event, Delta):
            self._arrived[name] += event.text
            self._texts[name] = Text(clean(self._arrived[name]))
        elif isinstance(event, Failed):
            self._texts[name] = Text(f"Failed: {clean(str(event.error))}", "red")

    def end(self) -> None:
        """End the line; several answers go, as the whole view of them follows."""
        if self._text:
            self._text.end()
        if self._view:
            self._view.stop()
