"""Replies made by hand: a column whose every text can be chosen, and a report of some."""

from llama_index.core.schema import TextNode

from rag_nodes.core.metadata import FILE_NAME, HEADING_PATH, PAGE_END, PAGE_START, TOKEN_COUNT
from rag_nodes.embedding import ParserOutcome
from rag_nodes.evaluation.compare import Column, ComparisonReport
from rag_nodes.query import Answer, Citation, Hit, Source
from rag_nodes.query.citations import marks_of

_PARSER = {
    "class": "FixedSizeNodeParser",
    "chunk_size": 1000,
    "chunk_overlap": 200,
    "unit": "characters",
}


def make_report(*columns: Column) -> ComparisonReport:
    """A report of these columns, or of one."""
    return ComparisonReport("Why?", "offline", (), columns or (make_column(),), 0.1)


def make_column(  # noqa: PLR0913 - every text of a column can be set
    *,
    name: str = "fixed",
    title: str = "Fixed size",
    text: str = "It rained. [Source 1]",
    chunk: str = "The roof leaks. It rained. Nobody came.",
    quote: str = "It rained.",
    file_name: str = "diary.pdf",
    headings: tuple[str, ...] = ("May", "Sunday"),
    page: int | None = 3,
    similarity: float | None = 0.4,
    kind: str = "extract",
    unknown: tuple[int, ...] = (),
    packed: bool = True,
    error: str | None = None,
    warning: str | None = None,
    embedding_model: str = "lexical-1024",
    answer_model: str = "extractive",
) -> Column:
    """A column with one chunk, which its answer cites."""
    hit = Hit(_node(chunk, file_name, headings, page), 1, 1.0, similarity, 2.5)
    start = chunk.find(quote)
    citation = Citation(
        number=1,
        node_id=hit.node.node_id,
        document_id="d",
        file_name=file_name,
        source=f"/srv/uploads/{file_name}",
        page=page,
        page_end=page,
        heading_path=headings,
        start=100 + start,
        end=100 + start + len(quote),
        quote=quote,
    )
    answer = Answer(
        question="Why?",
        text=text,
        kind=kind,
        citations=(citation,) if kind != "nothing" else (),
        unknown_sources=unknown,
        hits=(hit,),
        sources=(Source(1, (hit,), chunk, "Source 1", 9),) if packed else (),
        left_out=0 if packed else 1,
        context_tokens=1400,
        seconds={"answer": 0.1},
        embedding_model=embedding_model,
        answer_model=answer_model,
        marks=marks_of(text),
    )
    return Column(
        name=name,
        title=title,
        parser=_PARSER,
        statistics=ParserOutcome(name, "c", chunks=12, tokens=2400, error=warning),
        answer=None if error else answer,
        error=error,
        seconds={"total": 0.25},
    )


def _node(text: str, file_name: str, headings: tuple[str, ...], page: int | None) -> TextNode:
    return TextNode(
        id_="6f1f9a52-3f0a-5d8c-9f58-8f6a3c6f0a11",
        text=text,
        start_char_idx=100,
        end_char_idx=100 + len(text),
        metadata={
            FILE_NAME: file_name,
            HEADING_PATH: list(headings),
            PAGE_START: page,
            PAGE_END: page,
            TOKEN_COUNT: 9,
        },
    )
