"""Answers on a terminal while they grow; nothing here is used where output goes to a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.live import Live
from rich.text import Text

from rag_nodes.cli.views.answer import label
from rag_nodes.cli.views.comparison import growing_view
from rag_nodes.cli.views.text import clean
from rag_nodes.query import Delta, Failed, Finished

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from rag_nodes.compare import ComparisonReport, ComparisonStream
    from rag_nodes.query import Answer, Event

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


def streamed_answer(events: Iterable[Event], console: Console) -> Answer:
    """Show an answer while it grows.

    Args:
        events: of one engine.
        console: a terminal.

    Returns:
        The answer, whose text is on the terminal already.

    Raises:
        RagNodesError: the answer broke off; what had arrived is shown.
    """
    console.print(label("Answer"))
    text = GrowingText(console)
    try:
        for event in events:
            if isinstance(event, Delta):
                text.add(event.text)
            elif isinstance(event, Finished):
                return event.answer
            elif isinstance(event, Failed):
                raise event.error
    finally:
        text.end()
    raise AssertionError("a stream ends with Finished or Failed")


def streamed_report(
    stream: ComparisonStream, names: Iterable[str], console: Console
) -> ComparisonReport:
    """Show all answers of a comparison while they grow; the view is gone when they are complete.

    Args:
        stream: of the comparison.
        names: labels of the parsers, in the order of their columns.
        console: a terminal.

    Raises:
        RagNodesError: every parser failed for the same reason, such as a missing server.
    """
    texts = {name: Text("…", "dim") for name in names}
    arrived: dict[str, str] = dict.fromkeys(texts, "")
    failures: dict[str, Failed] = {}
    view = Live(
        console=console,
        transient=True,
        refresh_per_second=_FRAMES,
        vertical_overflow="crop",
        get_renderable=lambda: growing_view(dict(texts), console),
    )
    with stream as events, view:
        for name, event in events:
            if isinstance(event, Delta):
                arrived[name] += event.text
                texts[name] = Text(clean(arrived[name]))
            elif isinstance(event, Failed):
                failures[name] = event
                texts[name] = Text(f"Failed: {clean(str(event.error))}", "red")
        report = events.report()
    reasons = {str(failure.error) for failure in failures.values()}
    if len(failures) == len(texts) and len(reasons) == 1:
        raise next(iter(failures.values())).error
    return report
