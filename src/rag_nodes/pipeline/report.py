"""The report of an ingest: one row per file and per parser, and what became of the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rag_nodes.core.keywords import checks_keywords
from rag_nodes.embedding.report import DocumentsReport, summed
from rag_nodes.pipeline.ledger import utc_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.pipeline.ledger import CollectionRow

_SUPERSEDED = ("name", "parser", "model", "documents", "chunks")
"""Fields of a superseded collection, for programs."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Paths or URLs that were gone from the folders and are gone from the store now, and nodes."""

    documents: tuple[str, ...]
    nodes: int


@checks_keywords
@dataclass(frozen=True, slots=True)
class IngestReport(DocumentsReport):
    """Everything one ingest run did.

    It `started` at that time (UTC, as ISO 8601) with that `release` of rag_nodes.

    `files` has a row per file, in the order they were read; of more than 10,000 documents that
    ended well the others are `omitted`. `columns` are in the order the parsers were given.
    `superseded` are collections whose place new ones took, as the parser's options or the model
    changed; they stay until they are dropped. `pruned` is None where that was not asked for, or put
    off since something was not stored whole, or since `missing_paths` are not there or have no
    document any more, which an unmounted disk looks like; else `gone` counts documents that are
    stored and of which no file is left, or only one that is excluded. `unhashable` names the
    splitters, models and transformations of which changes cannot be detected: every ingest
    processes their documents again.

    `skipped` counts the files of folders that no reader takes, by suffix, most frequent first, and
    `skipped_files` has the paths of the first 1,000; `excluded` counts files and folders that match
    a pattern of `exclude`. `blank_pages` names the pages without text of files that were read, such
    as "report.pdf, page 7": nothing is stored of them.

    `other_engine` counts the PDF files that were read again because another engine had read them.
    `removed_keys` are keys of your own that stored documents had and this run gave them no more;
    `without_keys` counts these documents.

    Of a `dry_run` nothing was done: `due` counts by parser the documents of which something would
    be stored, `estimated` are parsers whose embedding model would decide where to split, and words
    were compared in its place.
    """

    corpus: str = "default"
    started: str = ""
    release: str = ""
    superseded: tuple[CollectionRow, ...] = ()
    pruned: Pruned | None = None
    gone: int = 0
    dry_run: bool = False
    due: Mapping[str, int] = field(default_factory=dict)
    estimated: tuple[str, ...] = ()
    omitted: int = 0
    unhashable: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    skipped_files: tuple[str, ...] = ()
    excluded: int = 0
    other_engine: int = 0
    removed_keys: tuple[str, ...] = ()
    without_keys: int = 0
    missing_paths: tuple[str, ...] = ()

    @property
    def documents(self) -> int:
        """Number of documents, with those that have no row."""
        return len(self.files) + self.omitted

    @property
    def missing_in_words(self) -> str:
        """Sentence about the missing paths, for which nothing was pruned."""
        are = "is" if len(self.missing_paths) == 1 else "are"
        done = "would be" if self.dry_run else "was"
        return (
            f"Nothing {done} removed: {', '.join(self.missing_paths)} {are} missing or empty; an "
            "unmounted disk would look the same"
        )

    @property
    def embedding_cache_hit_rate(self) -> float | None:
        """Share of the tokens of all chunks that needed no embedding; None without any."""
        tokens = sum(outcome.tokens for outcome in self.columns)
        return self.saved_tokens / tokens if tokens else None

    @property
    def saved_tokens(self) -> int:
        """Tokens that needed no embedding, for all parsers together."""
        return sum(outcome.saved_tokens for outcome in self.columns)

    @property
    def saved_cost(self) -> float | None:
        """US dollars that they would have cost; None when the price is unknown."""
        return summed(outcome.saved_cost for outcome in self.columns)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        facts = asdict(self).items()
        sums = (
            "documents",
            "embedding_tokens",
            "embedding_cost",
            "embedding_cache_hit_rate",
            "saved_tokens",
            "saved_cost",
        )
        return {
            **{key: list(value) if isinstance(value, tuple) else value for key, value in facts},
            "columns": [column.as_dict() for column in self.columns],
            "superseded": [
                {name: getattr(entry, name) for name in _SUPERSEDED}
                | {"last_used": utc_time(entry.last_used)}
                for entry in self.superseded
            ],
            **{name: getattr(self, name) for name in sums},
            "failed": len(self.failed),
            "incomplete": sum(file.status == "incomplete" for file in self.files),
        }
