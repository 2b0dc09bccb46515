"""What REST and MCP give back, as typed data without paths of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from rag_nodes import metadata as keys
from rag_nodes.server.failures import without_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.compare import Column, ComparisonReport
    from rag_nodes.query import Answer, Citation, Hit


class Problem(BaseModel):
    """Why a request was refused or failed."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"error": "no document yet", "remedy": "upload one first"}]}
    )
    error: str = Field(description="What is wrong.")
    remedy: str = Field(description="What helps.")


class UploadedFile(BaseModel):
    """What became of a file, or of one page of a crawl."""

    name: str = Field(description="Its name, made harmless.")
    status: str = Field(description="read or failed.", examples=["read"])
    document: str | None = Field(
        default=None, description="Id of the document; null where it failed."
    )
    pages: int | None = Field(default=None, description="Pages; null for formats without any.")
    characters: int = Field(default=0, description="Characters of its text.")
    warnings: list[str] = Field(default=[], description="What could not be taken over.")
    error: str | None = Field(default=None, description="Why it failed.")
    remedy: str | None = Field(default=None, description="What helps.")


class Uploaded(BaseModel):
    """The session and the files that were sent to it."""

    session: str = Field(description="Send it as X-Session with every further request.")
    files: list[UploadedFile] = Field(description="In the order they were sent.")


class _OfLibrary(BaseModel):
    """What an object of the library says by the same names; nothing else of it gets out."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def _of(cls, source: object, **others: Any) -> Self:
        """The fields of the object, and those that it has not or under another name."""
        same = cls.model_fields.keys() - others.keys()
        return cls(**{name: getattr(source, name) for name in same}, **others)


class ReadReply(BaseModel):
    """What is read in the place of a chunk: its window of sentences, or its parent."""

    text: str = Field(description="Exactly as in the document.")
    start: int | None = Field(description="Offset of its first character.")
    end: int | None = Field(description="Offset after its last character.")


class Chunk(BaseModel):
    """A piece of a document, cut out of it character by character."""

    index: int = Field(description="Position in the document, or rank in the answer, from 0.")
    id: str = Field(description="The same for the same document, parser and options.")
    text: str = Field(
        description="Exactly as in the document; of a splitter of another package as it gave it, "
        "where start and end are null."
    )
    file_name: str = Field(default="", description="Of its document.")
    start: int | None = Field(default=None, description="Offset of its first character.")
    end: int | None = Field(default=None, description="Offset after its last character.")
    page_start: int | None = Field(default=None, description="First page, from 1.")
    page_end: int | None = Field(default=None, description="Last page.")
    heading_path: list[str] = Field(default=[], description="Headings above it, outermost first.")
    tokens: int | None = Field(default=None, description="Its size.")
    oversized: bool = Field(default=False, description="One block larger than the limit.")
    score: float | None = Field(default=None, description="From 0 to 1, in rank order.")
    similarity: float | None = Field(default=None, description="Cosine of question and chunk.")
    distance: float | None = Field(default=None, description="One minus the similarity.")
    read: ReadReply | None = Field(
        default=None, description="What is read in its place; null where it is read itself."
    )

    @classmethod
    def of(cls, node: BaseNode, index: int, **scores: Any) -> Chunk:
        """A node as plain data."""
        metadata = node.metadata
        return cls(
            index=index,
            id=node.node_id,
            text=node.get_content(),
            file_name=keys.display_name(metadata),
            start=getattr(node, "start_char_idx", None),
            end=getattr(node, "end_char_idx", None),
            page_start=metadata.get(keys.PAGE_START),
            page_end=metadata.get(keys.PAGE_END),
            heading_path=list(metadata.get(keys.HEADING_PATH) or ()),
            tokens=metadata.get(keys.TOKEN_COUNT),
            oversized=bool(metadata.get(keys.OVERSIZED)),
            **scores,
        )

    @classmethod
    def found(cls, hit: Hit, index: int) -> Chunk:
        """A hit as plain data."""
        chunk = cls.of(
            hit.node, index, score=hit.score, similarity=hit.similarity, distance=hit.distance
        )
        node = hit.surroundings
        if node is not None:
            chunk.read = ReadReply(text=node.text, start=node.start_char_idx, end=node.end_char_idx)
        return chunk


class Chunks(BaseModel):
    """Some chunks of a document."""

    total: int = Field(description="Chunks of the whole document.")
    recovery: float | None = Field(
        default=None,
        description="Share of them whose place in the document is known for certain; below 1 only "
        "for splitters of other packages, null where there are no chunks.",
    )
    chunks: list[Chunk] = Field(description="From `first` on, at most `limit`.")

    @classmethod
    def of(cls, nodes: Sequence[BaseNode], first: int, limit: int) -> Self:
        """Those of all nodes of a document that were asked for."""
        placed = sum(getattr(node, "start_char_idx", None) is not None for node in nodes)
        shown = enumerate(nodes[first : first + limit], first)
        return cls(
            total=len(nodes),
            recovery=placed / len(nodes) if nodes else None,
            chunks=[Chunk.of(node, index) for index, node in shown],
        )


class CitationReply(_OfLibrary):
    """A passage that the answer names."""

    number: int = Field(description="The n of [Source n] in the answer.")
    chunk: str = Field(description="Id of the cited chunk.")
    file_name: str = Field(description="Of its document.")
    page: int | None = Field(description="Page of the passage, from 1.")
    page_end: int | None = Field(description="Its last page.")
    heading_path: list[str] = Field(description="Headings above it, outermost first.")
    start: int | None = Field(description="Offset of its first character.")
    end: int | None = Field(description="Offset after its last character.")
    quote: str = Field(description="The passage, exactly as in the document.")

    @classmethod
    def of(cls, citation: Citation) -> Self:
        """A citation without the path of its document."""
        return cls._of(citation, chunk=citation.node_id)


class MarkReply(_OfLibrary):
    """Where an answer names sources."""

    start: int = Field(description="Offset of the opening bracket in the text.")
    end: int = Field(description="Offset after the closing one.")
    numbers: list[int] = Field(description="Numbers of the sources.")


class AnswerReply(_OfLibrary):
    """An answer with its evidence."""

    question: str = Field(description="As asked.")
    text: str = Field(description="The answer; sources appear as [Source n], see marks.")
    marks: list[MarkReply] = Field(
        description="Where the text names sources; other brackets are the documents' own."
    )
    kind: str = Field(description="generated, extract, retrieval or nothing.")
    citations: list[CitationReply] = Field(description="The named sources, in order.")
    unknown_sources: list[int] = Field(description="Numbers it names that do not exist.")
    chunks: list[Chunk] = Field(description="Everything found, best first.")
    context_tokens: int = Field(
        description="Tokens of the documents' text that was read, at most the budget."
    )
    left_out: int = Field(description="Chunks asked for that did not fit the budget.")
    cut: bool = Field(description="The last chunk that was read is cut at the budget.")
    widened: bool = Field(description="The question asks for steps, so more was read.")
    widening: str = Field(description="How much more, and why; empty for no more.")
    tokens_in: int = Field(description="Tokens of the prompt.")
    tokens_out: int = Field(description="Tokens of the answer.")
    tokens_estimated: bool = Field(description="Both were counted here.")
    cost: float | None = Field(description="US dollars; null when the price is unknown.")
    cached: bool = Field(description="The question was embedded before.")
    embedding_tokens: int = Field(
        description="Tokens of the question that a model embedded; once for all columns."
    )
    embedding_cost: float | None = Field(description="US dollars for them; null when unknown.")
    embedding_model: str = Field(description="What embedded the question.")
    answer_model: str = Field(description="What wrote the answer.")
    seconds: dict[str, float] = Field(description="Per stage.")
    incomplete: str | None = Field(
        default=None,
        description="Why some of the documents could not be searched; null where all were, and in "
        "events, of which the last one says it.",
    )

    @classmethod
    def of(cls, answer: Answer, incomplete: str | None = None) -> Self:
        """An answer as plain data, and why it is of a part of the documents where it is."""
        return cls._of(
            answer,
            incomplete=without_paths(incomplete) if incomplete else None,
            citations=[CitationReply.of(one) for one in answer.citations],
            chunks=[Chunk.found(hit, index) for index, hit in enumerate(answer.hits)],
        )


class ColumnReply(_OfLibrary):
    """What one parser contributes."""

    parser: str = Field(description="Its name.")
    title: str = Field(description="For display.")
    options: dict[str, Any] = Field(description="Its configuration.")
    chunks: int = Field(description="Chunks it made of all documents.")
    recovery: float | None = Field(
        default=None,
        description="Share of them whose place in the document is known for certain; below 1 only "
        "for splitters of other packages, null where there are no chunks.",
    )
    mean_tokens: float = Field(description="Tokens of a chunk on average.")
    size_remark: str = Field(
        default="",
        description="Why that is not the equal_size of the request; empty where it is.",
    )
    max_tokens: int = Field(description="Tokens of the largest chunk.")
    embedding_tokens: int = Field(description="Tokens embedded to store its chunks.")
    embedding_cost: float | None = Field(description="US dollars for them; null when unknown.")
    answer: AnswerReply | None = Field(description="Null when it failed.")
    error: str | None = Field(description="Why it failed.")
    seconds: dict[str, float] = Field(description="Per stage.")

    @classmethod
    def of(cls, column: Column) -> Self:
        """A column as plain data, with the statistics of its parser."""
        figures = (
            "chunks",
            "recovery",
            "mean_tokens",
            "size_remark",
            "max_tokens",
            "embedding_tokens",
            "embedding_cost",
        )
        return cls._of(
            column,
            parser=column.name,
            options=column.parser,
            answer=column.answer and AnswerReply.of(column.answer, column.statistics.error),
            error=without_paths(column.error) if column.error else None,
            **{name: getattr(column.statistics, name) for name in figures},
        )


class Compared(_OfLibrary):
    """One question, answered by every parser."""

    question: str = Field(description="As asked.")
    models: str = Field(description="What ran, and where.")
    equal_size: int | None = Field(
        default=None, description="Tokens of a chunk on average that were asked for."
    )
    columns: list[ColumnReply] = Field(description="In the order of the request.")
    seconds: float = Field(description="Wall-clock time.")

    @classmethod
    def of(cls, report: ComparisonReport) -> Self:
        """A report as plain data."""
        return cls._of(report, columns=[ColumnReply.of(column) for column in report.columns])


class DocumentReply(BaseModel):
    """One document of a session."""

    document: str = Field(description="Its id.")
    name: str = Field(description="Its file name.")
    pages: int | None = Field(description="Pages; null for formats without any.")
    characters: int = Field(description="Characters of its text.")


class ParserReply(BaseModel):
    """One way to cut documents."""

    name: str = Field(description="What requests call it.")
    title: str = Field(description="For display.")
    summary: str = Field(description="How it cuts.")


class Status(BaseModel):
    """What this server is, and what your session holds."""

    version: str = Field(description="Of rag_nodes.")
    models: str = Field(description="Which models run where a request names none.")
    parsers: list[ParserReply] = Field(description="What requests may name.")
    documents: list[DocumentReply] | None = Field(
        description="Of your session; null without X-Session."
    )


class Cleared(BaseModel):
    """The session is over."""

    cleared: bool = Field(default=True, description="Its documents and chunks are gone.")
