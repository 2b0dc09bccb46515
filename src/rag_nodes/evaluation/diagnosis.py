"""Reasons why questions were missed: one for each, so that the reasons add up to the misses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rag_nodes.evaluation.metrics import Passage, first_hit, recall
from rag_nodes.evaluation.report import Outcome
from rag_nodes.evaluation.scoring import FOUND, ChunkMap, ContextRead, best_recall, closed
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.evaluation.dataset import Answer, Question
    from rag_nodes.evaluation.scoring import Scores
    from rag_nodes.query import QueryOptions
    from rag_nodes.text.filling import Ranked
    from rag_nodes.text.spans import Span

Reason = Literal[
    "not placeable",
    "not in the index",
    "too long",
    "filtered",
    "split",
    "read in part",
    "not selected",
    "diluted",
    "ranked low",
]
"""Looked at in this order; the first that holds is the one."""
DILUTED = 0.1
"""Share of a chunk below which the answer in it is hardly what the chunk is about."""

REMEDIES: dict[Reason, str] = {
    "not placeable": "the splitter changed the text of the chunk with the answer, so where it "
    "stands is not known; use a splitter that keeps the text, or turn its cleaning off",
    "not in the index": "no chunk holds the answer; was its document ingested, or text dropped?",
    "too long": "the answer has more tokens than the budget; raise the budget",
    "filtered": "the chunk with the answer was filtered or under the similarity cut-off; lower it",
    "split": "a boundary runs through the answer and only part of it was read; choose larger "
    "chunks, overlap, or a parser that splits at the document's own boundaries",
    "read in part": "some of its sentences were read, others ranked behind the budget; raise the "
    "budget",
    "not selected": "the chunk with the answer was found, but other sentences filled the budget; "
    "raise the budget, or read whole chunks",
    "diluted": "the answer is a small part of a large chunk, which ranks by everything else in it; "
    "choose smaller chunks",
    "ranked low": "other chunks rank before the one with the answer; try another mode of search or "
    "embedding model, a reranker, or a larger budget",
}
"""Remedy of each reason."""


def outcome_of(
    question: Question,
    scores: Scores,
    seen: ContextRead,
    chunks: ChunkMap,
    texts: Mapping[str, str],
    options: QueryOptions,
    *,
    rankings: Iterable[Sequence[Ranked]] = (),
    lists_all: bool = True,
) -> Outcome:
    """Return the scores of a question, and why its answer was not read whole.

    Of several answers that are enough, the one is explained of which most was read. `seen` is what
    was read; in `rankings`, each longer than the one before, the answer is looked for until a chunk
    has some of it; sentences are selected from the first. Unless `lists_all`, there may be other
    `chunks`, with any answer.
    """
    budget, read = seen.budget, seen.passages
    if best_recall(read, question.gold, texts) >= FOUND:
        return Outcome(question.id, scores)
    answer = max(question.gold, key=lambda gold: recall(read, gold))
    holding = [(passage, span) for passage in answer for span in chunks.holding(passage)]
    places = tuple(dict.fromkeys(Passage(passage.document, span) for passage, span in holding))
    ranks = (_rank(ranked, answer) for ranked in rankings)
    first = next(ranks, None)
    rank = first or next(filter(None, ranks), None)
    reason = _absent(answer, places, chunks, texts, lists_all=lists_all)
    is_filtered = bool(options.filter) or options.similarity_cutoff is not None
    tokens = sum(count_tokens(passage.span.of(texts[passage.document])) for passage in answer)
    if reason is None and tokens > budget:
        reason = "too long"
    elif reason is None and rank is None and is_filtered:
        reason = "filtered"
    elif reason is None and options.granularity == "sentences":  # wherever chunks end
        unread: Reason = "not selected" if first else "ranked low"
        reason = "read in part" if recall(read, answer) > 0 else unread
    why = reason or _of_chunks(answer, holding, read)
    held = tuple((place.document, *place.span) for place in places)
    return Outcome(question.id, scores, why, rank, held, tuple(_parts(answer, read)))


def _parts(answer: Answer, read: Sequence[Passage]) -> Iterator[tuple[str, int, int]]:
    """Yield the parts of an answer that were read."""
    for place in answer:
        for other, span in read:
            if other == place.document and (part := span.common(place.span)):
                yield other, *part


def _rank(ranked: Sequence[Ranked], answer: Answer) -> int | None:
    return first_hit((Passage(chunk.document, chunk.span) for chunk in ranked), answer)


def _absent(
    answer: Answer,
    places: Sequence[Passage],
    chunks: ChunkMap,
    texts: Mapping[str, str],
    *,
    lists_all: bool,
) -> Reason | None:
    """Return why no ranking could find all of it; None if located chunks hold all of it."""
    if recall(closed(places, texts), answer) >= FOUND:
        return None
    # What another built, and has no place, names documents as it likes.
    about = {passage.document for passage in answer}
    if any(document in about or document not in texts for document in chunks.not_located):
        return "not placeable"
    return "not in the index" if lists_all else None


def _of_chunks(
    answer: Answer, holding: Sequence[tuple[Passage, Span]], read: Sequence[Passage]
) -> Reason:
    """Return why whole chunks did not hold it."""
    whole = all(any(span.overlap(passage.span) == passage.span.length for other, span in holding
                    if other == passage) for passage in answer)  # fmt: skip
    if not whole and recall(read, answer) > 0:
        return "split"
    share = max(
        (span.overlap(passage.span) / span.length for passage, span in holding), default=1.0
    )
    return "diluted" if share < DILUTED else "ranked low"
