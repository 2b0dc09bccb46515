"""One column of a reply: the parser, its answer, its citations, its chunks."""

from __future__ import annotations

import re

# At runtime, since a named tuple looks its fields up.
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.tabs.compare.buttons import helpful, right
from rag_nodes.apps.tabs.compare.hits import ColumnPlace, chunks
from rag_nodes.apps.tabs.compare.labels import cited_places, passages_of
from rag_nodes.apps.tabs.compare.markdown import blocks, quote
from rag_nodes.apps.view.html import Html, join, name_of, tag
from rag_nodes.apps.view.parts import (
    colour_of,
    count,
    notice,
    path_of,
    place,
    seconds,
    title_of,
)
from rag_nodes.apps.visitors.choice import headline_of
from rag_nodes.models.prices import dollars
from rag_nodes.parsers.recovery import recovery_in_words
from rag_nodes.query.answering import BETWEEN_EXTRACTS
from rag_nodes.query.citations import marks_of

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.scores import SimilarityScale
    from rag_nodes.compare import Column
    from rag_nodes.query import Answer, Mark
    from rag_nodes.text.edges import Edges

_MARK = re.compile("\x02(\\d+)\x03")
"""Stands for a mark of the answer while the text around it is taken apart."""
_UNFINISHED = re.compile(r"(?<!\s)\s*\[[^\[\]\n]{0,20}\Z")
"""The beginning of a citation whose end has not arrived."""
_NO_MARK = str.maketrans("\x02\x03", "\ufffd\ufffd")


class ColumnView(NamedTuple):
    """Where and how a column stands on the page.

    Attributes:
        turn: number of the question.
        position: of the column, counted from 1.
        best: largest similarity of any column of this question.
        shared: which other parsers found a hit's text too, by parser and rank.
        mark: whether the visitor found the answer helpful; None for nothing said.
        stopped: what had arrived before the visitor stopped it; None where they did not.
        edges: what its chunks cut in two, by node id.
        right: positions of cited places, counted from 1, that the visitor called right.
    """

    turn: int
    position: int
    best: float | None = None
    shared: Mapping[tuple[str, int], Sequence[str]] = MappingProxyType({})
    mark: bool | None = None
    stopped: str | None = None
    edges: Mapping[str, Edges] = MappingProxyType({})
    right: frozenset[int] = frozenset()


def column(one: Column, scale: SimilarityScale | None, shown: ColumnView) -> Html:
    """A parser's reply.

    Args:
        one: what the comparison found.
        scale: turns similarities into words and colours.
        shown: its place on the page, and what the visitor did with it.
    """
    parts = _reply(one, scale, shown)
    # Always five parts: they line up across the columns.
    return tag(
        "article",
        _header(one),
        *(tag("div", part) for part in parts),
        cls=f"rn-column {colour_of(one.name)}",
        aria_label=title_of(one.name),
    )


def answer_text(
    text: str, marks: Sequence[Mark], links: Mapping[int, str], *, quoted: bool = False
) -> Html:
    """An answer as it is meant to be read, its source numbers as buttons that show the chunk.

    Only what is marked as naming a source does: brackets of the documents stay text.

    Args:
        text: of the answer, Markdown; see `markdown.blocks` for what becomes of it.
        marks: where it names sources.
        links: source number to id of an element on the page.
        quoted: sentences of documents, to be shown word for word; see `markdown.quote`.
    """
    write = partial(_written, marks=marks, links=links)
    placed = _placed(text, marks).strip()
    if not quoted:
        return blocks(placed, write)
    return join(quote(part, write) for part in placed.split(BETWEEN_EXTRACTS) if part.strip())


def kind_of(answer: Answer) -> str:
    """Where the text of an answer comes from."""
    kinds = {
        "generated": f"Written by {answer.answer_model}",
        "extract": "Quoted from the documents",
        "nothing": "No answer found",
    }
    return kinds.get(answer.kind, "Retrieved passages")


def growing_text(text: str, *, quoted: bool) -> Html:
    """What has arrived of an answer: nothing in it can be opened yet."""
    arrived = _UNFINISHED.sub("", text)
    marks = () if quoted else marks_of(arrived)
    return tag("div", answer_text(arrived, marks, {}, quoted=quoted), cls="rn-answer")


def stopped_text(text: str) -> Html:
    """What had arrived of an answer that the visitor stopped."""
    arrived = growing_text(text, quoted=False) if text else None
    return join([tag("p", "Stopped", cls="rn-kind"), arrived])


def _header(one: Column) -> Html:
    statistics = one.statistics
    stored = [
        count(statistics.chunks, "chunk"),
        f"{statistics.mean_tokens:.0f} tokens each" if statistics.mean_tokens else None,
    ]
    foreign = "splitter_class" in one.parser or "found_by" in one.parser
    found = recovery_in_words(statistics.unplaced, statistics.chunks, always=foreign)
    return tag(
        "header",
        tag("h3", title_of(one.name)),
        tag("p", headline_of(one.name, one.parser), cls="rn-config"),
        tag("p", " · ".join(part for part in stored if part), cls="rn-config"),
        tag("p", found, cls="rn-config rn-recovery") if found else None,
        tag("p", name_of(statistics.size_remark), cls="rn-config")
        if statistics.size_remark
        else None,
        notice("warning", statistics.error) if statistics.error else None,
    )


def _reply(
    one: Column, scale: SimilarityScale | None, shown: ColumnView
) -> tuple[Html | None, ...]:
    """Answer, citations, effort and feedback, chunks."""
    answer = one.answer
    if answer is None:
        stopped = shown.stopped
        ended = notice("error", one.error or "no answer") if stopped is None else None
        return ended or stopped_text(stopped or ""), None, None, None
    anchor = f"rn-{shown.turn}-{shown.position}"
    links = _links(answer, anchor)
    unknown = ", ".join(str(number) for number in answer.unknown_sources)
    text = join(
        [
            tag("p", kind_of(answer), cls="rn-kind"),
            tag(
                "div",
                answer_text(answer.text, answer.marks, links, quoted=answer.kind == "extract"),
                cls=f"rn-answer rn-answer-{answer.kind}",
            ),
            notice("warning", f"cites a source that was not given: {unknown}") if unknown else None,
        ]
    )
    place_of = (shown.turn, shown.position)
    asked = helpful(*place_of, title_of(one.name), mark=shown.mark)
    evidence = {rank: names for (name, rank), names in shown.shared.items() if name == one.name}
    where = ColumnPlace(*place_of, anchor, shown.edges)
    return (
        text,
        _citations(answer, links, shown),
        join([tag("p", _effort(one, answer), cls="rn-effort"), asked]),
        chunks(answer, scale, shown.best, where, evidence) if answer.hits else None,
    )


def _effort(one: Column, answer: Answer) -> str:
    notes = [f"{answer.left_out} left out"] if answer.left_out else []
    notes += ["last chunk cut"] if answer.cut else []
    left = f" ({', '.join(notes)})" if notes else ""
    context = count(answer.context_tokens, "context token")
    spent = [f"{context}{left}", *([answer.widening] if answer.widening else [])]
    spent.append(seconds(one.seconds.get("total", 0.0)))
    if answer.tokens_out:
        about = "about " if answer.tokens_estimated else ""
        spent.append(f"{about}{answer.tokens_in} tokens read, {answer.tokens_out} written")
    if answer.cost:
        spent.append(dollars(answer.cost))
    if answer.embedding_tokens:
        tokens = count(answer.embedding_tokens, "token")
        spent.append(f"question embedded: {tokens}, {dollars(answer.embedding_cost)}")
    return " · ".join(spent)


def _links(answer: Answer, anchor: str) -> dict[int, str]:
    """Source number to the id of the first chunk it was cited from."""
    links: dict[int, str] = {}
    for citation in answer.citations:
        if hit := answer.hit_of(citation):
            links.setdefault(citation.number, f"{anchor}-{hit.rank}")
    return links


def _citations(answer: Answer, links: dict[int, str], shown: ColumnView) -> Html | None:
    """Number, file, page and headings of every cited place, each once.

    Args:
        answer: that cites them.
        links: source number to id of an element on the page.
        shown: the column.
    """
    rows: dict[Html, None] = {}
    for position, place_cited in enumerate(cited_places(answer), start=1):
        citation = place_cited[0]
        where = place(citation.page, citation.page_end)
        file = citation.file_name or "document"
        path = path_of(citation.heading_path)
        row = tag(
            "li",
            _chip(citation.number, links),
            tag("span", where, cls="rn-page") if where else None,
            tag("span", name_of(file), cls="rn-source", title=file),
            tag("span", path, cls="rn-path") if path else None,
            right(shown.turn, shown.position, position, citation.number,
                  pressed=position in shown.right)
            if passages_of(answer, place_cited) else None,
        )  # fmt: skip
        rows[row] = None
    if not rows:
        return None
    return tag("ul", *rows, cls="rn-citations", aria_label="Citations")


def _placed(text: str, marks: Sequence[Mark]) -> str:
    """The text with the position of each mark in its place, between characters it has nowhere."""
    plain, reached, pieces = text.translate(_NO_MARK), 0, list[str]()
    for position, mark in enumerate(marks):
        pieces += [plain[reached : mark.start], f"\x02{position}\x03"]
        reached = mark.end
    return "".join([*pieces, plain[reached:]])


def _written(text: str, marks: Sequence[Mark], links: Mapping[int, str]) -> Html:
    """Plain text, the marks in it as what they name."""
    pieces: list[str] = []
    reached = 0
    for found in _MARK.finditer(text):
        pieces.append(text[reached : found.start()])
        pieces += [_chip(number, links) for number in marks[int(found[1])].numbers]
        reached = found.end()
    return join([*pieces, text[reached:]])


def _chip(number: int, links: Mapping[int, str]) -> Html:
    if number not in links:
        return tag("span", f"[{number}]", cls="rn-chip")
    label = f"Source {number}: show the chunk"
    # A button, since Gradio's page would follow a link and lose the session.
    return tag(
        "button",
        f"[{number}]",
        type="button",
        data_to=links[number],
        cls="rn-chip",
        title=label,
        aria_label=label,
    )
