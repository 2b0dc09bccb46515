"""The text of an answer as HTML: nothing but text passes, and no address is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from rag_nodes.apps.markup import part, render
from rag_nodes.apps.view.markdown import render_line, render_markdown, visible
from rag_nodes.query.answering import BETWEEN_EXTRACTS
from rag_nodes.query.citations import marks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.apps.visitors.turns import Asking
    from rag_nodes.query import Mark

_MARK = re.compile("\x02(\\d+)\x03")
"""Stands for a mark of the answer while the text around it is taken apart."""
_UNFINISHED = re.compile(r"(?<!\s)\s*\[[^\[\]\n]{0,20}\Z")
"""The beginning of a citation whose end has not arrived."""
_NO_MARK = str.maketrans("\x02\x03", "\ufffd\ufffd")
_ABOVE = 3
"""Level of the heading of the column an answer is in."""
_HEADING_MARK = re.compile(r"#{1,6}\s+")
_ROW = re.compile(r"\|.*\|")
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s:]*-[\s:-]*")
_LAST_DOT = re.compile(" · (?=\x02)")
_BEHIND_ROW = re.compile(r"^([ \t]*\|.*)\|[ \t]*((?:\x02\d+\x03[ \t]*)+)$", re.MULTILINE)
"""Sources named behind the last bar of a row: a cell too many, which Markdown drops."""
_NO_EMPHASIS = re.compile(r"\w\*+\w|(?<!\w)_|_(?!\w)")
"""`2*3*4` and `__init__` would lose what they mean."""


Links = Callable[[int, int], tuple[str, int]]
"""Takes the position of a mark and a source number; gives the id of an element on the page, "" for
none, and the number of the quote in it, 0 for any."""


def _no_link(_: int, __: int) -> tuple[str, int]:
    return "", 0


def answer_text(text: str, marks: Sequence[Mark], links: Links, *, quoted: bool = False) -> Markup:
    """An answer as it is meant to be read, its source numbers as buttons that show the chunk.

    Only what is marked as naming a source does: brackets of the documents stay text.

    Args:
        text: of the answer, Markdown.
        marks: where it names sources.
        links: see `Links`.
        quoted: sentences of documents, to be shown word for word; see `_quote`.
    """
    write = partial(_written, marks=marks, links=links)
    placed = _placed(text, marks).strip()
    if not quoted:
        kept = _BEHIND_ROW.sub(r"\1 \2|", placed)
        return render_markdown(kept, write, above=_ABOVE, links=True).html
    parts = placed.split(BETWEEN_EXTRACTS)
    return Markup().join(_quote(part, write) for part in parts if part.strip())


def growing_text(text: str, *, quoted: bool) -> Markup:
    """Draw the text of an answer that has arrived so far; nothing in it can be opened yet."""
    arrived = _UNFINISHED.sub("", text)
    marks = () if quoted else marks_of(arrived)
    answer = answer_text(arrived, marks, _no_link, quoted=quoted)
    return Markup('<div class="rn-answer">{}</div>').format(answer)


def quote_text(text: str) -> Markup:
    """One sentence of an answer, or its lines of fenced code, without the marks of sources."""
    plain, write = text.translate(_NO_MARK), partial(_written, marks=(), links=_no_link)
    return render_markdown(plain, write).html if "\n" in plain else _quote(plain, write)


def _quote(text: str, write: Callable[[str], Markup]) -> Markup:
    """A sentence of a document, word for word.

    The marks of a heading or a table row go, emphasis, code and links are shown as such; numbers,
    dashes and blanks at its beginning make no list and no code of it.
    """
    plain = _HEADING_MARK.sub("", text.strip(), count=1) if text.startswith("#") else text.strip()
    if _ROW.match(plain):
        cells = [cell.strip() for cell in _BAR.split(plain)]
        kept = (cell for cell in cells if cell and not _RULE.fullmatch(cell))
        plain = _LAST_DOT.sub(" ", " · ".join(kept))
    line = render_line(plain, write, emphasis=not _NO_EMPHASIS.search(plain))
    return Markup('<p dir="auto">{}</p>').format(line)


def _placed(text: str, marks: Sequence[Mark]) -> str:
    """The text with the position of each mark in its place, between characters it has nowhere."""
    plain, reached, pieces = text.translate(_NO_MARK), 0, list[str]()
    for position, mark in enumerate(marks):
        pieces += [plain[reached : mark.start], f"\x02{position}\x03"]
        reached = mark.end
    return "".join([*pieces, plain[reached:]])


def _written(text: str, marks: Sequence[Mark], links: Links) -> Markup:
    """Plain text, the marks in it as what they name."""
    pieces: list[str] = []
    reached = 0
    for match in _MARK.finditer(text):
        pieces.append(visible(text[reached : match.start()]))
        position = int(match[1])
        pieces += [part("chip", number, *links(position, number))
                   for number in marks[position].numbers]  # fmt: skip
        reached = match.end()
    return Markup().join([*pieces, visible(text[reached:])])


def asking_view(asking: Asking) -> Markup:
    """A question that is being answered: its columns as they grow."""
    texts = [
        growing_text(column.text, quoted=asking.quoted) if column.text else None
        for column in asking.growing
    ]
    waiting = "" if asking.growing else "Processing documents… The answer will follow."
    return render("asking", asking=asking, texts=texts, waiting=waiting)
