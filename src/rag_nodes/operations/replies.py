"""What strangers get of answers and comparisons: the library's names, and no path of this place."""

from __future__ import annotations

from rag_nodes.operations.base import Reply


class ChunkOrigin(Reply):
    """Where a chunk is from."""

    file_name: str = ""
    """Name of its document."""
    page_start: int | None = None
    """First page, from 1."""
    page_end: int | None = None
    """Last page."""
    heading_path: tuple[str, ...] = ()
    """Headings above it, outermost first."""
    token_count: int | None = None
    """Its size."""


class ReadReply(Reply):
    """What is read in the place of a chunk: its window of sentences, or its parent."""

    text: str
    """Exactly as in the document."""
    start: int | None
    """Offset of its first character."""
    end: int | None
    """Offset after its last character."""


class HitReply(Reply):
    """A chunk that was found."""

    rank: int
    """From 1, the best first."""
    node_id: str
    """The same for the same document, parser and options."""
    text: str
    """Exactly as in the document; of a splitter of another package as it gave it."""
    start: int | None
    """Offset of its first character."""
    end: int | None
    """Offset after its last character."""
    score: float
    """From 0 to 1, in rank order."""
    similarity: float | None
    """Cosine of question and chunk."""
    distance: float | None
    """One minus the similarity."""
    metadata: ChunkOrigin
    """Where it is from."""
    read: ReadReply | None
    """What is read in its place; null where it is read itself."""


class CitationReply(Reply):
    """A passage that the answer names."""

    number: int
    """The n of [Source n] in the answer."""
    node_id: str
    """Of the cited chunk."""
    file_name: str
    """Of its document."""
    page: int | None
    """Page of the passage, from 1."""
    page_end: int | None
    """Its last page."""
    heading_path: list[str]
    """Headings above it, outermost first."""
    start: int | None
    """Offset of its first character."""
    end: int | None
    """Offset after its last character."""
    quote: str
    """The passage, exactly as in the document."""


class MarkReply(Reply):
    """Where an answer names sources."""

    start: int
    """Offset of the opening bracket in the text."""
    end: int
    """Offset after the closing one."""
    numbers: list[int]
    """Numbers of the sources."""


class AnswerReply(Reply):
    """An answer with its evidence."""

    question: str
    """As asked."""
    text: str
    """The answer; sources appear as [Source n], see marks."""
    marks: list[MarkReply]
    """Where the text names sources; other brackets are the documents' own."""
    kind: str
    """generated, extract, retrieval or nothing."""
    citations: list[CitationReply]
    """The named sources, in order."""
    unknown_sources: list[int]
    """Numbers it names that do not exist."""
    hits: list[HitReply]
    """Everything found, best first."""
    context_tokens: int
    """Tokens of the documents' text that was read, at most the budget."""
    left_out: int
    """Chunks asked for that did not fit the budget."""
    cut: bool
    """The last chunk that was read is cut at the budget."""
    mode: str
    """How was searched: sparse (by words), dense (by an embedding) or hybrid; empty where another
    engine answered."""
    widened: bool
    """The question asks for steps, so more was read."""
    widening: str
    """How much more, and why; empty for no more."""
    tokens_in: int
    """Tokens of the prompt."""
    tokens_out: int
    """Tokens of the answer."""
    tokens_estimated: bool
    """Both were counted here."""
    cost: float | None
    """US dollars; null when the price is unknown."""
    cached: bool
    """The question was embedded before."""
    embedding_tokens: int
    """Tokens of the question that a model embedded; once for all columns."""
    embedding_cost: float | None
    """US dollars for them; null when unknown."""
    embedding_model: str
    """What embedded the question."""
    answer_model: str
    """What wrote the answer."""
    seconds: dict[str, float]
    """Per stage."""


class AskedReply(AnswerReply):
    """An answer with its evidence, and what was asked."""

    parser: str
    """How the documents are cut."""
    models: str
    """What ran, and where."""
    incomplete: str | None
    """Why some of the documents could not be searched; null where all were."""


class StatisticsReply(Reply):
    """What a parser made of all documents."""

    chunks: int
    """Chunks."""
    mean_tokens: float
    """Tokens of a chunk on average."""
    max_tokens: int
    """Tokens of the largest chunk."""
    unplaced: int
    """Chunks whose place in the document is not known, of splitters of other packages."""
    size_remark: str
    """Why the mean is not the size that was asked for; empty where it is."""
    embedding_tokens: int
    """Tokens embedded to store them."""
    embedding_cost: float | None
    """US dollars for them; null when unknown."""
    error: str | None
    """Why some of the documents are left out; null where none is."""


class ColumnReply(Reply):
    """What one parser contributes."""

    name: str
    """Its name."""
    title: str
    """For display."""
    statistics: StatisticsReply
    """Of its chunks."""
    answer: AnswerReply | None
    """Null when it failed."""
    error: str | None
    """Why it failed."""
    seconds: dict[str, float]
    """Per stage."""


class ComparedReply(Reply):
    """One question, answered by every parser."""

    question: str
    """As asked."""
    models: str
    """What ran, and where."""
    equal_size: int | None
    """Tokens of a chunk on average that were asked for."""
    columns: list[ColumnReply]
    """In the order of the request."""
    seconds: float
    """Wall-clock time."""
