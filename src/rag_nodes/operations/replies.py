"""What strangers get of results: the library's names, with what it says of each, and no path."""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field, create_model

from rag_nodes.compare import Column, ComparisonReport
from rag_nodes.evaluation.checks import Check
from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.report import SCHEMA, EvaluationReport, ReportDecision, Row
from rag_nodes.evaluation.tables import Cost
from rag_nodes.operations.base import Reply
from rag_nodes.query import Answer, Citation, Hit
from rag_nodes.query.types import Mark


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
    """Exactly as in the document; of a splitter of another package as it gave it."""
    start: int | None
    """Offset of its first character."""
    end: int | None
    """Offset after its last character."""


class HitReply(ReadReply):
    """A chunk that was found."""

    rank: int
    """From 1, the best first."""
    node_id: str
    """The same for the same document, parser and options."""
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


_HIDDEN = {
    Answer: {"sources", "left_out_tokens", "budget"},
    Citation: {"source"},
    Column: {"parser"},
    ComparisonReport: {"corpus", "files", "schema_version"},
    Cost: {"seconds", "search_ms"},
    ReportDecision: {"search_ms"},
}
"""Fields that strangers do not see: paths, corpora, and what a view or one run alone needs."""
_MODELS: dict[Any, Any] = {Hit: HitReply}
"""Replies by what they are of; a dataclass that is not here gets one that has its docstring."""
_USUAL = {
    "answers": "One per column and question that was drawn.",
    "characters": "How many it has.",
    "chunks": "Where it was missed: document, start and end of the chunks that hold it.",
    "column": "Name of the column.",
    "columns": "What was judged of each.",
    "correct": "From 1 to 5; null where it was not judged.",
    "correctness": "Mean grade of the answers, from 1 to 5.",
    "document": "Id of its document.",
    "end": "Offset after its last character.",
    "equal": "The gap where both have the same mean size.",
    "faithful": "1 where all of it is in what was read, else 0; null where it was not judged.",
    "faithfulness": "Share of the answers that are in what was read.",
    "high": "Upper end of the interval.",
    "id": "Unique in the report.",
    "interval": "The mean with its interval; null where nothing could be judged.",
    "judged": "Questions that could be judged.",
    "left": "Name of the better one, on average.",
    "low": "Lower end of the interval.",
    "mean": "What was measured.",
    "name": "Unique in the report.",
    "not_judged": "Questions without an answer, or with a judgement that could not be read.",
    "own": "The gap where each has its own options.",
    "question": "Id of the question.",
    "rank": "Of the first chunk with some of the answer; null where there is none.",
    "read": "Document, start and end of the parts of the answer that were read.",
    "reason": "Why it was missed or left out; null where it was not.",
    "right": "Name of the other one.",
    "scores": "Measures of the question, by name.",
    "size": "What of the gap is one of size: own minus equal.",
    "sizes": 'Such as "100" or "a mean of 200".',
    "start": "Offset of its first character.",
    "text": "Its text, as it stands there.",
    "words": "The same in words, for people.",
}
"""What fields are, by name, where the docstring of their class says nothing of them."""
_SECTION = re.compile(r"^Attributes:\n((?:(?: .*)?\n?)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
_OUTSIDE = {"Answer": Answer, "ParserOutcome": StatisticsReply, "FileOutcome": object}
"""What hints name that their module imports for type checkers alone."""


class _MadeReply(Reply):
    # No class statement to find docstrings in: pydantic would search every frame of the caller.
    model_config = ConfigDict(use_attribute_docstrings=False)


def _model(source: Any, **more: Any) -> type[Reply]:
    """A dataclass or named tuple as a reply, described by its docstring."""
    said, hints = _said_of_fields(source), get_type_hints(source, localns=_OUTSIDE)
    summary = (source.__doc__ or "").partition("\n")[0]
    names = [one.name for one in fields(source)] if is_dataclass(source) else source._fields
    described: dict[str, Any] = {
        name: (_plain(hints[name]), Field(description=_in_json(said.get(name) or _USUAL[name])))
        for name in names
        if name not in _HIDDEN.get(source, ())
    }
    name, summary = f"{source.__name__}Reply", _in_json(summary)
    made: type[Reply] = create_model(
        name, __base__=_MadeReply, __doc__=summary, **(described | more)
    )
    return made


def _in_json(words: str) -> str:
    return re.sub(r"\bNone\b", "null", words[:1].upper() + words[1:])


def _said_of_fields(source: Any) -> dict[str, str]:
    found = _SECTION.search(inspect.cleandoc(source.__doc__ or ""))
    entries = _ENTRY.findall(found[1]) if found else ()
    return {name: " ".join(said.split()) for name, said in entries}


def _plain(hint: Any) -> Any:
    """A type with replies in place of dataclasses."""
    if hint in _MODELS or is_dataclass(hint) or hint is Mark:
        if hint not in _MODELS:
            _MODELS[hint] = _model(hint)
        return _MODELS[hint]
    parts = tuple(_plain(one) for one in get_args(hint))
    if get_origin(hint) is types.UnionType:
        return Union[parts]  # noqa: UP007 -- made at run time
    return get_origin(hint)[parts] if parts else hint


AnswerReply: Any = _model(
    Answer, widened=(bool, Field(description="The question asks for steps, so more was read."))
)
"""An answer with its evidence."""
_MODELS[Answer] = AnswerReply
ComparedReply = _model(ComparisonReport)
"""One question, answered by every parser."""
EvaluationReply = _model(
    EvaluationReport, schema_version=(int, Field(description=f"Of this format; {SCHEMA} now."))
)
"""The report as JSON."""

CheckReply = _model(
    Check,
    sound=(bool, Field(description="Every answer has its place and no question is asked twice.")),
)
"""What came of looking at questions before anything is measured with them."""


class AskedReply(AnswerReply):  # type: ignore[misc] # made at run time
    """An answer with its evidence, and what was asked."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    parser: str
    """How the documents are cut."""
    models: str
    """What ran, and where."""
    incomplete: str | None
    """Why some of the documents could not be searched; null where all were."""


class FoundReply(Reply):
    """One parser with one configuration."""

    name: str
    """Of the parser, and at which size."""
    mean_tokens: float | None
    """Of its chunks; null where it failed."""
    recall: dict[str, float]
    """Points of 100 of the answers read, by budget."""
    low: float | None
    """Where the main measure may begin, in these texts."""
    high: float | None
    """Where it may end."""
    error: str | None = None
    """Why it failed."""


class MissedReply(Reply):
    """One reason why answers were missed."""

    reason: str
    """In few words."""
    remedy: str
    """What it means and what helps; empty for drafts."""
    questions: dict[str, int]
    """How many, by parser at its own options."""


class LostReply(Reply):
    """A question without a place in the documents."""

    id: str
    """Of the question."""
    reason: str
    """Why."""


class SummaryReply(Reply):
    """Which parser finds the answers, by how much, and whether it is the size or the strategy."""

    decision: str
    """What to take, in a sentence or two."""
    verdict: list[str]
    """The answer, the most important first."""
    sizes: list[str]
    """How much of each gap is one of size."""
    measure: str
    """The main measure."""
    rows: list[FoundReply]
    """The numbers behind it."""
    missed: list[MissedReply]
    """Why answers were missed."""
    left_out: list[LostReply]
    """Questions without a place."""


def summary_of(report: EvaluationReport) -> dict[str, Any]:
    """A report in so few words that an agent can read them."""
    own = [row for row in report.of_role("own") if row.reasons]
    missed = [
        {
            "reason": reason,
            # Drafts show what is lost, and are no ground to change anything.
            "remedy": "" if report.by_drafts else remedy,
            "questions": {row.name: row.reasons[reason] for row in own if reason in row.reasons},
        }
        for reason, remedy in REMEDIES.items()
        if any(reason in row.reasons for row in own)
    ]
    return {
        "decision": report.decision.words if report.decision else "",
        "verdict": list(report.said),
        "sizes": [one.words for one in report.sizes],
        "measure": report.measure,
        "rows": [_found(report, row) for row in report.rows],
        "missed": missed,
        "left_out": [asdict(one) for one in report.dataset.unplaced],
    }


def _found(report: EvaluationReport, row: Row) -> dict[str, Any]:
    budgets = [] if row.error else [f"recall@{one}" for one in report.settings.budgets]
    interval = row.interval
    return {
        "name": row.name,
        "mean_tokens": None if row.error else round(row.chunks.mean, 1),
        "recall": {name: _points(row.means[name]) for name in budgets},
        "low": _points(interval.low) if interval else None,
        "high": _points(interval.high) if interval else None,
        "error": row.error,
    }


def _points(share: float) -> float:
    return round(100 * share, 1)
