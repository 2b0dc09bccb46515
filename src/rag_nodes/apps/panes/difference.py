"""Sentences of several answers, each once, with the columns that say it or break off in it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.markup import count
from rag_nodes.query.answering import BETWEEN_EXTRACTS
from rag_nodes.text.sentences import sentence_bounds
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rag_nodes.query import Answer
    from rag_nodes.text.edges import Edges

_FEWEST_LETTERS = 12
"""Letters that a part of a sentence needs to count as that sentence, broken off."""
_BEFORE_TEXT = re.compile(r"(?:[-*+•>#]|\d+[.)])\s+")
"""The mark of a list item, heading or quotation."""
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
"""The fence of a block of code. A fence that closes on its own line is code within a sentence."""
_CLOSED = re.compile(r"[.!?。！？…:][\"'”’»)\]*_]*\s*\Z")  # noqa: RUF001 - full stops of many scripts
_POINTS = frozenset(".,;:!?…")
"""Punctuation that often follows the number of a source, which leaves no gap before it."""


class AnswerSentence(NamedTuple):
    """One sentence of an answer, or what an extract quotes, without the marks of sources.

    `key` is its words, by which sentences are the same, `numbers` are the sources it names, and
    `broken` what it is cut off inside of, such as "word"; "" where it is whole.
    """

    text: str
    key: str
    numbers: tuple[int, ...]
    broken: str = ""


@dataclass(slots=True)
class SharedSentence:
    """A sentence, as the first answer has it that has it whole, and by column as each has it."""

    text: str
    key: str
    by_column: dict[str, AnswerSentence] = field(default_factory=dict)

    @property
    def broken(self) -> list[str]:
        """The columns that break off in it."""
        return [name for name, sentence in self.by_column.items() if sentence.broken]


class Difference(NamedTuple):
    """Sentences that several answers share, and those that only some of them say.

    `sentences` are those of all answers, most shared first, `names` the columns that answered, and
    `headline` says in one line what differs; "" for fewer than two answers.
    """

    sentences: tuple[SharedSentence, ...]
    names: tuple[str, ...]
    headline: str


def difference(answers: Mapping[str, Answer], edges: Mapping[str, Edges]) -> Difference:
    """Compare answers sentence by sentence, source marks and punctuation aside.

    A quotation that breaks off counts as its whole sentence where another answer has that.

    Args:
        answers: by column, those with text.
        edges: what retrieved chunks split in two, by id of their node.
    """
    shared: list[SharedSentence] = []
    by_column = {name: sentences_of(answer, edges) for name, answer in answers.items()}
    whole = [
        sentence.key
        for sentences in by_column.values()
        for sentence in sentences
        if not sentence.broken
    ]
    for name, sentences in by_column.items():
        for sentence in sentences:
            key = _whole_of(sentence, whole) if answers[name].kind == "extract" else sentence.key
            same = next((other for other in shared if other.key == key), None)
            if same is None:
                shared.append(same := SharedSentence(sentence.text, key))
            elif sentence.key == key and not sentence.broken:
                same.text = max(same.text, sentence.text, key=len) if same.broken else same.text
            broken = sentence.broken or ("sentence" if sentence.key != key else "")
            same.by_column.setdefault(name, sentence._replace(broken=broken))
    names = tuple(answers)
    most_shared = sorted(shared, key=lambda sentence: -len(sentence.by_column))
    return Difference(tuple(most_shared), names, _headline(shared, names))


def sentences_of(answer: Answer, edges: Mapping[str, Edges]) -> list[AnswerSentence]:
    """Split an answer into its quotations, or into sentences and blocks of code."""
    plain = list(answer.text)
    for mark in answer.marks:
        plain[mark.start : mark.end] = " " * (mark.end - mark.start)
    text = "".join(plain)
    quoted = answer.kind == "extract"
    spans = list(_parts(text) if quoted else _sentences(text))
    sentences = []
    for number, (start, end) in enumerate(spans):
        after = spans[number + 1][0] if number + 1 < len(spans) else len(text)
        marks, sentence = (
            [mark for mark in answer.marks if start <= mark.start < after],
            text[start:end],
        )
        for mark in reversed(marks):
            if sentence[mark.end - start : mark.end - start + 1] in _POINTS:
                sentence = sentence[: mark.start - start].rstrip() + sentence[mark.end - start :]
        is_code = not quoted and _FENCE.match(sentence)
        sentence = dedent(sentence).strip() if is_code else " ".join(sentence.split())
        numbers = tuple(dict.fromkeys(source for mark in marks for source in mark.numbers))
        # The same code is the same, whatever language its fence names.
        if key := " ".join(words(sentence.partition("\n")[2] if is_code else sentence)):
            broken = _broken(answer, number, edges) if quoted else ""
            sentences.append(AnswerSentence(sentence, key, numbers, broken))
    return sentences


def _parts(text: str) -> Iterable[tuple[int, int]]:
    start = 0
    for part in text.split(BETWEEN_EXTRACTS):
        yield start, start + len(part)
        start += len(part) + len(BETWEEN_EXTRACTS)


def _sentences(text: str) -> Iterable[tuple[int, int]]:
    end, fence, block = 0, "", 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
                yield block, end
            continue
        mark = _BEFORE_TEXT.match(line.lstrip())
        begin = start + len(line) - len(line.lstrip()) + (mark.end() if mark else 0)
        if opens := _FENCE.match(text, begin, end):
            fence, block = opens[1], begin if mark else start
        else:
            yield from zip(*sentence_bounds(text, begin, end), strict=True)
    if fence:
        yield block, end


def _broken(answer: Answer, number: int, edges: Mapping[str, Edges]) -> str:
    """Return what the edge of an extract splits, if its chunk is split there; else ""."""
    if number >= len(answer.citations):
        return ""
    citation = answer.citations[number]
    hit = answer.hit_of(citation)
    chunk_edges = edges.get(citation.node_id)
    if hit is None or chunk_edges is None or hit.found is not hit.node or citation.start is None:
        return ""
    base, text = hit.node.start_char_idx or 0, hit.node.text
    first, last = base + len(text) - len(text.lstrip()), base + len(text.rstrip())
    begins = chunk_edges.start if citation.start <= first else None
    ends = chunk_edges.end if (citation.end or 0) >= last else None
    return ends or begins or ""


def _whole_of(sentence: AnswerSentence, whole: Iterable[str]) -> str:
    """Return the key of the whole sentence that this sentence is a piece of, or its own key."""
    open_end = bool(sentence.broken) or not _CLOSED.search(sentence.text)
    if len(sentence.key) < _FEWEST_LETTERS or not open_end:
        return sentence.key
    longer = (key for key in whole if key != sentence.key)
    return next(
        (key for key in longer if key.startswith(sentence.key) or key.endswith(sentence.key)),
        sentence.key,
    )


def _headline(sentences: Sequence[SharedSentence], names: Sequence[str]) -> str:
    if len(names) < 2:  # noqa: PLR2004 - one answer differs from none
        return ""
    keys = {
        name: frozenset(sentence.key for sentence in sentences if name in sentence.by_column)
        for name in names
    }
    common = [sentence for sentence in sentences if len(sentence.by_column) == len(names)]
    most, agreeing = Counter(keys.values()).most_common(1)[0]
    remarks = [f"{name} is cut off in mid-{kind}" for name, kind in _breaks(sentences)]
    if agreeing == len(names):
        return _line(f"{all_of(agreeing)} answers agree", remarks)
    if agreeing > 1:
        remarks += [f"{name} {_against(keys[name], most)}" for name in names if keys[name] != most]
        return _line(f"{agreeing} of {len(names)} answers agree", remarks)
    if common:
        own = {name: len(keys[name]) - len(common) for name in names}
        shared = f"{all_of(len(names))} answers share {count(len(common), 'sentence')}"
        if all(own.values()):
            return _line(f"{shared} and differ in the rest", remarks)
        remarks += [f"{name} adds {more}" for name, more in own.items() if more]
        return _line(shared, remarks)
    return _line(f"No sentence is in {all_of(len(names)).lower()} answers", remarks)


def all_of(number: int) -> str:
    """`Both`, `All 3`."""
    return "Both" if number == 2 else f"All {number}"  # noqa: PLR2004 - as the word says


def _breaks(sentences: Iterable[SharedSentence]) -> list[tuple[str, str]]:
    """The columns that break off, each once, with what they break off in."""
    breaks: dict[str, str] = {}
    for sentence in sentences:
        for name in sentence.broken:
            breaks.setdefault(name, sentence.by_column[name].broken)
    return list(breaks.items())


def _against(own: frozenset[str], most: frozenset[str]) -> str:
    more, less = len(own - most), len(most - own)
    if not own & most:
        return "says something else"
    parts = [f"adds {count(more, 'sentence')}"] if more else []
    parts += [f"leaves out {less if more else count(less, 'sentence')}"] if less else []
    return " and ".join(parts)


def _line(first: str, remarks: Sequence[str]) -> str:
    return "; ".join([first, *remarks]) + "."
