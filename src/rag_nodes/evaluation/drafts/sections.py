"""A document as it can be asked about: sections, sentences, rows, and how it writes its words."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.drafts.grammar import GRAMMARS, leads_elsewhere
from rag_nodes.evaluation.drafts.probes import is_prose
from rag_nodes.metadata import TITLE
from rag_nodes.text.extracts import candidates, is_entry
from rag_nodes.text.formats import format_in
from rag_nodes.text.languages import guess_language
from rag_nodes.text.markdown import Kind as BlockKind
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span, trimmed
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llama_index.core.schema import Document

MOST = 2_000
"""Characters of a section that is an answer."""
_LEAST_SHARE, _LEAD_IN = 0.6, 400
"""Share of a section that counts as all of it, and characters that lead in to subsections."""
_LEAST_WORDS = 8
"""Words of an answer of several sentences."""
_SHORT = 3
"""Letters of words that headings have lower where all others are capital."""
_LONGEST_SENTENCE = 450
_WORDS_OF_A_LINE = 3
"""Of a sentence, in the mean; fewer are code, a form or a table without rules."""
_ENGLISH = frozenset(words("the of and to in is for that"))
_LEAST_ENGLISH, _SAMPLE = 0.04, 8_000
"""Share of the smallest words from which a text is English, and characters it is looked for in."""
_CELLS = re.compile(r"(?<!\\)\|")
_ENDS = re.compile(r"[.!。！।…][\"'”’»)\]*_]*\Z")  # noqa: RUF001 -- full stops of many scripts
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_REFERENCE = re.compile(r"(?<=\w) *\[\d[\d, ]*\](?!\()")
_MARKS = re.compile(r"[*`~]{1,3}|(?<!\w)_|_(?!\w)")
_MARKED = re.compile(r"\*\*([^*\n]{2,60})\*\*|`([^`\n]{2,60})`|__([^_\n]{2,60})__")
_IN_MID_SENTENCE = re.compile(r"(?<=[\w,;:)] )[^\W\d_][\w'-]*")


class HeadedText(NamedTuple):
    """A heading and what stands below it: whole blocks, at most `MOST` characters of them.

    It `is_whole` where little is cut off, and no subsections say what it only leads in.
    """

    heading: str
    path: tuple[str, ...]
    body: Span
    is_whole: bool


class TableRow(NamedTuple):
    """A row of a table: number of the table, what stands under each head, and its place.

    `name` is its first cell as it is written, the others are without the marks of Markdown.
    """

    table: int
    name: str
    cells: dict[str, str]
    span: Span


class Page:
    """One document, read for questions; what leads elsewhere, as contents do, is passed over."""

    def __init__(self, document: Document) -> None:
        self.text = document.text
        self.title = bare(str(document.metadata.get(TITLE) or ""))
        self.language = language_of(self.text)
        text_format = format_in(document.metadata, self.text)
        self._packer = Packer(self.text, text_format=text_format)

    @cached_property
    def sections(self) -> list[HeadedText]:
        """All with a body of prose."""
        found, blocks = [], self._packer.blocks
        for number, block in enumerate(blocks, start=1):
            path = self._path(block.start)
            if block.kind is not BlockKind.HEADING or not path or self._elsewhere(block.start):
                continue
            below = [*takewhile(lambda one: one.kind is not BlockKind.HEADING, blocks[number:])]
            fit = [one.end for one in below if one.end - below[0].start <= MOST]
            body = Span(below[0].start, fit[-1]) if fit else Span(0, 0)
            if reads(body.of(self.text)) and len(words(bare(body.of(self.text)))) >= _LEAST_WORDS:
                after = blocks[number + len(below) :][:1]
                deeper = any(len(self._path(one.start)) > len(path) for one in after)
                share = body.length / (below[-1].end - body.start)
                whole = share >= _LEAST_SHARE and not (deeper and body.length < _LEAD_IN)
                found.append(HeadedText(path[-1], path, body, whole))
        return found

    def block_at(self, offset: int) -> Span:
        """The paragraph, list or table that holds an offset."""
        block = self._packer.block_at(offset)
        return Span(block.start, block.end)

    def sentences(self) -> Iterator[Span]:
        """Those of running text that stand alone."""
        for one in candidates(0, self.text):
            alone = one.with_antecedent() is one and _is_sentence(self.text[one.start : one.end])
            in_table = self._packer.block_at(one.start).kind is BlockKind.TABLE
            if alone and not in_table and not self._elsewhere(one.start):
                yield Span(one.start, one.end)

    def rows(self) -> Iterator[TableRow]:
        """Of all tables with a head, whose rows have as many cells as that."""
        for number, block in enumerate(self._packer.blocks):
            if block.kind is not BlockKind.TABLE or self._elsewhere(block.start):
                continue
            head = self.text[block.start : block.header_end].partition("\n")[0]
            heads = [bare(one).casefold() for one in _cells(head)]
            start = block.header_end
            for line in self.text[start : block.end].splitlines(keepends=True):
                span, cells = trimmed(self.text, start, start + len(line)), _cells(line)
                start += len(line)
                if len(cells) == len(heads):
                    under = dict(zip(heads[1:], map(bare, cells[1:]), strict=True))
                    yield TableRow(number, cells[0], under, span)

    def names(self, term: str) -> bool:
        """Whether a term is a heading, in bold or code, or stands in the text four times."""
        often = self.text.casefold().count(term.casefold()) >= 4  # noqa: PLR2004 -- as said
        return often or term.casefold() in self._named

    @cached_property
    def _named(self) -> set[str]:
        marked = {part for one in _MARKED.findall(self.text) for part in one if part}
        return {one.casefold() for one in marked | {one.heading for one in self.sections}}

    @cached_property
    def _cases(self) -> Counter[str]:
        """How often each word stands in mid-sentence, as it is written there."""
        found: Counter[str] = Counter()
        for block in self._packer.blocks:
            if block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST):
                found.update(_IN_MID_SENTENCE.findall(self.text[block.start : block.end]))
        return found

    def cased(self, text: str, *, begins: bool = False) -> str:
        """Words as they are in mid-sentence: lower where the text has them so as often.

        Short words of capitals stay; so does a word before a capital one that is never lower, as
        both may be one name. Not so in German, where any noun is capital. Where a heading, which
        begins with a verb, has all its words capital, those the text does not know are lower; so
        is in English a first word that is capital since a sentence `begins` with it.
        """
        shown = text.split(" ")
        long = [one for one in shown[1:] if len(one) > _SHORT]
        english = self.language == "en"
        titled = english and not begins and len(long) > 1 and shown[0].islower()
        titled = titled and all(one[0].isupper() for one in long)
        for number, (word, after) in enumerate(pairwise([*shown, ""])):
            lower, next_lower = _lower(word), _lower(after)
            in_name = after[:1].isupper() and not self._cases[next_lower]
            known = self._cases[lower] or titled or (begins and english and number == 0)
            folds = known and self._cases[lower] >= self._cases[word] and lower.islower()
            if folds and (titled or not english or not in_name):
                shown[number] = lower
        return " ".join(shown)

    def _path(self, offset: int) -> tuple[str, ...]:
        return tuple(unnumbered(bare(one)) for one in self._packer.headings.path_at(offset))

    def _elsewhere(self, offset: int) -> bool:
        return any(map(leads_elsewhere, self._path(offset)))


def language_of(text: str) -> str:
    """ISO 639-1 code of a language with a grammar; "" for others."""
    language = guess_language(text)
    found = words(text[:_SAMPLE])
    if language == "en" and sum(one in _ENGLISH for one in found) < _LEAST_ENGLISH * len(found):
        return ""  # what is of no language we know is taken for English
    return language if language in GRAMMARS else ""


def reads(text: str) -> bool:
    """Whether characters are prose, and enough of it."""
    if any(is_entry(line.strip()) for line in text.splitlines()):
        return False
    return len(words(text)) >= _LEAST_WORDS and is_prose(text)


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


def unnumbered(heading: str) -> str:
    """A heading without its number."""
    return _NUMBERING.sub("", heading, count=1)


def _lower(word: str) -> str:
    return word[:1].lower() + word[1:]


def _is_sentence(text: str) -> bool:
    """Whether a statement begins and ends as a sentence does, and is no code."""
    first = next((one for one in text if one.isalnum()), "")
    return (
        len(text) <= _LONGEST_SENTENCE
        and not first.islower()
        and _ENDS.search(text) is not None
        and reads(text)
        and len(words(text)) >= _WORDS_OF_A_LINE * text.count("\n")
    )


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(row.strip().removeprefix("|").removesuffix("|"))]
