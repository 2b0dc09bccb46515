"""Progress, and one row per file and per parser: the report of documents that were embedded."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.core.metadata import FILE_PATH, READ_WARNINGS, SOURCE, TOTAL_PAGES, page_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llama_index.core.schema import Document

Stage = Literal["read", "parse", "embed", "store"]
"""The stages of a run, in the order a document passes them."""
STAGES: tuple[Stage, ...] = ("parse", "embed", "store")
"""The stages of a parser, whose time is taken."""
DOING = {"parse": "splitting", "embed": "embedding", "store": "storing"}
"""Words for the stages of a parser, for people."""
FileStatus = Literal["read", "partial", "incomplete", "failed", "unchanged"]
"""Outcome of a file; "partial" means read, but with parts the reader could not take over, and
"incomplete" read, but not stored whole by every parser."""
ColumnStatus = Literal["stored", "unchanged", "incomplete"]
"""Outcome of a file with one parser: stored by this run, stored before, or not stored whole."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a running ingest, for progress bars.

    `name` is the file ("read") or the parser (all other stages); `done` counts files read, or
    chunks that passed the stage, of `total` as far as known. A server has embedded `tokens` for the
    parser so far, for `cost` US dollars, None when the price is unknown. `seconds_left` is an
    estimate for all files ("read"); `share` of the file that is being read was read so far, always
    0 in an ingest.
    """

    stage: Stage
    name: str
    done: int
    total: int | None = None
    tokens: int = 0
    cost: float | None = 0.0
    seconds_left: float | None = None
    share: float = 0.0


class StepCounts:
    """Running counts of one parser, from which its progress is made.

    Args:
        name: of the parser.
        cost: US dollars for a number of embedded tokens; None if the price is unknown.
    """

    def __init__(self, name: str, cost: Callable[[int], float | None]) -> None:
        self._name, self._cost = name, cost
        self._chunks = dict.fromkeys(STAGES, 0)
        self._tokens = 0

    def step(self, stage: Stage, chunks: int, tokens: int) -> Progress:
        """Add chunks that passed a stage, and tokens embedded for them."""
        self._chunks[stage] += chunks
        self._tokens += tokens
        done, total = self._chunks[stage], None
        if stage != "parse":
            before = STAGES[STAGES.index(stage) - 1]
            total = max(done, self._chunks[before])
        return Progress(stage, self._name, done, total, self._tokens, self._cost(self._tokens))


class Counts(NamedTuple):
    """Sizes of the chunks of a document: number, parents above them, tokens of all and of one.

    The location of `not_located` chunks in the document is not known.
    """

    chunks: int = 0
    parents: int = 0
    tokens: int = 0
    largest: int = 0
    not_located: int = 0


@dataclass(frozen=True, slots=True)
class FileColumn:
    """Chunks of one file in one parser's collection.

    `chunks` were made of it, parents not counted, and `stored` of them are stored now. `superseded`
    chunks were stored of it before: they are deleted when all new ones are stored.
    `error` says why it is incomplete, `choice` what a parser that decides per document chose for it
    and why, where it was split.
    """

    status: ColumnStatus
    chunks: int
    stored: int
    superseded: int = 0
    error: str | None = None
    choice: str | None = None

    @property
    def lack(self) -> str | None:
        """In words what the collection lacks of the file; why is in `error`. None where nothing."""
        if self.status != "incomplete":
            return None
        if self.stored and self.stored == self.chunks:
            if self.superseded:
                return f"stored, but {self.superseded} previous chunks could not be deleted"
            return "stored without the summaries of some chunks"
        lack = f"{self.stored} of {self.chunks} chunks stored" if self.stored else "nothing stored"
        return f"{lack}, the {self.superseded} previous ones are kept" if self.superseded else lack


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """Outcome of one file.

    `path` is as its reader names it, or the document's source; `pages` None for formats without and
    for failed files; `error` why it failed, or what a partial read left out; `seconds` those of
    reading. `missing_extra` is the extra of rag-nodes that would read it, where that is all it
    lacks; `columns` what is stored of it, by parser. `name` is what to call it: file name, or title
    and URL of a web page; `source` where its text came from, such as that URL.
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


class DocumentFacts(NamedTuple):
    """Facts of a document that was read, for its row in a report.

    `source` is where its text came from, path or URL; `pages` None for formats without; `warnings`
    what the reader could not take over.
    """

    id: str
    name: str
    source: str | None
    pages: int | None
    characters: int
    warnings: str | None = None

    @classmethod
    def of(cls, document: Document) -> DocumentFacts:
        """Return the facts of a document."""
        facts = document.metadata
        return cls(
            document.id_,
            page_name(facts),
            facts.get(SOURCE) or facts.get(FILE_PATH),
            facts.get(TOTAL_PAGES),
            len(document.text),
            "; ".join(facts.get(READ_WARNINGS) or ()) or None,
        )

    def outcome(
        self, path: str, columns: dict[str, FileColumn], seconds: float = 0.0
    ) -> FileOutcome:
        """Return the row of the document, read in so many seconds."""
        statuses = {column.status for column in columns.values()}
        status: FileStatus = "partial" if self.warnings else "read"
        if "incomplete" in statuses:
            status = "incomplete"
        elif statuses == {"unchanged"}:
            status = "unchanged"
        facts = self.pages, self.characters, self.warnings, seconds, self.id
        return FileOutcome(path, status, *facts, None, columns, self.name, self.source)


@dataclass(slots=True)
class ParserOutcome:
    """Statistics of one parser over all documents: one column of a comparison.

    `chunks` and their `tokens`, in the parser's encoding, are of all documents of the run, whether
    `written` by it or `unchanged`; `max_tokens` is the largest. `parents` are above them, read in
    their place and neither embedded nor ranked. `not_located` chunks of a foreign splitter do not
    stand in their document for certain: they are found and read, and cited without offsets, pages
    and headings. `seconds` are by the clock, by stage: "parse", "embed", "store". The model was
    given `embedding_tokens`, counted here, 0 where it runs offline; `saved_tokens` needed no
    embedding, as they or their vectors were stored. Costs are US dollars by the price table, None
    when the price is unknown.
    """

    parser: str
    collection: str
    chunks: int = 0
    tokens: int = 0
    max_tokens: int = 0
    written: int = 0
    unchanged: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    parents: int = 0
    embedding_tokens: int = 0
    embedding_cost: float | None = 0.0
    not_located: int = 0
    saved_tokens: int = 0
    saved_cost: float | None = 0.0

    @property
    def mean_tokens(self) -> float:
        """Tokens of a chunk on average; 0 without chunks."""
        return self.tokens / self.chunks if self.chunks else 0.0

    def add(self, counts: Counts) -> None:
        """Add the chunks of a document."""
        self.chunks += counts.chunks
        self.parents += counts.parents
        self.tokens += counts.tokens
        self.max_tokens = max(self.max_tokens, counts.largest)
        self.not_located += counts.not_located

    def conclude(self, errors: int, cost: Callable[[int], float | None]) -> None:
        """Price the tokens, and count the errors beside the first; once, at the end.

        Args:
            errors: number of errors, of which `error` is the first.
            cost: US dollars for a number of tokens; None if the price is unknown.
        """
        self.embedding_cost = cost(self.embedding_tokens)
        self.saved_cost = cost(self.saved_tokens)
        if self.error and errors > 1:
            self.error += f" (and {errors - 1} more, see the log)"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with the mean."""
        return {**asdict(self), "mean_tokens": self.mean_tokens}


@dataclass(frozen=True, slots=True)
class DocumentsReport:
    """One row per file and one per parser: how documents were split, embedded and stored.

    `files` are in the order they were read, `columns` in the order the parsers were given, `models`
    says which ran. `blank_pages` names the pages without text, such as "report.pdf, page 7":
    nothing of them can be found.
    """

    files: tuple[FileOutcome, ...]
    columns: tuple[ParserOutcome, ...]
    seconds: float
    models: str
    blank_pages: tuple[str, ...] = ()

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
        return summed(outcome.embedding_cost for outcome in self.columns)

    @property
    def pages(self) -> int:
        """Pages of all documents together; formats without pages count none."""
        return sum(outcome.pages or 0 for outcome in self.files)


def summed(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs; None when one of them is unknown."""
    amounts = list(costs)
    return None if None in amounts else sum(cost or 0.0 for cost in amounts)


@dataclass(slots=True, eq=False)
class SplitDocument:
    """A document as one parser split it.

    Attributes:
        label: name of the document, for people.
        saved: tokens of chunks that had their vectors already.
        choice: strategy that a parser chose for this document, and the reason.
        error: first reason why a chunk cannot be found.
    """

    label: str
    saved: int = field(default=0, kw_only=True)
    choice: str | None = field(default=None, kw_only=True)
    error: str | None = field(default=None, kw_only=True)

    def fail(self, error: str) -> None:
        """Keep the reason why a chunk cannot be found, unless there is an earlier one."""
        self.error = self.error or error


@dataclass(slots=True, eq=False)
class ColumnLog:
    """Record of one parser's work.

    Attributes:
        errors: all errors, in order.
        stopped: reason why the parser gave up, since every further document would fail alike.
        seconds: by the clock, by stage.
    """

    errors: list[str] = field(default_factory=list)
    stopped: str | None = None
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time of the block to a stage."""
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] += time.perf_counter() - started
