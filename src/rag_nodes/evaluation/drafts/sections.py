"""The sections of a document that can be asked about."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.drafts.probes import is_prose
from rag_nodes.text.extracts import is_entry
from rag_nodes.text.formats import format_in
from rag_nodes.text.markdown import Kind as BlockKind
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from llama_index.core.schema import Document

_MOST = 2_000
"""Characters of a section that is an answer."""
MIN_WORDS = 8
"""Words of an answer of several sentences."""
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_REFERENCE = re.compile(r"(?<=\w) *\[\d[\d, ]*\](?!\()")
_MARKS = re.compile(r"[*`~]{1,3}|(?<!\w)_|_(?!\w)")
_APPARATUS = (
    "|acknowledgements|acknowledgments|bibliography|contents|further reading|index|"
    "list of figures|list of tables|literature|references|see also|table of contents|works cited|"
    "abbildungsverzeichnis|danksagung|inhalt|inhaltsverzeichnis|literatur|literaturverzeichnis|"
    "quellen|tabellenverzeichnis|bibliographie|références|table des matières|índice|referencias|"
    "bibliografía|riferimenti|bibliografia|indice|referências|inhoud|inhoudsopgave|literatuur|"
    "参考文献|目录|目次|参考资料|"
)
"""Headings of what leads to other places: nothing below them is asked about."""


class HeadedText(NamedTuple):
    """A heading and what stands below it: whole blocks, at most `_MOST` characters of them."""

    heading: str
    body: Span


class Page:
    """One document, read for questions; what leads elsewhere, as contents do, is passed over."""

    def __init__(self, document: Document) -> None:
        self.text = document.text
        text_format = format_in(document.metadata, self.text)
        self._packer = Packer(self.text, text_format=text_format)

    @cached_property
    def sections(self) -> list[HeadedText]:
        """All with a body of prose."""
        sections, blocks = [], self._packer.blocks
        for number, block in enumerate(blocks, start=1):
            path = self._path(block.start)
            if block.kind is not BlockKind.HEADING or not path or self._elsewhere(block.start):
                continue
            below = [*takewhile(lambda block: block.kind is not BlockKind.HEADING, blocks[number:])]
            fit = [block.end for block in below if block.end - below[0].start <= _MOST]
            body = Span(below[0].start, fit[-1]) if fit else Span(0, 0)
            if _reads(body.of(self.text)) and len(words(bare(body.of(self.text)))) >= MIN_WORDS:
                sections.append(HeadedText(path[-1], body))
        return sections

    def block_at(self, offset: int) -> Span:
        """The paragraph, list or table that holds an offset."""
        block = self._packer.block_at(offset)
        return Span(block.start, block.end)

    def _path(self, offset: int) -> tuple[str, ...]:
        return tuple(
            _unnumbered(bare(heading)) for heading in self._packer.headings.path_at(offset)
        )

    def _elsewhere(self, offset: int) -> bool:
        return any(map(_leads_elsewhere, self._path(offset)))


def _leads_elsewhere(heading: str) -> bool:
    """Return True if the text below a heading points elsewhere, as a table of contents does."""
    return f"|{heading.casefold().strip(' .:')}|" in _APPARATUS


def _reads(text: str) -> bool:
    """Return True if a text is prose, and long enough."""
    if any(is_entry(line.strip()) for line in text.splitlines()):
        return False
    return len(words(text)) >= MIN_WORDS and is_prose(text)


def bare(text: str) -> str:
    """A text on one line, without the marks of Markdown."""
    linked = _LINK.sub(r"\1", _ESCAPED.sub(r"\1", _REFERENCE.sub("", text)))
    return " ".join(_MARKS.sub("", linked).split()).strip(" .:|•▪-(")


_NUMBERING = re.compile(
    r"\A(?:\(?\d+(?:\.\d+)*[.)]?|\(?[IVXLC]+[.)]|[A-Z](?:\.\d+)*[.)]|[A-Z](?:\.\d+)+"
    r"|(?:Appendix|Annexe?|Anhang|Chapter|Kapitel|Section|Abschnitt|Teil|Part|Step|Schritt)\s+"
    r"(?:[A-Z]|[IVX]+|\d+(?:\.\d+)*)[.:)]?)\s*[:\u2013\u2014-]?\s+(?=\S*[^\W\d])"
)
"""In front of a heading: nobody asks for "3.2 Mooring"."""


def _unnumbered(heading: str) -> str:
    """A heading without its number."""
    return _NUMBERING.sub("", heading, count=1)
