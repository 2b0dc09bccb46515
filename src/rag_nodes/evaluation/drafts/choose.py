"""Which drafts are kept: each question with one meaning, spread over documents and kinds."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import blake2b
from itertools import zip_longest
from typing import TYPE_CHECKING

from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.drafts.kinds import DRAFT_KINDS
from rag_nodes.evaluation.drafts.passages import MOST_PLACES, Place, copies, evenly
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.languages import content_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Answer
    from rag_nodes.evaluation.drafts.kinds import Draft

_MANY = 3
"""Documents with all words of a heading, from which it says too little of which is meant."""
_OF_A_TABLE = 5
"""Rows asked about of one table."""


def merged(found: Sequence[tuple[int, Draft]], documents: Sequence[Document]) -> list[Question]:
    """Each question once, where one thing answers it; copies of the answer are alternatives.

    Each draft comes with the number of its document.
    """
    texts = [document.text for document in documents]
    said = [set(content_words(text)) for text in texts] if len(texts) >= _MANY else []
    groups: dict[str, list[tuple[int, Draft]]] = defaultdict(list)
    for number, one in found:
        groups[(one.label or one.text).casefold()].append((number, one))
    kept, taken, rows = list[tuple[Place, Question]](), set[Place](), Counter[tuple[int, int]]()
    for group in groups.values():
        number, first = group[0]
        quotes = {_squeezed(one.span.of(texts[at])): Place(at, one.span) for at, one in group}
        own = set(content_words(first.text)) if first.kind in ("asked", "howto") else set()
        is_vague = own and sum(own <= one for one in said) >= _MANY
        if is_vague or (len(quotes) > 1 and first.kind != "definition"):
            continue  # which one is meant?
        if first.table is not None:
            rows[number, first.table] += 1
            if rows[number, first.table] > _OF_A_TABLE:
                continue
        places = [one for place in quotes.values() for one in copies(place, texts)]
        if places and len(places) <= MOST_PLACES and taken.isdisjoint(places):
            taken.update(places)
            gold = tuple((Passage(documents[at].id_, span),) for at, span in places)
            quote = first.span.of(texts[number])
            kept.append((places[0], drafted(first.text, quote, gold, first.kind)))
    return [one for _, one in sorted(kept, key=lambda one: (one[0], one[1].id))]


def spread(questions: Iterable[Question], count: int, seed: int) -> list[Question]:
    """At most so many; kinds take turns, and of each those that lie far apart go first."""
    by_kind: dict[str, list[Question]] = {kind: [] for kind in DRAFT_KINDS}
    for one in questions:
        by_kind[one.kind].append(one)
    turns = zip_longest(
        *([each[at] for at in evenly(len(each), seed)] for each in by_kind.values())
    )
    return [one for turn in turns for one in turn if one is not None][:count]


def drafted(text: str, quote: str, gold: tuple[Answer, ...], kind: str) -> Question:
    """A draft, with an id that follows from what is asked and what answers it."""
    digest = blake2b(f"{text}\n{quote}".encode("utf-8", "surrogatepass"), digest_size=5)
    return Question(f"draft-{digest.hexdigest()}", text, gold, kind=kind, draft=True)


def _squeezed(text: str) -> str:
    return " ".join(text.split())
