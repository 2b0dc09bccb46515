"""Conclusions of an evaluation, as plain data: comparisons of rows and the choice of a setting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from rag_nodes.evaluation.leads import Interval

Grade = Literal["documents like these", "these documents", "likely", "not shown", "drafts", "alone"]
"""Grade of a choice. "documents like these" and "these documents" are sure: one setting may be best
there, or those that may be differ by no more than three points. "likely": best by keywords of
passages, where there is no question. "not shown": several settings may be best. "drafts": nobody
has accepted a question. "alone": there is no choice."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two rows by name, compared question by question; the better one on average is left.

    Attributes:
        role: whether both have their "own" options or are "matched".
        these: left minus right, of the main measure, in these documents.
        like_these: the same in documents like these; null where nothing can be said of others.
        more_questions: about how many further questions would show the lead, or one of 3 points
            where it is smaller, in 80 of 100 tries; 0 where it is shown.
        more_documents: the same of documents like these; null where `like_these` is.
        words: the comparison in a sentence.
    """

    left: str
    right: str
    role: str
    these: Interval
    like_these: Interval | None
    more_questions: int
    more_documents: int | None
    words: str

    @property
    def shows_a_gap(self) -> bool:
        """True if the difference in these documents is more than chance makes."""
        return self.these.shows_a_gap


@dataclass(frozen=True, slots=True)
class SizeShare:
    """Share of chunk size in the gap between two columns, of which the better one is left.

    `size` is the gap at their `own` options minus the gap at an `equal` mean size.
    """

    left: str
    right: str
    own: Interval
    equal: Interval
    size: Interval
    words: str


@dataclass(frozen=True, slots=True)
class ReportDecision:
    """Choice of a setting.

    Attributes:
        take: name of the row; None where none of them is told from what stands.
        tokens: mean size of its chunks; None where that is not known.
        grade: how sure the choice is.
        words: the sentence.
        cost: what it takes to have it in a store; "" where that is not known.
        more_questions: about how many further questions would settle the choice, in 80 of 100
            tries; 0 if it is settled.
        preset: what is taken, or stands, as it is typed after `--parser`; "" if it cannot be
            typed.
        parser: the same as data for `load_parser`, without its model; empty for a collection and
            for a splitter of another package.
        query: options of `QueryOptions` with which it was measured, where they differ from the
            defaults.
        search_ms: median time of one of its searches in this run, in milliseconds; in no JSON.
        certainty: the grade in a sentence; "" in reports of earlier versions.
    """

    take: str | None
    tokens: int | None
    grade: Grade
    words: str
    cost: str = ""
    more_questions: int = 0
    preset: str = ""
    parser: dict[str, JsonValue] = field(default_factory=dict)
    query: dict[str, JsonValue] = field(default_factory=dict)
    search_ms: float | None = None
    certainty: str = ""

    @property
    def costs(self) -> str:
        """Space and time of what is taken, in sentences; "" if they are not known."""
        took = f"A search took {self.search_ms:.1f} ms here." if self.search_ms else ""
        return " ".join(filter(None, (self.cost, took)))

    @property
    def said(self) -> tuple[str, ...]:
        """The choice in sentences, the grade first."""
        return tuple(filter(None, (self.certainty, self.words, self.costs)))
