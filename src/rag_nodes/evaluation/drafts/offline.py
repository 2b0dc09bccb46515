"""Drafts without a model: places chosen evenly, asked about in as few of their words as will do."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.drafts.places import DRAFT_KINDS, Place, Statement, Survey
from rag_nodes.evaluation.drafts.terms import MENTION, NUMBER, YEAR, Rarity, Term, phrases_of
from rag_nodes.evaluation.drafts.wording import joined
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Answer
    from rag_nodes.evaluation.drafts.places import DraftKind

MOST_PLACES = 4
"""Places that answer the same; more of them are furniture of the document and no answer."""
_MOST_TERMS = 4
"""Phrases of a sentence that it is asked with; more are the sentence itself."""
_FEW_WORDS = 3
"""Words of them all; fewer say too little of what is meant."""
_TRIES = 12
"""Places of one kind that are tried in one stretch of a document."""
_COMMON = 0.05
"""Share of the statements from which a word of the sentence before is none to ask with."""


class OfflineDrafts:
    """Questions about documents, made of their own words.

    Args:
        documents: what is asked about.
        kinds: of which places.
        seed: other places for another number.
    """

    def __init__(
        self, documents: Sequence[Document], kinds: Collection[DraftKind], seed: int
    ) -> None:
        self._documents, self._kinds, self._seed = documents, kinds, seed
        self._texts = [document.text for document in documents]
        self._statements: list[tuple[int, Statement]] = []
        self._places: list[list[Place]] = []
        for number, document in enumerate(documents):
            survey = Survey(number, document)
            self._statements += [(number, one) for one in survey.statements]
            self._places.append([one for one in survey.places() if one.kind in kinds])
        self._rarity = Rarity(one.words for _, one in self._statements)
        self._number_of = {
            (number, one.span.start): at for at, (number, one) in enumerate(self._statements)
        }
        self._same: dict[tuple[str, ...], list[Place]] = defaultdict(list)
        for place in (one for found in self._places for one in found if one.subject):
            self._same[_key(place)].append(place)
        self._used: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._taken: dict[int, list[Span]] = defaultdict(list)

    def questions(self, count: int) -> list[Question]:
        """At most so many, in the order of the documents."""
        found = [one for stretch in self._stretches(count) if (one := self._one_of(stretch))]
        rest = sorted((one for places in self._places for one in places), key=self._chance)
        while len(found) < count and (one := self._one_of(rest)):
            found.append(one)
        order = {document.id_: number for number, document in enumerate(self._documents)}
        return sorted(found, key=lambda one: (order[one.document], one.gold[0][0].span, one.id))

    def _stretches(self, count: int) -> Iterator[list[Place]]:
        """As many parts of documents as there are questions, each with its places."""
        both = zip(self._texts, self._places, strict=True)
        shares = _shares([len(text) if places else 0 for text, places in both], count)
        for number, share in enumerate(shares):
            parts: list[list[Place]] = [[] for _ in range(share)]
            for place in self._places[number] if share else ():
                parts[place.span.start * share // len(self._texts[number])].append(place)
            yield from (sorted(part, key=self._chance) for part in parts)

    def _chance(self, place: Place) -> bytes:
        """An order that has nothing to do with the text, and is the same in every run."""
        what = f"{self._seed} {place.kind} {place.document} {place.span}"
        return blake2b(what.encode(), digest_size=8).digest()

    def _one_of(self, places: Iterable[Place]) -> Question | None:
        """A question about one of some places, of the kind there are fewest of so far."""
        by_kind: dict[str, list[Place]] = defaultdict(list)
        for place in places:
            by_kind[place.kind].append(place)
        for kind in sorted(by_kind, key=lambda one: (self._used[one], DRAFT_KINDS.index(one))):
            free = [one for one in by_kind[kind] if self._is_free(one)]
            for place in free[:_TRIES]:
                if question := self._question(place):
                    return question
        return None

    def _is_free(self, place: Place) -> bool:
        return not any(place.span.overlap(other) for other in self._taken[place.document])

    def _question(self, place: Place) -> Question | None:
        """The question about a place; None where it would be asked twice or answered elsewhere."""
        self._taken[place.document].append(place.span)  # tried once, with success or without
        text = self._text_of(place)
        gold = self._gold(place) if text and text.casefold() not in self._asked else ()
        if not gold:
            return None
        self._asked.add(text.casefold())
        self._used[place.kind] += 1
        quote = place.span.of(self._texts[place.document])
        return drafted(text, quote, gold, place.kind)

    def _text_of(self, place: Place) -> str:
        wording, detail = place.wording, place.detail
        if place.kind == "sentence":
            return self._about_sentence(place)
        if place.kind == "table":
            return wording.table.format(place.subject, detail)
        if place.subject.endswith(("?", "？")):  # noqa: RUF001 -- the heading is a question
            return place.subject
        shown = place.subject
        if detail and detail.casefold() != shown.casefold():
            shown = f"{shown} ({detail})" if place.kind != "definition" else shown
        return getattr(wording, place.kind).format(shown)  # type: ignore[no-any-return] # a str

    def _about_sentence(self, place: Place) -> str:
        """Some words of a sentence that no other statement has together, and some of its topic."""
        quote = place.span.of(self._texts[place.document])
        number = self._number_of.get((place.document, place.span.start))
        chosen = self._chosen(quote, number) if number is not None else []
        if not chosen or number is None:
            return ""
        topic = self._topic(place, number, quote)
        template = place.wording.sentence
        said = MENTION.sub(" ", quote)
        if YEAR.search(said):
            template = place.wording.year
        elif NUMBER.search(said):
            template = place.wording.number
        return template.format(joined([one.shown for one in chosen], topic, place.wording))

    def _chosen(self, quote: str, number: int) -> list[Term]:
        """The fewest terms that tell the statement from all others; [] where none do.

        Those that other statements have too come first: a word that is nowhere else finds its
        place with any way of cutting.
        """
        terms = phrases_of(quote)
        found = [one for one in terms if self._rarity.count(one)]
        found.sort(key=lambda one: (len(one.words) > 1, self._rarity.weight(one)), reverse=True)
        shared = [one for one in found if self._rarity.least(one) > 1]
        unique = [one for one in found if self._rarity.least(one) == 1]
        for alone, size in product(range(_MOST_TERMS), range(1, _MOST_TERMS + 1)):
            chosen = {*shared[: max(0, size - alone)], *unique[:alone]}
            enough = sum(len(one.words) for one in chosen) >= _FEW_WORDS
            if enough and self._is_only(number, chosen):
                return [one for one in terms if one in chosen]  # in the order of the text
        return []

    def _is_only(self, number: int, terms: Iterable[Term]) -> bool:
        """Whether no other statement has these terms, but for one in the same words."""
        own = self._statements[number][1].words
        holders = self._rarity.holders(word for one in terms for word in one.words)
        return all(self._statements[one][1].words == own for one in holders)

    def _topic(self, place: Place, number: int, quote: str) -> str:
        """What stands above or before a sentence and not in it."""
        own = set(words(quote))
        if place.detail and not own & set(words(place.detail)):
            return place.detail
        before, statement = self._statements[number - 1]
        if not number or before != place.document:
            return ""
        common = _COMMON * len(self._statements)
        near = [
            one
            for one in phrases_of(statement.span.of(self._texts[before]))
            if (" " in one.shown or place.wording.is_unspaced)
            and not own & set(one.words)
            and 1 < self._rarity.least(one) <= common
        ]
        return max(near, key=self._rarity.weight).shown if near else ""

    def _gold(self, place: Place) -> tuple[Answer, ...]:
        """The place and every other that answers as well; () where there are too many.

        A term may be explained twice; two sections of the same name answer different questions.
        """
        same = self._same.get(_key(place), [place]) if place.subject else [place]
        if len(same) > 1 and (place.kind != "definition" or len(same) > MOST_PLACES):
            return ()
        spans = {(one.document, one.span) for one in same}
        spans |= set(places_of(place.span.of(self._texts[place.document]), self._texts))
        if len(spans) > MOST_PLACES:
            return ()
        first = (place.document, place.span)
        for number, span in spans:
            self._taken[number].append(span)
        return tuple(
            (Passage(self._documents[number].id_, span),)
            for number, span in [first, *sorted(spans - {first})]
        )


def places_of(quote: str, texts: Sequence[str]) -> Iterator[tuple[int, Span]]:
    """Where the same words stand in some texts, whatever blanks are between them."""
    pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
    for number, text in enumerate(texts):
        yield from ((number, Span(*found.span())) for found in pattern.finditer(text))


class _Claim(NamedTuple):
    """A document that wants one more question: the most wanting first."""

    wanting: float
    number: int


def drafted(text: str, quote: str, gold: tuple[Answer, ...], kind: str) -> Question:
    """A draft, with an id that follows from what is asked and what answers it."""
    digest = blake2b(f"{text}\n{quote}".encode("utf-8", "surrogatepass"), digest_size=5)
    return Question(f"draft-{digest.hexdigest()}", text, gold, kind=kind, draft=True)


def _key(place: Place) -> tuple[str, ...]:
    detail = "" if place.kind == "definition" else place.detail
    return place.kind, place.subject.casefold(), detail.casefold()


def _shares(sizes: Sequence[int], count: int) -> list[int]:
    """How many questions each document gets: more for a longer one, as its root grows.

    Proportional shares would leave short documents without any.
    """
    shares = [0] * len(sizes)
    claims = [_Claim(-(size**0.5), number) for number, size in enumerate(sizes) if size]
    heapq.heapify(claims)
    for _ in range(count if claims else 0):
        number = claims[0].number
        shares[number] += 1
        wanting = -(sizes[number] ** 0.5) / (shares[number] + 1)
        heapq.heapreplace(claims, _Claim(wanting, number))
    return shares
