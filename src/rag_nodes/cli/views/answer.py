"""An answer, what it cites, and the chunks behind it, as pieces of any view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from rag_nodes.cli.views.text import (
    clean,
    counted,
    facts,
    heading,
    one_line,
    pages,
    plain,
    seconds,
    shortened,
)
from rag_nodes.metadata import HEADING_PATH, PAGE_END, PAGE_START, TOKEN_COUNT, display_name
from rag_nodes.models.prices import dollars

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.asking import Asked, AskRequest
    from rag_nodes.query import Answer, Citation, Hit

KINDS = {
    "generated": "written by {model}",
    "extract": "sentences quoted from the documents",
    "retrieval": "retrieval only",
    "nothing": "nothing found",
}
"""What kind of answer it is, in words."""

_STAGES = ("embed", "retrieve", "answer")
"""Stages whose times add up; others are parts of them."""
_NAME = 32
"""Characters of a file's name that fit beside the numbers."""
_RAGGED = 12
"""Characters two lines lose because words are not cut."""


def asked_view(asked: Asked, request: AskRequest, cli: Invocation) -> Iterator[RenderableType]:
    """One answer with everything behind it, top to bottom; what has grown is there already."""
    answer = asked.answer
    if not asked.grown:
        yield header_of(answer.question, asked.models)
        yield label("Answer")
        if answer.kind != "retrieval":
            yield answer_text(answer)
    yield from evidence_view(answer, cli.output.width, shown=request.chunks)
    if asked.reduction is not None and asked.reduction > 0:
        cli.note(
            f"Read {answer.context_tokens:,} of the {counted(asked.document_tokens, 'token')} of "
            f"these documents, {asked.reduction:.0%} less.",
            "dim",
        )


def header_of(question: str, models: str) -> RenderableType:
    """What is asked and which models run, with a line below."""
    return Group(facts([("Question", question), ("Models", models)]), Text(""))


def evidence_view(answer: Answer, width: int, *, shown: int) -> Iterator[RenderableType]:
    """What is behind an answer: who made it of what, what it cites, and the chunks found.

    Args:
        answer: whose text is shown already.
        width: characters of the terminal.
        shown: chunks to show.
    """
    took = seconds(sum(answer.seconds[stage] for stage in _STAGES if stage in answer.seconds))
    context = (
        f"{counted(answer.context_tokens, 'token')} in {counted(len(answer.sources), 'source')}"
    )
    searched = f" · {answer.mode} search" if answer.mode else ""
    yield plain(f"{answer_kind(answer)}{searched} · {context} · {took}", "dim")
    yield from remarks(answer)
    if answer.kind != "retrieval":
        yield Text("")
        yield label("Sources")
        yield citations(answer)
    if shown:
        yield Text("")
        yield label("Chunks", chunk_facts(answer))
        yield chunks(answer, shown, width)


def remarks(answer: Answer) -> Iterator[RenderableType]:
    """What a reader should know: more was searched, something did not fit, what it cost."""
    if answer.widening:
        yield plain(answer.widening, "dim")
    if answer.left_out:
        tokens = counted(answer.left_out_tokens, "token")
        yield plain(f"{counted(answer.left_out, 'chunk')} ({tokens}) did not fit", "dim")
    if answer.cut:
        yield plain("the last chunk that is read is cut at the budget", "dim")
    if answer.tokens_in:
        about = "about " if answer.tokens_estimated else ""
        yield plain(
            f"{about}{answer.tokens_in:,} tokens read, {answer.tokens_out:,} written · "
            f"{dollars(answer.cost)}",
            "dim",
        )
    if answer.embedding_tokens:
        tokens = counted(answer.embedding_tokens, "token")
        yield plain(f"question embedded: {tokens} · {dollars(answer.embedding_cost)}", "dim")


def answer_text(answer: Answer) -> Text:
    """The answer itself; its sources stand out from numbers in brackets that documents have."""
    text, reached = Text(), 0
    for mark in answer.marks:
        text.append(clean(answer.text[reached : mark.start]))
        text.append(clean(answer.text[mark.start : mark.end]), "bold")
        reached = mark.end
    text.append(clean(answer.text[reached:]))
    if answer.kind == "nothing":
        text.stylize("dim")
    return text


def answer_kind(answer: Answer) -> str:
    """Who wrote the answer."""
    return KINDS.get(answer.kind, answer.kind).format(model=one_line(answer.answer_model))


def citations(answer: Answer) -> RenderableType:
    """`[1] file, p. 14, A > B, characters 120-180`, each place once."""
    if not answer.citations:
        return plain("no source cited", "dim")
    grid = _numbered()
    for same in _by_place(answer.citations):
        where = [place(same[0]), _offsets(same)]
        grid.add_row(f"[{same[0].number}]", plain(", ".join(part for part in where if part)))
    if answer.unknown_sources:
        numbers = ", ".join(map(str, answer.unknown_sources))
        grid.add_row("!", plain(f"cites sources that do not exist: {numbers}", "yellow"))
    return grid


def place(citation: Citation) -> str:
    """File, page and heading of a citation."""
    parts = (
        one_line(citation.file_name or citation.source or "unknown source"),
        pages(citation.page, citation.page_end),
        heading(citation.heading_path),
    )
    return ", ".join(part for part in parts if part)


def chunk_facts(answer: Answer) -> str:
    """What stands on a chunk's line: words alone give scores, and embeddings similarities."""
    has_similarity = any(hit.similarity is not None for hit in answer.hits)
    return f"{'similarity (distance)' if has_similarity else 'score'} · file · page · tokens"


def chunks(answer: Answer, shown: int, width: int) -> RenderableType:
    """The best hits: rank, similarity, page, tokens, the source made of it, and how it begins.

    Args:
        answer: whose hits.
        shown: how many.
        width: characters of a line, decides how much of the text is quoted.
    """
    if not answer.hits:
        return plain("no chunk found", "dim")
    numbers = {hit.rank: source.number for source in answer.sources for hit in source.hits}
    grid = _numbered()
    for hit in answer.hits[:shown]:
        quote = shortened(hit.found.text, 2 * max(20, width - 4) - _RAGGED)
        title = heading(hit.found.metadata.get(HEADING_PATH) or ())
        lines: list[RenderableType] = [_facts_of(hit, numbers.get(hit.rank))]
        if title:
            lines.append(plain(shortened(title, max(20, width - 4)), "italic"))
        lines.append(plain(quote, "dim"))
        if hit.surroundings and hit.found is hit.node:
            lines.append(plain(shortened(_read(answer, hit), 2 * max(20, width - 4) - _RAGGED)))
        grid.add_row(str(hit.rank), Group(*lines))
    if rest := len(answer.hits) - shown:
        more = f"and {rest} more" if rest > 0 else ""
        grid.add_row("", plain(more, "dim"))
    return grid


def _read(answer: Answer, hit: Hit) -> str:
    """What was read in the place of what was found: its size and how it begins."""
    excerpts = answer.read_of(hit)
    if not excerpts:
        return "read with it: nothing that is not read already"
    tokens = sum(one.tokens for one in excerpts)
    return f"read with it, {counted(tokens, 'token')}: {' … '.join(one.text for one in excerpts)}"


def label(name: str, remark: str = "") -> Text:
    """The line above a part of a view."""
    return Text.assemble((name, "bold"), (f"  {remark}" if remark else "", "dim"))


def _facts_of(hit: Hit, number: int | None) -> Text:
    metadata = hit.found.metadata
    if hit.similarity is None:
        facts = Text(f"score {hit.score:.2f}", style="bold")
    else:
        similarity = round(hit.similarity, 2)
        facts = Text(f"{similarity:.2f}", style="bold")
        facts.append(f" ({1 - similarity:.2f})", style="not bold")
    tokens = metadata.get(TOKEN_COUNT)
    for fact in (
        shortened(display_name(metadata), _NAME),
        pages(metadata.get(PAGE_START), metadata.get(PAGE_END)),
        f"{tokens:,} tokens" if tokens is not None else "",
        f"source [{number}]" if number is not None else "over budget",
    ):
        if fact:
            facts.append(f" · {fact}", style="not bold")
    return facts


def _by_place(cited: Iterable[Citation]) -> list[list[Citation]]:
    """An extract cites every sentence; those of the same place share a line."""
    places: dict[tuple[object, ...], list[Citation]] = {}
    for one in cited:
        key = (one.number, one.source, one.page, one.page_end, one.heading_path)
        places.setdefault(key, []).append(one)
    return list(places.values())


def _offsets(cited: Iterable[Citation]) -> str:
    """Where in the document's text the cited passages are."""
    known = dict.fromkeys((one.start, one.end) for one in cited if one.start is not None)
    ranges = ", ".join(f"{start}-{end}" for start, end in known)
    return f"characters {ranges}" if ranges else ""


def _numbered() -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid
