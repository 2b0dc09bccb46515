"""Values for the templates of retrieved chunks, with their quotes marked, and of cited places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.apps.markup import count, in_a_line, place
from rag_nodes.apps.visitors.cuts import tokens_in
from rag_nodes.apps.visitors.turns import relative_scale
from rag_nodes.core.metadata import HEADING_PATH, PAGE_END, PAGE_START, display_name
from rag_nodes.query.locations import pages_of
from rag_nodes.text.edges import Edges
from rag_nodes.text.languages import content_words
from rag_nodes.text.spans import Span
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.apps.panes.difference import AnswerSentence
    from rag_nodes.apps.visitors.turns import Turn
    from rag_nodes.query import Answer, Citation, Hit

_PREVIEW = 150
"""Characters of a chunk that show while it is closed."""
_RANKED = {False: "the rank uses both", True: "it decides the rank"}
"""By whether there is no similarity beside the score of words."""


class CitedPlace(NamedTuple):
    """A place that the answer in `column` cites, its position `at` counted from 1.

    `number` is the source as the answer names it, `anchor` the id of its chunk on the page, ""
    where that is not listed, and `is_located` says whether its position in the document is known.
    `sentence` are the only characters meant; None for all that are cited there. `is_closest` if
    the answer names no source, and this one shares the most words with the sentence.
    """

    at: int
    column: int
    number: int
    anchor: str
    where: str | None
    file: str
    headings: tuple[str, ...]
    is_located: bool
    sentence: Span | None = None
    is_closest: bool = False


def _names_sources(answer: Answer) -> bool:
    """Return False if no sentence of an answer names its source, as in those of most engines."""
    return bool(answer.marks) or answer.kind != "generated"


def hit_view(
    turn: Turn,
    position: int,
    answer: Answer,
    hit: Hit,
    best: float | None,
    also: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the values that the template of a chunk fills in.

    Args:
        turn: it belongs to.
        position: of its column on the page.
        answer: that read it.
        hit: the chunk.
        best: the largest similarity that any column found; None where there is none.
        also: other columns that found the same text; None where that is not known.
    """
    cited = [pair for pair in enumerate(answer.citations, start=1) if answer.hit_of(pair[1]) is hit]
    metadata, node = hit.found.metadata, hit.node
    edges = turn.edges.get(node.node_id, Edges()) if hit.found is node else Edges()
    held = (read for source in answer.sources for read in (*source.hits, *source.copies))
    packed = any(hit.rank == read.rank for read in held)
    labels = [("rn-cited", "cited")] if cited and _names_sources(answer) else []
    labels += [] if packed else [("rn-left", "no room")]
    level, score, explained = _score(turn, answer, hit, best)
    flat = in_a_line(hit.found.text[: 4 * _PREVIEW])
    return {
        "rank": hit.rank,
        "anchor": f"{anchor(turn, position)}-{hit.rank}",
        "level": level,
        "score": score,
        "explained": explained,
        "labels": (*labels, *(("rn-torn", remark) for remark in edges.remarks)),
        "also": also,
        "file": display_name(metadata, hit.node.ref_doc_id or hit.node.node_id),
        "facts": tuple(_facts(answer, hit)),
        "headings": tuple(str(name) for name in metadata.get(HEADING_PATH) or ()),
        "preview": flat[:_PREVIEW] + ("\N{HORIZONTAL ELLIPSIS}" if len(flat) > _PREVIEW else ""),
        "torn": edges,
        "pieces": tuple(_marked(hit.found.text, _quoted(hit.found, cited))),
        "around": tuple(_around(hit, cited)),
    }


def _facts(answer: Answer, hit: Hit) -> Iterator[str]:
    metadata, cosine = hit.found.metadata, _rounded(hit.similarity)
    if where := place(metadata.get(PAGE_START), metadata.get(PAGE_END)):
        yield where
    yield count(tokens_in(hit.found), "token")
    if hit.surroundings is not None and hit.found is hit.node:
        tokens = sum(passage.tokens for passage in answer.read_of(hit))
        yield f"read with it: {count(tokens, 'token')}" if tokens else "read already with another"
    if cosine is not None:
        yield f"distance {_rounded(1 - cosine):.2f}"
    if hit.also:
        names = (display_name(node.metadata, node.ref_doc_id or "") for node in hit.also)
        yield f"also in {', '.join(dict.fromkeys(names))}"


def _score(turn: Turn, answer: Answer, hit: Hit, best: float | None) -> tuple[str, str, str]:
    """Return the quality of a match in a word, the same with its score, and an explanation."""
    if hit.similarity is None and hit.keyword_score is None and hit.rerank_score is not None:
        shares = relative_scale("The score that this column gave")
        highest = max(other.rerank_score or 0 for other in answer.hits)
        level = shares.level(hit.rerank_score, highest)
        return level, f"{level} {hit.rerank_score:.3g}", shares.explain()
    scale, cosine = turn.scale, _rounded(hit.similarity)
    level = scale.level(hit.similarity, best) if scale else "unknown"
    explained = []
    if cosine is not None:
        explained.append("Cosine similarity of question and chunk; the distance is one minus it.")
        explained += [scale.explain()] if scale else []
    if hit.keyword_score is not None:
        ranked = _RANKED[hit.similarity is None]
        explained.append(f"Keyword score {hit.keyword_score:.1f}; {ranked}.")
    by_words = "no score" if hit.keyword_score is None else f"score {hit.score:.2f}"
    shown = by_words if cosine is None else f"{level} {cosine:.2f}"
    return level, shown, " ".join(explained)


def _rounded(value: float | None) -> float | None:
    # Adding zero turns a rounded minus zero into zero.
    return None if value is None else round(value, 2) + 0.0


def _around(hit: Hit, cited: Sequence[tuple[int, Citation]]) -> Iterator[tuple[str, int | None]]:
    """Yield the text that was read in place of a chunk, with its quotes, or else the chunk."""
    node = hit.surroundings
    if node is None or hit.found is not hit.node:
        return
    spans = _quoted(node, cited)
    base, own = node.start_char_idx, hit.node.start_char_idx
    if not spans and base is not None and own is not None:
        spans = [(own - base, own - base + len(hit.node.text), 0)]
    yield from _marked(node.text, spans)


def _quoted(node: TextNode, cited: Sequence[tuple[int, Citation]]) -> list[tuple[int, int, int]]:
    """Return start and end of each quote in a text, and the number of its citation.

    A chunk that is cited whole has nothing to point out.
    """
    base = node.start_char_idx
    spans = []
    for number, citation in cited:
        if base is None or citation.start is None or citation.end is None:
            continue
        start, end = max(0, citation.start - base), min(len(node.text), citation.end - base)
        if 0 < end - start < len(node.text):
            spans.append((start, end, number))
    return sorted(spans)


def _marked(text: str, spans: Sequence[tuple[int, int, int]]) -> Iterator[tuple[str, int | None]]:
    """Yield the pieces of a text, each with the number of the citation that quotes it, or None."""
    reached = 0
    for start, end, number in spans:
        if start >= reached:
            yield text[reached:start], None
            yield text[start:end], number
            reached = end
    yield text[reached:], None


def anchor(turn: Turn, position: int) -> str:
    """Return the id that the elements of a column begin with on the page."""
    return f"rn-{turn.number}-{position}"


def cited_places(answer: Answer) -> list[tuple[Citation, ...]]:
    """Return the citations of an answer by number, file, pages and headings, which are shown."""
    places: dict[tuple[object, ...], list[Citation]] = {}
    for citation in answer.citations:
        shown = (
            citation.number,
            citation.file_name,
            citation.page,
            citation.page_end,
            citation.heading_path,
        )
        places.setdefault(shown, []).append(citation)
    return [tuple(group) for group in places.values()]


def spans_of(answer: Answer, place: Sequence[Citation]) -> tuple[Span, ...]:
    """Return the cited characters in their document; () if their position is unknown."""
    node_ids = {hit.node.node_id for hit in answer.hits if hit.node.ref_doc_id}
    spans: dict[Span, None] = {}
    for citation in place:
        if citation.node_id not in node_ids or citation.start is None or not citation.quote.strip():
            return ()
        start = citation.start + len(citation.quote) - len(citation.quote.lstrip())
        spans[Span(start, start + len(citation.quote.strip()))] = None
    return tuple(spans)


def cited_for(
    sentence: AnswerSentence, answer: Answer, places: Sequence[CitedPlace]
) -> list[CitedPlace]:
    """Return the places that an answer cites for a sentence; where it stands, if it stands there.

    An answer without marks of sources, such as that of an engine, has for each other sentence the
    source that shares the most words with it.
    """
    names = _names_sources(answer)
    groups = [
        (cited, group)
        for cited, group in zip(places, cited_places(answer), strict=True)
        if cited.number in sentence.numbers or not names
    ]
    citations = [(cited, citation) for cited, group in groups for citation in group]
    # A quotation of this sentence alone comes before one that holds it.
    citations.sort(key=lambda pair: " ".join(pair[1].quote.split()) != sentence.text)
    for cited, citation in citations:
        if place := _place_of_sentence(cited, answer, citation, sentence.text):
            return [place]
    if not names:
        own = set(content_words(sentence.text))
        shared = [len(own & {word for citation in group for word in words(citation.quote)})
                  for _, group in groups]  # fmt: skip
        most = max(shared, default=0)
        return [groups[shared.index(most)][0]._replace(is_closest=True)] if most else []
    return [cited for cited, _ in groups]


def _place_of_sentence(
    cited: CitedPlace, answer: Answer, citation: Citation, text: str
) -> CitedPlace | None:
    """Return the place of a sentence that stands in a citation, white space aside; else None."""
    pattern = r"\s+".join(map(re.escape, text.split()))
    match = re.search(rf"(?<!\w){pattern}(?!\w)", citation.quote)
    if match is None or citation.node is None or not spans_of(answer, [citation]):
        return None
    sentence = Span(*((citation.start or 0) + at for at in match.span()))
    own = sentence.start - (citation.node.start_char_idx or 0)
    where = place(*pages_of(citation.node, own, own + sentence.length))
    return cited._replace(sentence=sentence, where=where)


def places_of(turn: Turn, position: int, answer: Answer) -> list[CitedPlace]:
    """Return every place that an answer cites, each once."""
    places = []
    for at, group in enumerate(cited_places(answer), start=1):
        first = group[0]
        hit = answer.hit_of(first)
        places.append(
            CitedPlace(
                at,
                position,
                first.number,
                f"{anchor(turn, position)}-{hit.rank}" if hit else "",
                place(first.page, first.page_end),
                first.file_name,
                first.heading_path,
                bool(spans_of(answer, group)),
            )
        )
    return places
