"""Clicks below an answer: a cited place that is called right answers a labelled question."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.inside_gradio import number_in, texts_of
from rag_nodes.evaluation.dataset import Question, trimmed_passage
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    import gradio as gr

    from rag_nodes.apps.visitors.questions import Questions
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.turns import Turn
    from rag_nodes.query import Answer, Citation

GONE = "This place is gone: other documents were loaded since."
WHOLE = (
    "Added as a draft: it cites a whole chunk, which favours the parser that made it. Mark the "
    "exact words in Document, or accept it in Decide as it is."
)
TORN = (
    "Added as a draft: it ends where its chunk does, inside a word. Mark all of it in Document, or "
    "accept it in Decide as it is."
)
ADDED = "Added to your questions."
TAKEN_BACK = "Taken out of your questions."

_INSIDE_A_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff]{2}")
"""Two letters, of a script that puts blanks between words."""


class Sent(NamedTuple):
    """A click below an answer, checked for its form only.

    Attributes:
        act: what was clicked; "" for something else.
        turn: number of the question; 0 for none.
        column: position of the column on the page, from 1; 0 for none.
        rank: of a chunk, from 1; 0 for none.
        cited: position of a cited place, from 1; 0 for none.
        verdict: what was said.
    """

    act: str = ""
    turn: int = 0
    column: int = 0
    rank: int = 0
    cited: int = 0
    verdict: str = ""

    @classmethod
    def of(cls, event: gr.EventData) -> Sent:
        """Read it; what does not fit counts as not sent."""
        texts = texts_of(event)
        return cls(
            act=texts.get("act", ""),
            turn=number_in(texts.get("turn")) or 0,
            column=number_in(texts.get("column")) or 0,
            rank=number_in(texts.get("rank")) or 0,
            cited=number_in(texts.get("cited")) or 0,
            verdict=texts.get("verdict", ""),
        )


def cited_places(answer: Answer) -> list[tuple[Citation, ...]]:
    """The citations of an answer by what is shown of them: number, file, pages and headings."""
    places: dict[tuple[object, ...], list[Citation]] = {}
    for one in answer.citations:
        shown = (one.number, one.file_name, one.page, one.page_end, one.heading_path)
        places.setdefault(shown, []).append(one)
    return [tuple(found) for found in places.values()]


def passages_of(answer: Answer, place: Sequence[Citation]) -> tuple[Passage, ...]:
    """The cited characters; () where it is unknown where they stand."""
    documents = {hit.node.node_id: hit.node.ref_doc_id for hit in answer.hits}
    found = []
    for one in place:
        document = documents.get(one.node_id)
        if document is None or one.start is None or one.end is None or not one.quote.strip():
            return ()
        found.append(_trimmed(document, one.start, one.quote))
    return tuple(dict.fromkeys(found))


def called_right(turn: Turn, answer: Answer, questions: Questions) -> frozenset[int]:
    """Positions of the cited places, counted from 1, that are gold of this question already."""
    known = _known(turn, questions)
    gold = {one for passages in known.gold for one in passages} if known else set()
    places = enumerate(cited_places(answer), start=1)
    return frozenset(at for at, place in places if _are_in(gold, passages_of(answer, place)))


def call_right(session: PageSession, turn: Turn, answer: Answer, position: int) -> str:
    """Make a cited place gold of its question, or take it back.

    What one answer cites belongs together; what another cites is as good.

    Args:
        session: of the visitor.
        turn: the question as it was asked.
        answer: one of those it got.
        position: of the cited place, counted from 1.

    Returns:
        What happened, in words.

    Raises:
        DatasetError: there are too many questions.
    """
    places = cited_places(answer)
    place = places[position - 1] if 1 <= position <= len(places) else ()
    passages = passages_of(answer, place)
    if not passages or not _stand(session, answer, place):
        return GONE
    known = _known(turn, session.questions)
    gold = [list(one) for one in known.gold] if known else []
    if _are_in({one for answer in gold for one in answer}, passages):
        kept = (tuple(one for one in answer if one not in passages) for answer in gold)
        return _keep_only(session.questions, turn, tuple(one for one in kept if one))
    cited = {one for place in places for one in passages_of(answer, place)}
    group = next((one for one in gold if cited & {*one}), None)
    if group is None:
        gold.append(group := [])
    group += [one for one in passages if one not in group]
    doubt = WHOLE if _is_whole(answer, place) else _torn(session, passages)
    asked = known or Question(_id_of(turn), " ".join(turn.question.split()), ())
    changed = replace(asked, gold=tuple(map(tuple, gold)), draft=asked.draft or bool(doubt))
    session.questions.add([changed], session.documents)
    return doubt or ADDED


def _keep_only(questions: Questions, turn: Turn, gold: tuple[tuple[Passage, ...], ...]) -> str:
    if gold:
        questions.change(_id_of(turn), lambda one: replace(one, gold=gold))
    else:
        questions.remove(_id_of(turn))
    return TAKEN_BACK


def _id_of(turn: Turn) -> str:
    """The same for the same words, however often they are asked."""
    return f"asked-{hashlib.sha256(turn.question.encode('utf-8', 'replace')).hexdigest()[:10]}"


def _known(turn: Turn, questions: Questions) -> Question | None:
    asked, dataset = _id_of(turn), questions.dataset
    known = dataset.questions if dataset else ()
    return next((one for one in known if one.id == asked), None)


def _are_in(gold: set[Passage], passages: Sequence[Passage]) -> bool:
    return bool(passages) and gold.issuperset(passages)


def _trimmed(document: str, start: int, quote: str) -> Passage:
    span = trimmed_passage(Passage(document, Span(0, len(quote))), quote).span
    return Passage(document, Span(start + span.start, start + span.end))


def _stand(session: PageSession, answer: Answer, place: Sequence[Citation]) -> bool:
    """Whether the documents that are loaded hold what was cited, where it was."""
    texts = {document.id_: document.text for document in session.documents}
    documents = {hit.node.node_id: hit.node.ref_doc_id for hit in answer.hits}
    return all(
        texts.get(documents[one.node_id] or "", "")[one.start : one.end] == one.quote
        for one in place
    )


def _is_whole(answer: Answer, place: Sequence[Citation]) -> bool:
    """Whether a whole chunk was cited, so that the chunk decides what the answer is."""
    hits = [(one, answer.hit_of(one)) for one in place]
    return any(hit is not None and len(one.quote) >= len(hit.read.text) for one, hit in hits)


def _torn(session: PageSession, passages: Sequence[Passage]) -> str:
    """Why a passage is none that somebody would mark; "" where its ends are those of words."""
    texts = {document.id_: document.text for document in session.documents}
    ends = (texts[document][max(0, at - 1) : at + 1] for document, span in passages for at in span)
    return TORN if any(_INSIDE_A_WORD.fullmatch(pair) for pair in ends) else ""
