"""Report of a comparison, as plain data that the command line and the app only render."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rag_nodes.core.keywords import checks_keywords

if TYPE_CHECKING:
    from rag_nodes.embedding import FileOutcome, ParserOutcome
    from rag_nodes.query import Answer

SCHEMA_VERSION = 1
"""Version of `ComparisonReport.as_dict()`; raised when a key changes its meaning."""


@dataclass(frozen=True, slots=True)
class Column:
    """One parser's part of a comparison.

    Attributes:
        name: name the caller gave the parser.
        title: for display.
        parser: its configuration as plain data, with "class" and "fingerprint".
        statistics: its chunks, tokens and times.
        answer: its answer; None when it failed.
        error: why it failed; None when it answered.
        partial: what had arrived of an answer that broke off or was cancelled; "" otherwise.
        seconds: wall-clock time per stage of answering: "embed" (shared by all columns),
            "retrieve", "answer".
    """

    name: str
    title: str
    parser: dict[str, Any]
    statistics: ParserOutcome
    answer: Answer | None
    error: str | None
    seconds: dict[str, float] = field(default_factory=dict)
    partial: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        return {
            "name": self.name,
            "title": self.title,
            "parser": dict(self.parser),
            "statistics": self.statistics.as_dict(),
            "answer": self.answer.as_dict() if self.answer else None,
            "error": self.error,
            "partial": self.partial,
            "seconds": dict(self.seconds),
        }


@checks_keywords
@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """One question, answered by every parser.

    Attributes:
        question: as it was searched for; a follow-up question stands alone here.
        models: which models ran, and where.
        files: the documents of this comparison, if any.
        columns: one per parser, in the order they were given.
        seconds: wall-clock time of answering.
        schema_version: version of `as_dict()`.
    """

    question: str
    models: str
    files: tuple[FileOutcome, ...]
    columns: tuple[Column, ...]
    seconds: float
    schema_version: int = SCHEMA_VERSION

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        return {
            "schema_version": self.schema_version,
            "question": self.question,
            "models": self.models,
            "files": [asdict(outcome) for outcome in self.files],
            "columns": [column.as_dict() for column in self.columns],
            "seconds": self.seconds,
        }
