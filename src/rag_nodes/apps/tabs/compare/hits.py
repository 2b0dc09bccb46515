"""The chunks behind an answer: rank, match, place, text, and what of it was quoted."""

from __future__ import annotations

import re

# At runtime, since a named tuple looks its fields up.
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.tabs.compare.buttons import show_in_document
from rag_nodes.apps.view.html import Html, join, name_of, tag
from rag_nodes.apps.view.parts import count, path_of, place, title_of
from rag_nodes.metadata import HEADING_PATH, PAGE_END, PAGE_START, TOKEN_COUNT, display_name
from rag_nodes.text.edges import Edges

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.apps.visitors.scores import SimilarityScale
    from rag_nodes.query import Answer, Citation, Hit
    from rag_nodes.text.edges import Inside

_HEADING_MARK = re.compile(r"^#{1,6}\s+", re.MULTILINE)
_PREVIEW = 150
"""Characters of a chunk that show while it is closed."""


class ColumnPlace(NamedTuple):
    """The column that chunks belong to.

    Attributes:
        turn: number of the question.
        column: position of the column, counted from 1.
        anchor: prefix of the ids inside, unique on the page.
        edges: what its chunks cut in two, by node id.
    """

    turn: int
    column: int
    anchor: str
    edges: Mapping[str, Edges] = MappingProxyType({})


def chunks(
    answer: Answer,
    scale: SimilarityScale | None,
    best: float | None,
    where: ColumnPlace,
    evidence: Mapping[int, Sequence[str]],
) -> Html:
    """The expandable list "Retrieved chunks" of one column, or what is read of them.

    Args:
        answer: whose hits to show.
        scale: turns similarities into words and colours.
        best: largest similarity of any column of this question.
        where: the column.
        evidence: which other parsers found a hit's text too, by rank.
    """
    packed = {hit.rank for source in answer.sources for hit in source.hits}
    items = [
        _item(
            hit,
            answer,
            _score(hit, scale, best),
            where,
            used=hit.rank in packed,
            shared=evidence.get(hit.rank),
        )
        for hit in answer.hits
    ]
    passages = any(hit.found is not hit.node for hit in answer.hits)
    named = "Passages that are read " if passages else "Retrieved chunks "
    summary = tag("summary", named, tag("span", str(len(items)), cls="rn-count"), cls="rn-more")
    return tag(
        "details",
        summary,
        tag("ol", *items, cls="rn-hits"),
        cls="rn-chunks",
        id=where.anchor,
        open=not answer.text,  # where nothing was answered, they are what there is to read
    )


def _item(
    hit: Hit,
    answer: Answer,
    score: Html,
    where: ColumnPlace,
    *,
    used: bool,
    shared: Sequence[str] | None,
) -> Html:
    cited = [one for one in answer.citations if answer.hit_of(one) is hit]
    metadata = hit.found.metadata
    tokens = metadata.get(TOKEN_COUNT)
    edges = _edges(hit, where)
    distance = _distance(hit)
    facts = [
        place(metadata.get(PAGE_START), metadata.get(PAGE_END)),
        count(int(tokens), "token") if tokens is not None else None,
        _read_with_it(answer, hit),
        f"distance {distance:.2f}" if distance is not None else None,
    ]
    file = display_name(metadata) or "document"
    headings = path_of([str(name) for name in metadata.get(HEADING_PATH) or ()])
    return tag(
        "li",
        tag(
            "div",
            tag("span", f"#{hit.rank}", cls="rn-rank", title="Rank in this column"),
            score,
            _found_by(shared),
            tag("span", "cited", cls="rn-cited") if cited else None,
            None if used else tag("span", "no room", cls="rn-left", title=_NO_ROOM),
            *(tag("span", said, cls="rn-torn") for said in edges.said),
            cls="rn-hit-head",
        ),
        tag(
            "div",
            tag("span", name_of(file), cls="rn-file-name"),
            *(f" · {fact}" for fact in facts if fact),
            cls="rn-facts",
        ),
        tag("div", headings, cls="rn-path") if headings else None,
        _text(hit, cited, where),
        cls="rn-hit",
        id=f"{where.anchor}-{hit.rank}",
    )


def _read_with_it(answer: Answer, hit: Hit) -> str | None:
    """How much is read in the place of what was found; None where that is read itself."""
    if hit.surroundings is None or hit.found is not hit.node:
        return None
    tokens = sum(one.tokens for one in answer.read_of(hit))
    return f"read with it: {count(tokens, 'token')}" if tokens else "read already with another"


def _found_by(shared: Sequence[str] | None) -> Html | None:
    """Whether other columns found the same text; nothing where that is unknown."""
    if shared is None:
        return None
    if not shared:
        return tag("span", "only here", cls="rn-alone", title="No other column found this text")
    names = ", ".join(title_of(name) for name in shared)
    return tag("span", f"also in {len(shared)}", cls="rn-shared", title=f"Also found by: {names}")


_RANKED = {False: "the rank uses both", True: "it decides the rank"}
"""By whether there is no similarity beside it."""
_NO_ROOM = "Retrieved, but it did not fit the token budget of the context"


def _score(hit: Hit, scale: SimilarityScale | None, best: float | None) -> Html:
    level = scale.level(hit.similarity, best) if scale else "unknown"
    cosine = _rounded(hit.similarity)
    shown = "no score" if cosine is None else f"{level} {cosine:.2f}"
    explained = [
        "Cosine similarity of question and chunk; the distance is one minus it."
        if hit.similarity is not None
        else None,
        scale.explain() if scale else None,
        f"Keyword score {hit.keyword_score:.1f}; {_RANKED[hit.similarity is None]}."
        if hit.keyword_score is not None
        else None,
    ]
    title = " ".join(part for part in explained if part)
    return tag("span", shown, cls=f"rn-score rn-{level}", title=title)


def _distance(hit: Hit) -> float | None:
    """What is missing to a similarity of one, as it is shown."""
    cosine = _rounded(hit.similarity)
    return None if cosine is None else _rounded(1 - cosine)


def _rounded(value: float | None) -> float | None:
    # Adding zero turns a rounded minus zero into zero.
    return None if value is None else round(value, 2) + 0.0


def _text(hit: Hit, cited: Sequence[Citation], where: ColumnPlace) -> Html:
    """The chunk or passage, closed to its first words, with the quoted sentences marked."""
    text = hit.found.text
    flat = " ".join(_HEADING_MARK.sub("", text[: 4 * _PREVIEW]).split())
    preview = flat[:_PREVIEW] + ("\N{HORIZONTAL ELLIPSIS}" if len(flat) > _PREVIEW else "")
    edges = _edges(hit, where)
    torn = [_tear(edges.start), *_marked(text, _quoted(hit.found, cited)), _tear(edges.end)]
    full = tag("div", *torn, cls="rn-text", dir="auto")
    return tag(
        "details",
        tag(
            "summary",
            tag("span", _tear(edges.start), preview, cls="rn-preview", dir="auto"),
            tag("span", "Close", cls="rn-close"),
        ),
        full,
        _surroundings(hit, cited),
        show_in_document(where.turn, where.column, hit.rank),
        cls="rn-chunk",
        id=f"{where.anchor}-{hit.rank}-text",
    )


def _edges(hit: Hit, where: ColumnPlace) -> Edges:
    """What its chunk cut in two; a passage ends where sentences do."""
    known = where.edges.get(hit.node.node_id)
    return known if known and hit.found is hit.node else Edges()


def _tear(inside: Inside | None) -> Html | None:
    """A mark where the text was cut inside of something; said in words beside the rank."""
    if inside is None:
        return None
    return tag("span", "\N{HORIZONTAL ELLIPSIS}", cls="rn-tear", title=f"Cut inside a {inside}")


def _surroundings(hit: Hit, cited: Sequence[Citation]) -> Html | None:
    """What was read in the place of what was found: the quotes in it pointed out, or the find."""
    node = hit.surroundings
    if node is None or hit.found is not hit.node:
        return None
    spans = _quoted(node, cited)
    base, own = node.start_char_idx, hit.node.start_char_idx
    if not spans and base is not None and own is not None:
        spans = [(own - base, own - base + len(hit.node.text))]
    return tag(
        "div",
        tag("div", "Read in its place", cls="rn-facts"),
        tag("div", join(_marked(node.text, spans)), cls="rn-text", dir="auto"),
        cls="rn-read",
    )


def _quoted(node: TextNode, cited: Sequence[Citation]) -> list[tuple[int, int]]:
    """What of a text was quoted; a chunk cited whole has nothing to point out."""
    base = node.start_char_idx
    spans = []
    for one in cited:
        if base is None or one.start is None or one.end is None:
            continue
        start, end = max(0, one.start - base), min(len(node.text), one.end - base)
        if 0 < end - start < len(node.text):
            spans.append((start, end))
    return sorted(spans)


def _marked(text: str, spans: Iterable[tuple[int, int]]) -> Iterable[str]:
    reached = 0
    for start, end in spans:
        if start >= reached:
            yield text[reached:start]
            yield tag("mark", text[start:end])
            reached = end
    yield text[reached:]
