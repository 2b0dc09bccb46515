"""Where a document can be asked about: headings, definitions, lists, rows of tables, sentences."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from rag_nodes.evaluation.drafts.headings import leads_elsewhere, tells
from rag_nodes.evaluation.drafts.terms import ADVERB
from rag_nodes.evaluation.drafts.wording import Wording, wording_of
from rag_nodes.text.extracts import candidates, is_entry
from rag_nodes.text.formats import format_in
from rag_nodes.text.languages import FUNCTION_WORDS, content_words
from rag_nodes.text.markdown import Kind as BlockKind
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span, trimmed
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.text.extracts import CandidateSentence
    from rag_nodes.text.markdown import Block

DraftKind = Literal["heading", "definition", "list", "table", "sentence"]
"""What a draft was made of."""
DRAFT_KINDS: tuple[DraftKind, ...] = get_args(DraftKind)
_LONGEST = 700
"""Characters of an answer of several sentences."""
_SHORTEST = 20
"""Characters under which an answer is a fragment, in any script."""
_LONGEST_SENTENCE = 450
_LONGEST_LEAD = 160
"""Characters of a sentence that introduces a list."""
_LEAST_WORDS = 8
_LEAST_LETTERS = 0.6
"""Share of letters from which characters are prose."""
_LEAST_CELLS = 2
_MOST_TERM_WORDS = 6
_MOST_OF_GERUND = 2
"""Words of a term that begins as "Training data"; more are half a sentence."""
_ENDS = re.compile(r"[.!。！।…][\"'”’»)\]*_]*\Z")  # noqa: RUF001 -- full stops of many scripts
_CELLS = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_REFERENCE = re.compile(r"(?<=\w) *\[\d[\d, ]*\](?!\()")
_MARKS = re.compile(r"[*`~]{1,3}|(?<!\w)_|_(?!\w)")
_NUMBERING = re.compile(
    r"(?:\d+(?:\.\d+)*[.)]?|[IVXLC]+[.)]|[A-Z](?:\.\d+)+[.)]?"
    r"|(?:Appendix|Annexe?|Anhang)\s+(?:[A-Z]|[IVX]+|\d+)[.:)]?)\s+(?=\S*[^\W\d])"
)
"""In front of a heading: nobody asks for "3.2 Mooring"."""
_INITIALS = re.compile(r"\b[A-Z]\.")
_MOST_INITIALS = 3
"""Of a sentence; more are a list of authors."""
_WORDS_OF_A_LINE = 3
"""Of a sentence, in the mean; fewer are code, a form or a table without rules."""
_LAST_OF_LEAD = frozenset(
    words(
        "are as consists contain contains example examples following follows include includes "
        "including is sind folgende folgenden folgendes folgt beispiel inklusive zum"
    )
)
"""Words before the colon that leads to a list, and not what it is of."""
_EXPLAINED = r"(?P<term>[^\s:*`|][^:*`|\n]{1,58}?)"
_MARKED = re.compile(
    rf"(?:\*\*|`){_EXPLAINED}(?:\*\*:?|`:?|:\*\*)\s*[\u2013\u2014-]?\s+\S.{{24,}}", re.DOTALL
)
"""A term in bold or code, and what it means."""
_ITEM = re.compile(rf"{_EXPLAINED}(?::|\s[\u2013\u2014-])\s+\S.{{24,}}", re.DOTALL)
"""The same in an item of a list; elsewhere it may be who speaks."""
_BULLET = re.compile(r"^[ \t>]*(?:[-*+•▪]|\(?\d{1,3}[.)])[ \t]+\Z", re.MULTILINE)
_ARTICLES = (
    r"(?:an?|the|der|die|das|eine?|les?|la|l['’]|une?|el|los|las|una?|il|lo|gli|uno|os?|as?|um|uma|"  # noqa: RUF001
    r"de|het|een)"
)
_IS = (
    r"(?:(?:is|are|ist|sind|est|sont|es|son|è|sono|é|são|is|zijn)\s+"
    r"(?:an?|any|one of|eine?|une?|des|una?|uno|uma?|een)\b"
    r"|means\b|refers to\b|is defined as\b|stands for\b|denotes\b|bezeichnet\b|bedeutet\b"
    r"|désigne\b|signifie\b|significa\b|se refiere a\b|indica\b|refere-se a\b|betekent\b)"
)
_NO_TERM = frozenset(
    words(
        "a also and are because but by no can following has have here however if is it may must "
        "not or should that there these this using was were what when where which who will you "
        "aber außerdem auch dass dies es folgende folgenden folgendes gibt hier ist nicht sind "
        "wenn wo ce que qui si esto cuando questo che quando"
    )
)
"""Words that a term has none of: what holds them is half a sentence."""
_DEFINITION = re.compile(
    rf"(?:{_ARTICLES}\s+)?(?P<term>[^\s,.;:()][^,.;:()\n]{{1,50}}?)\s+{_IS}", re.IGNORECASE
)
_UNSPACED_DEFINITION = re.compile(
    r"(?P<term>[\u30a0-\u30ff\u4e00-\u9fffA-Za-z0-9]{2,15}?)(?:とは|是一|是指|是由|指的是)"
)


class Place(NamedTuple):
    """One place that a question can be made of.

    Attributes:
        document: number of the document.
        kind: what it is.
        span: what answers.
        subject: what is asked about, as it is written outside of the answer where that is possible;
            "" for a sentence, whose own words are chosen later.
        detail: what of it: the column of a table, the heading above.
        wording: how to ask, in the language of the document.
    """

    document: int
    kind: DraftKind
    span: Span
    subject: str
    detail: str
    wording: Wording


class Statement(NamedTuple):
    """A sentence, list item or row.

    Attributes:
        span: where it is.
        words: folded.
    """

    span: Span
    words: tuple[str, ...]


class Survey:
    """All places of one document.

    Args:
        number: of the document.
        document: which.

    Attributes:
        statements: everything that reads as one, in order.
    """

    def __init__(self, number: int, document: Document) -> None:
        self.text = text = document.text
        self._number = number
        self._packer = Packer(text, text_format=format_in(document.metadata, text))
        self._wording = wording_of(text)
        self._candidates: Sequence[CandidateSentence] = candidates(0, text)
        self.statements = [Statement(Span(one.start, one.end), one.words)
                           for one in self._candidates]  # fmt: skip

    def places(self) -> Iterator[Place]:
        """Every place, kind by kind."""
        blocks = self._packer.blocks
        for number, block in enumerate(blocks):
            if self._leads_elsewhere(block.start):
                continue
            if block.kind is BlockKind.HEADING:
                yield from self._section(blocks, number)
            elif block.kind is BlockKind.LIST:
                yield from self._list(blocks, number)
            elif block.kind is BlockKind.TABLE:
                yield from self._rows(block)
        tables = [(one.start, one.end) for one in blocks if one.kind is BlockKind.TABLE]
        for one in self._candidates:
            if not _within(one, tables) and not self._leads_elsewhere(one.start):
                yield from self._statement(one)

    def _place(self, kind: DraftKind, span: Span, subject: str, detail: str = "") -> Place:
        return Place(self._number, kind, span, bare(subject), bare(detail), self._wording)

    def _path(self, offset: int) -> list[str]:
        """The headings above a place, outermost first."""
        return [_title(one) for one in self._packer.headings.path_at(offset)]

    def _leads_elsewhere(self, offset: int) -> bool:
        """Whether a place is in a table of contents, an index or a list of references."""
        return any(map(leads_elsewhere, self._path(offset)))

    def _telling(self, offset: int) -> list[str]:
        """The headings above a place that say something about it, outermost first."""
        return [one for one in self._path(offset) if tells(one)]

    def _section(self, blocks: Sequence[Block], number: int) -> Iterator[Place]:
        """The first blocks below a heading, as many as fit whole; sentences where none does."""
        path = self._path(blocks[number].start)
        body = []
        for block in blocks[number + 1 :]:
            if block.kind is BlockKind.HEADING:
                break
            body.append(block)
            if block.end - body[0].start > _LONGEST:
                break
        if not path or not body or not _names_something(path[-1]):
            return
        start = body[0].start
        ends = [block.end for block in body] + [one.end for one in self._packer.units_of(body[0])]
        end = max((one for one in ends if one - start <= _LONGEST), default=start)
        text = self.text[start:end]
        above = [one for one in path[:-1] if tells(one)]
        if not tells(path[-1]) and not above:
            return
        if _reads(text) and not text.endswith((":", "：")):  # noqa: RUF001 -- full-width
            detail = above[-1] if above else ""
            yield self._place("heading", Span(start, end), path[-1], detail)

    def _list(self, blocks: Sequence[Block], number: int) -> Iterator[Place]:
        """A whole list, asked for by the words before it."""
        block = blocks[number]
        if block.end - block.start > _LONGEST or self.text.count("\n", *block[1:3]) < 1:
            return
        lead = self._lead(blocks[number - 1]) if number else ""
        path = self._telling(block.start)
        subject = lead or (path[-1] if path else "")
        if _names_something(subject) and _reads(self.text[block.start : block.end]):
            detail = path[-1] if lead and path else path[-2] if len(path) > 1 else ""
            yield self._place("list", Span(block.start, block.end), subject, detail)

    def _lead(self, block: Block) -> str:
        """The last sentence of a paragraph that ends with a colon."""
        text = self.text[block.start : block.end].rstrip("*_ ")
        if block.kind is not BlockKind.PARAGRAPH or text[-1:] not in (":", "："):  # noqa: RUF001
            return ""
        last = list(self._packer.units_of(block))[-1]
        sentence = self.text[last.start : last.end].rstrip("*_ :：").split()  # noqa: RUF001
        while sentence and set(words(sentence[-1])) <= _LAST_OF_LEAD | FUNCTION_WORDS:
            sentence.pop()
        lead = " ".join(sentence).rstrip(",;")
        return lead if len(lead) <= _LONGEST_LEAD and len(content_words(lead)) > 1 else ""

    def _rows(self, block: Block) -> Iterator[Place]:
        """Each row: one cell of it is asked for by the first cell and the head of its column."""
        head = _cells(self.text[block.start : block.header_end].partition("\n")[0])
        start = block.header_end
        for number, line in enumerate(self.text[start : block.end].splitlines(keepends=True)):
            span = trimmed(self.text, start, start + len(line))
            start += len(line)
            cells = _cells(line)
            if len(cells) != len(head) or not _names_something(cells[0]):
                continue
            columns = [
                at for at in range(1, len(cells)) if cells[at] and _names_something(head[at])
            ]
            if columns:
                yield self._place("table", span, cells[0], head[columns[number % len(columns)]])

    def _statement(self, one: CandidateSentence) -> Iterator[Place]:
        span = Span(one.start, one.end)
        text = self.text[one.start : one.end]
        if len(text) > _LONGEST_SENTENCE or not _reads(text):
            return
        path = self._telling(one.start)
        line = self.text[self.text.rfind("\n", 0, one.start) + 1 : one.start]
        term = _defined(text, is_item=bool(_BULLET.match(line)))
        if term:
            yield self._place("definition", span, term, path[-1] if path else "")
        elif one.with_antecedent() is one and _is_sentence(text):
            yield self._place("sentence", span, "", path[-1] if path else "")


def bare(text: str) -> str:
    """A text on one line, without the marks of Markdown."""
    linked = _LINK.sub(r"\1", _ESCAPED.sub(r"\1", _REFERENCE.sub("", text)))
    return " ".join(_MARKS.sub("", linked).split()).strip(" .:|•▪-(")


def _within(one: CandidateSentence, spans: Sequence[tuple[int, int]]) -> bool:
    at = bisect_left(spans, (one.start + 1, 0))
    return at > 0 and one.start < spans[at - 1][1]


def _is_sentence(text: str) -> bool:
    """Whether a statement begins and ends as a sentence does, and is no list of authors or code."""
    first = next((one for one in text if one.isalnum()), "")
    return (
        not first.islower()
        and _ENDS.search(text) is not None
        and len(_INITIALS.findall(text)) <= _MOST_INITIALS
        and len(words(text)) >= _WORDS_OF_A_LINE * text.count("\n")
    )


def _cells(row: str) -> list[str]:
    return [bare(cell) for cell in _CELLS.split(row.strip().strip("|"))]


def _names_something(title: str) -> bool:
    """Whether a title or cell has letters that carry meaning."""
    shown = bare(title)
    return any(
        word not in FUNCTION_WORDS and any(letter.isalpha() for letter in word)
        for word in words(shown)
    )


def _reads(text: str) -> bool:
    """Whether characters are prose, and enough of it."""
    text = _IMAGE.sub("", text)
    if any(is_entry(line.strip()) for line in text.splitlines()):
        return False
    visible = [one for one in text if not one.isspace()]
    letters = sum(one.isalpha() or ord(one) > 0x7F for one in visible)  # noqa: PLR2004 -- beyond ASCII
    enough = len(words(text)) >= _LEAST_WORDS
    return enough and len(text) >= _SHORTEST and letters >= _LEAST_LETTERS * len(visible)


def _defined(text: str, *, is_item: bool) -> str:
    """The term that a statement explains; "" where it explains none."""
    forms = (_MARKED, *((_ITEM,) if is_item else ()), _DEFINITION, _UNSPACED_DEFINITION)
    found = next((match for form in forms if (match := form.match(text))), None)
    if found is None:
        return ""
    shown = bare(found["term"]).split()
    while shown and ADVERB.fullmatch(shown[-1].casefold()):  # "A burst buffer commonly refers to"
        shown.pop()
    term = " ".join(shown)
    own = term.casefold().split()
    if found.re is _DEFINITION and _is_clause(own):
        return ""
    is_term = 0 < len(own) <= _MOST_TERM_WORDS and own[0] not in FUNCTION_WORDS
    if not is_term or not _NO_TERM.isdisjoint(own) or any(word.isdecimal() for word in own):
        return ""
    return term if _names_something(term) else ""


def _is_clause(own: Sequence[str]) -> bool:
    """Whether some words say what is done, as "achieving the best" does, and name nothing."""
    return not {"a", "an", "the"}.isdisjoint(own) or (
        len(own) > _MOST_OF_GERUND and own[0].endswith("ing")
    )


def _title(heading: str) -> str:
    """A heading without its number."""
    return _NUMBERING.sub("", bare(heading), count=1) if _NUMBERING.match(heading) else heading
