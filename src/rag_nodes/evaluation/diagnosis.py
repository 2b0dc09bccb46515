"""Why a question was missed: one reason each, so that the reasons add up to the misses."""

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
    "cut",
    "read in part",
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
    "cut": "a boundary runs through the answer and only part of it was read; choose larger "
    "chunks, overlap, or a parser that cuts at the document's own boundaries",
    "read in part": "some of its sentences were read, others ranked behind the budget; raise the "
    "budget",
    "diluted": "the answer is a small part of a large chunk, which ranks by everything else in it; "
    "choose smaller chunks",
    "ranked low": "other chunks rank before the one with the answer; try another mode of search or "
    "embedding model, a reranker, or a larger budget",
}
"""What can be done about each reason."""


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
    """What came of a question: its scores, and why its answer was not read whole.

    Of several answers that are enough, the one is explained of which most was read. `seen` is what
    was read; in `rankings`, each longer than the one before, the answer is looked for until a chunk
    has some of it. Unless `lists_all`, there may be other `chunks`, with any answer.
    """
    budget, read = seen.budget, seen.passages
    if best_recall(read, question.gold, texts) >= FOUND:
        return Outcome(question.id, scores)
    answer = max(question.gold, key=lambda one: recall(read, one))
    holding = [(one, span) for one in answer for span in chunks.holding(one)]
    places = tuple(dict.fromkeys(Passage(one.document, span) for one, span in holding))
    rank = next(filter(None, (_rank(ranked, answer) for ranked in rankings)), None)
    reason = _absent(answer, places, chunks, texts, lists_all=lists_all)
    is_filtered = bool(options.filter) or options.similarity_cutoff is not None
    tokens = sum(count_tokens(one.span.of(texts[one.document])) for one in answer)
    if reason is None and tokens > budget:
        reason = "too long"
    elif reason is None and rank is None and is_filtered:
        reason = "filtered"
    elif reason is None and options.granularity == "sentences":  # wherever chunks end
        reason = "read in part" if recall(read, answer) > 0 else "ranked low"
    why = reason or _of_chunks(answer, holding, read)
    held = tuple((one.document, *one.span) for one in places)
    return Outcome(question.id, scores, why, rank, held, tuple(_parts(answer, read)))


def _parts(answer: Answer, read: Sequence[Passage]) -> Iterator[tuple[str, int, int]]:
    """What was read of an answer."""
    for one in answer:
        for other, span in read:
            low, high = max(span.start, one.span.start), min(span.end, one.span.end)
            if other == one.document and low < high:
                yield other, low, high


def _rank(ranked: Sequence[Ranked], answer: Answer) -> int | None:
    return first_hit((Passage(one.document, one.span) for one in ranked), answer)


def _absent(
    answer: Answer,
    places: Sequence[Passage],
    chunks: ChunkMap,
    texts: Mapping[str, str],
    *,
    lists_all: bool,
) -> Reason | None:
    """Why no ranking could find all of it; None where it is all in chunks whose place is known."""
    if recall(closed(places, texts), answer) >= FOUND:
        return None
    # What another built, and has no place, names documents as it likes.
    about = {one.document for one in answer}
    if any(one in about or one not in texts for one in chunks.unplaced):
        return "not placeable"
    return "not in the index" if lists_all else None


def _of_chunks(
    answer: Answer, holding: Sequence[tuple[Passage, Span]], read: Sequence[Passage]
) -> Reason:
    """Why whole chunks did not have it."""
    whole = all(any(span.overlap(one.span) == one.span.length for other, span in holding
                    if other == one) for one in answer)  # fmt: skip
    if not whole and recall(read, answer) > 0:
        return "cut"
    share = max((span.overlap(one.span) / span.length for one, span in holding), default=1.0)
    return "diluted" if share < DILUTED else "ranked low"
