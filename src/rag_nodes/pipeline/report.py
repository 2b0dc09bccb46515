"""What an ingest run did: progress while it runs, one row per file and per parser at the end."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.ledger import utc_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.ledger import CollectionRow

Stage = Literal["read", "size", "parse", "embed", "store"]
"""The stages of a run, in the order a document passes them; "size" only where parsers are given the
size at which their chunks have a certain mean, see `Comparison`."""
DOING = {"parse": "cutting", "embed": "embedding", "store": "storing"}
"""What a parser does at its stages, for people."""

FileStatus = Literal["read", "partial", "incomplete", "failed", "unchanged"]
"""How a file ended; "partial" means read, but with parts the reader could not take over, and
"incomplete" read, but not stored whole by every parser."""

ColumnStatus = Literal["stored", "unchanged", "incomplete"]
"""How a file ended with one parser: stored by this run, stored before, or not stored whole."""


_FORMER = ("name", "parser", "model", "documents", "chunks")
"""What programs are told of a former collection."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a running ingest, for progress bars.

    Attributes:
        stage: what was just done.
        name: the file ("read") or the parser (all other stages).
        done: files read, or chunks that passed the stage so far.
        total: what `done` will reach, as far as known; None while it is not.
        tokens: that a server has embedded for the parser so far.
        cost: US dollars for them; None when the price is unknown.
        seconds_left: estimate for all files ("read"); None while there is none.
    """

    stage: Stage
    name: str
    done: int
    total: int | None = None
    tokens: int = 0
    cost: float | None = 0.0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """What one parser's collection holds of one file.

    Attributes:
        status: "stored", "unchanged" or "incomplete".
        chunks: chunks the parser made of it, parents not counted; 0 where it did not come to that.
        stored: how many of them are stored now.
        former: chunks of the file's former version that are still there, also where it was not
            cut. They are deleted when all new ones are stored.
        error: why it is incomplete; None otherwise.
        choice: what a parser that decides per document chose for it and why, where it was cut.
    """

    status: ColumnStatus
    chunks: int
    stored: int
    former: int = 0
    error: str | None = None
    choice: str | None = None

    @property
    def lack(self) -> str | None:
        """In words what the collection lacks of the file; why is in `error`. None where nothing."""
        if self.status != "incomplete":
            return None
        if self.stored and self.stored == self.chunks:
            if self.former:
                return f"stored, but {self.former} former chunks could not be deleted"
            return "stored without all that was to be written about its chunks"
        lack = f"{self.stored} of {self.chunks} chunks stored" if self.stored else "nothing stored"
        return f"{lack}, the {self.former} former ones are kept" if self.former else lack


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """How one file ended.

    Attributes:
        path: the file as its reader names it, or the document's source.
        status: "read", "partial", "incomplete" (a parser's collection lacks chunks of it), "failed"
            or "unchanged" (every parser had it stored already).
        pages: pages of the document; None for formats without pages and for failed files.
        characters: characters of its text; 0 for failed files.
        error: why it failed, or what a partial read left out; None otherwise.
        seconds: wall-clock time of reading.
        document_id: id of the document it became; None for failed files.
        missing_extra: the extra of rag-nodes that would read it, where that is all it lacks.
        columns: what is stored of it, by parser; empty for files that could not be read.
        name: what to call it: file name, or title and URL of a web page; "" for failed files.
        source: where its text came from, such as the URL of a page of a crawl; None if unknown.
    """

    path: str
    status: FileStatus
    pages: int | None
    characters: int
    error: str | None
    seconds: float
    document_id: str | None = None
    missing_extra: str | None = None
    columns: dict[str, FileColumn] = field(default_factory=dict)
    name: str = ""
    source: str | None = None


@dataclass(slots=True)
class ParserOutcome:
    """What one parser made of the documents: one column of a comparison.

    Attributes:
        parser: name the caller gave the parser.
        collection: where its chunks are stored.
        chunks: chunks of all documents of this run, whether written now or stored before. Of a
            parser that makes parents and children these are the children, which are found.
        tokens: their tokens together, in the parser's encoding.
        max_tokens: tokens of the largest chunk.
        written: chunks embedded and stored by this run.
        unchanged: chunks that were stored already and were left alone.
        deleted: stale chunks and parents of changed documents that were removed.
        seconds: wall-clock time per stage: "parse", "embed", "store".
        error: why the parser stopped, or what it had to leave out; None when all went well.
        parents: nodes above the chunks, which are read in their place and neither embedded nor
            ranked.
        embedding_tokens: tokens the embedding model was given in this run, counted here, also by a
            parser that compares sentences; 0 for one that runs offline.
        embedding_cost: US dollars for them by the price table; None when the price is unknown.
        unplaced: chunks of a foreign splitter that do not stand in their document for certain: they
            are found and read, and cited without offsets, pages and headings.
        spared_tokens: tokens of chunks that needed no embedding, as they or their vectors were
            stored, in the parser's encoding.
        spared_cost: US dollars that embedding them would have cost by the price table; None when
            the price is unknown.
        size_remark: why the mean is not the one that was asked for; "" where it is, or where none
            was.
    """

    parser: str
    collection: str
    chunks: int = 0
    tokens: int = 0
    max_tokens: int = 0
    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    parents: int = 0
    embedding_tokens: int = 0
    embedding_cost: float | None = 0.0
    unplaced: int = 0
    spared_tokens: int = 0
    spared_cost: float | None = 0.0
    size_remark: str = ""

    @property
    def mean_tokens(self) -> float:
        """Tokens of a chunk on average; 0 without chunks."""
        return self.tokens / self.chunks if self.chunks else 0.0

    @property
    def recovery(self) -> float | None:
        """Share of the chunks whose place in their document is known; None without chunks."""
        return (self.chunks - self.unplaced) / self.chunks if self.chunks else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with the mean."""
        return {**asdict(self), "mean_tokens": self.mean_tokens}


@dataclass(frozen=True, slots=True)
class WriterOutcome:
    """What an LLM wrote about chunks, or would write in a dry run.

    Attributes:
        step: class name of the transformation that asked it.
        model: its name, behind another server than OpenAI's with the address.
        requests: that were answered; what was written before is not asked for again.
        tokens_in: tokens it read.
        tokens_out: tokens it wrote; in a dry run, those of answers as long as they may be.
        cost: US dollars for them by the price table; None when the price is unknown.
    """

    step: str
    model: str
    requests: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was gone from the folders and is gone from the store now.

    Attributes:
        documents: their paths, or the URLs of pages.
        nodes: chunks and parents that were deleted, in all collections.
    """

    documents: tuple[str, ...]
    nodes: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Everything one ingest run did.

    Attributes:
        files: one row per file, in the order they were read; of very many only some, see `omitted`.
        columns: one row per parser, in the order they were given.
        seconds: wall-clock time of the whole run.
        models: which models ran, as `Models.describe()` says it.
        corpus: the corpus the documents went to.
        former: collections whose place new ones took, as the parser's options or the model changed;
            they stay until they are dropped.
        pruned: what was gone from the files and folders and was removed; None where that was not
            asked for, or put off since something was not stored whole.
        writers: what an LLM wrote about chunks.
        kept_vectors: names of embeddings that nobody asked for, and that were kept up to date as
            the collections have them.
        gone: documents that are stored and of which no file is left, as they were deleted or
            emptied; none where these were removed.
        moved: files that are not there any more, and whose bytes were read from elsewhere now; what
            is stored of them is still found.
        dry_run: nothing of it was done: it says what an ingest would do, and what it would cost.
        due: documents of a dry run of which something would be stored, by parser.
        estimated: parsers of a dry run whose numbers are estimates: their embedding model would
            decide where to cut, and words were compared in its place.
        omitted: documents that ended well and have no row, of more than 10,000.
        untold: of which splitters, models and transformations nobody can tell whether their code
            changed, and why: what they make is made anew by every ingest.
    """

    files: tuple[FileOutcome, ...]
    columns: tuple[ParserOutcome, ...]
    seconds: float
    models: str
    corpus: str = "default"
    former: tuple[CollectionRow, ...] = ()
    pruned: Pruned | None = None
    writers: tuple[WriterOutcome, ...] = ()
    kept_vectors: tuple[str, ...] = ()
    gone: int = 0
    moved: tuple[str, ...] = ()
    dry_run: bool = False
    due: Mapping[str, int] = field(default_factory=dict)
    estimated: tuple[str, ...] = ()
    omitted: int = 0
    untold: tuple[str, ...] = ()

    @property
    def documents(self) -> int:
        """How many there were, with those that have no row."""
        return len(self.files) + self.omitted

    @property
    def failed(self) -> tuple[FileOutcome, ...]:
        """The files that could not be read."""
        return tuple(outcome for outcome in self.files if outcome.status == "failed")

    @property
    def embedding_tokens(self) -> int:
        """Tokens that were embedded for all parsers together."""
        return sum(outcome.embedding_tokens for outcome in self.columns)

    @property
    def embedding_cost(self) -> float | None:
        """US dollars for them; None when the price is unknown."""
        return _sum([outcome.embedding_cost for outcome in self.columns])

    @property
    def hit_rate(self) -> float | None:
        """Share of the tokens of all chunks that needed no embedding; None without any."""
        tokens = sum(outcome.tokens for outcome in self.columns)
        return self.spared_tokens / tokens if tokens else None

    @property
    def spared_tokens(self) -> int:
        """Tokens that needed no embedding, for all parsers together."""
        return sum(outcome.spared_tokens for outcome in self.columns)

    @property
    def spared_cost(self) -> float | None:
        """US dollars that they would have cost; None when the price is unknown."""
        return _sum([outcome.spared_cost for outcome in self.columns])

    @property
    def pages(self) -> int:
        """Pages of all documents together; formats without pages count none."""
        return sum(outcome.pages or 0 for outcome in self.files)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        facts = asdict(self).items()
        return {
            **{key: list(one) if isinstance(one, tuple) else one for key, one in facts},
            "columns": [one.as_dict() for one in self.columns],
            "former": [
                {
                    **{name: getattr(one, name) for name in _FORMER},
                    "last_used": utc_time(one.last_used),
                }
                for one in self.former
            ],
            "embedding_tokens": self.embedding_tokens,
            "embedding_cost": self.embedding_cost,
            "hit_rate": self.hit_rate,
            "spared_tokens": self.spared_tokens,
            "spared_cost": self.spared_cost,
        }


def _sum(costs: Sequence[float | None]) -> float | None:
    return None if None in costs else sum(cost or 0.0 for cost in costs)
