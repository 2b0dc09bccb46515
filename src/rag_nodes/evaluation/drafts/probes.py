"""Probes: keywords of passages as long as people's answers, for a first choice without questions.

How long the labelled answers are decides which setting a ranking puts first, not how the questions
are worded. So keywords will do, where the passages are as long as what people look for. They
measure: nobody asks them, so they are shown to nobody and stored in no file of questions.
"""

from __future__ import annotations

from math import log
from statistics import fmean
from typing import TYPE_CHECKING, Literal, get_args

import regex

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.drafts.passages import Place, Rarity, SentenceText, evenly
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.languages import FUNCTION_WORDS
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import Document

PROBE = "probe"
"""Kind of a question that is keywords of a passage."""
AnswerLength = Literal["sentence", "paragraph", "page"]
"""How long what people look for mostly is."""
ANSWER_LENGTHS: tuple[AnswerLength, ...] = get_args(AnswerLength)
CHARACTERS: Mapping[AnswerLength, int] = {"sentence": 200, "paragraph": 700, "page": 2500}
"""Characters of a passage of each length."""
_PHRASES, _ENOUGH = 3, 5
"""Phrases of a probe at most, and words from which two of them are enough."""
_APART = 4
"""Two passages begin at least this part of their length apart."""
_TRIED = 8
"""Passages among which examples are looked for."""
_WORD = regex.compile(
    r"[\p{Han}\p{Katakana}\u30fc]{2,8}|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{3,12}|\p{Hangul}{2,}"
    r"|[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}]][\p{L}\p{M}\p{N}'’_\-]*",  # noqa: RUF001
    regex.V1,
)
_SHORTEST, _MOST_TOGETHER = 3, 3
"""Letters of a word, and words of a phrase."""


def probes(
    documents: Sequence[Document], characters: int, *, count: int = 60, seed: int = 0
) -> Dataset:
    """Keywords of passages of whole sentences, spread evenly over the documents.

    Args:
        documents: what is asked about, each with an id of its own.
        characters: of a passage, within a factor of two; see `CHARACTERS`.
        count: probes at most; short documents give fewer, as passages begin apart.
        seed: other passages for another number.

    Returns:
        A dataset of questions of the kind `PROBE`, with `probed` set; `beside` has those of the
        other lengths.

    Raises:
        ConfigurationError: nothing is asked for.
        DatasetError: no document has a passage of that length.
    """
    if count < 1 or characters < 1:
        raise ConfigurationError(f"{count} probes of {characters} characters: both must be over 0")
    made = _Maker(documents, count, seed)
    found = made.of_length(characters)
    if not found:
        raise DatasetError(
            f"no passage of {characters:,} characters in {len(documents)} document(s); "
            "choose a shorter length, or label questions"
        )
    others = [one for one in CHARACTERS.values() if one != characters]
    beside = {size: asked for size in others if (asked := made.of_length(size))}
    return Dataset("probes", tuple(documents), found, probed=characters, beside=beside)


class _Maker:
    """Sentences of the documents, and how much each of their words tells."""

    def __init__(self, documents: Sequence[Document], count: int, seed: int) -> None:
        self._documents, self._count, self._seed = documents, count, seed
        self._texts = [SentenceText(document.text) for document in documents]
        self._rarity = Rarity(span.of(one.text) for one in self._texts for span in one.spans)

    def of_length(self, characters: int) -> tuple[Question, ...]:
        """Probes of passages of a length; none where no document has one."""
        places = [Place(number, span) for number, one in enumerate(self._texts)
                  for span in one.passages(characters, characters // _APART)]  # fmt: skip
        found: dict[str, Question] = {}
        for at in sorted(evenly(len(places), self._seed)[: self._count]):
            document, span = places[at]
            if text := _keywords(span.of(self._texts[document].text), self._rarity):
                gold = ((Passage(self._documents[document].id_, span),),)
                found.setdefault(text, Question(f"{PROBE}-{len(found)}", text, gold, kind=PROBE))
        return tuple(found.values())


def examples(documents: Sequence[Document]) -> dict[AnswerLength, Passage]:
    """A sentence or two, a paragraph and a page of the documents, which all begin alike.

    Lengths that the documents do not reach are left out.
    """
    best: dict[AnswerLength, Passage] = {}
    for document in documents:
        text = SentenceText(document.text)
        for number in evenly(len(text.spans), 0)[:_TRIED]:
            own = {one: text.passage(number, CHARACTERS[one]) for one in ANSWER_LENGTHS}
            found = {one: Passage(document.id_, span) for one, span in own.items() if span}
            best = max(best, found, key=len)
        if len(best) == len(ANSWER_LENGTHS):
            break
    return best


def _keywords(text: str, rarity: Rarity) -> str:
    """The two or three phrases that tell most, in the order of the text; "" where none do.

    A phrase weighs as often as the text has it, and more the fewer sentences have its words.
    """
    folded, phrases = " ".join(words(text)), _phrases(text)
    weights = {
        own: (1 + log(max(1, folded.count(" ".join(own))))) * fmean(map(rarity.weight, own))
        for own in phrases
    }
    chosen: list[tuple[str, ...]] = []
    for own in sorted(weights, key=lambda one: -weights[one]):
        said = {word for other in chosen for word in other}
        if len(chosen) == _PHRASES or (len(chosen) > 1 and len(said) >= _ENOUGH):
            break
        if said.isdisjoint(own):
            chosen.append(own)
    return " ".join(shown for own, shown in phrases.items() if own in chosen)


def _phrases(text: str) -> dict[tuple[str, ...], str]:
    """What carries meaning, neighbours taken together: folded words and how the text has them."""
    found: dict[tuple[str, ...], str] = {}
    start = end = -1
    for match in [*_WORD.finditer(text), None]:
        low, high = match.span() if match else (len(text), len(text))
        carries = match is not None and _carries(match.group())
        apart = not carries or text[end:low] != " " or (
            len(words(text[start:high])) > _MOST_TOGETHER
        )  # fmt: skip
        if start >= 0 and apart:
            shown = text[start:end].rstrip("'’_-")  # noqa: RUF001
            found.setdefault(tuple(words(shown)), shown)
            start = -1
        if carries:
            start, end = (low if start < 0 else start), high
    return found


def _carries(word: str) -> bool:
    own = words(word)
    return (
        len(word) >= _SHORTEST
        and any(one.isalpha() for one in word)
        and not all(one in FUNCTION_WORDS for one in own)
    ) or (len(word) > 1 and ord(word[0]) > 0x2E80)  # noqa: PLR2004 -- Han and Kana need no more
