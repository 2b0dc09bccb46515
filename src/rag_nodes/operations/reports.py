"""The report of an evaluation as strangers get it: what it has, with what it says of each field."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.report import SCHEMA, TIMES, EvaluationReport, Row
from rag_nodes.operations.base import Reply
from rag_nodes.parsers.offer import entries_of


def _model(source: Any, **more: Any) -> type[Reply]:
    """A dataclass as a reply, described by its docstring."""
    said, hints = entries_of(source), get_type_hints(source)
    summary = (source.__doc__ or "").partition("\n")[0]
    described: dict[str, Any] = {
        field.name: (_plain(hints[field.name]), Field(description=said.get(field.name, summary)))
        for field in fields(source)
        if field.name not in TIMES
    }
    made: type[Reply] = create_model(
        source.__name__, __base__=Reply, __doc__=summary, **(described | more)
    )
    return made


def _plain(hint: Any) -> Any:
    """A type with replies in place of dataclasses."""
    if is_dataclass(hint):
        if hint not in _MODELS:
            _MODELS[hint] = _model(hint)
        return _MODELS[hint]
    parts = tuple(_plain(one) for one in get_args(hint))
    if get_origin(hint) is types.UnionType:
        return Union[parts]  # noqa: UP007 -- made at run time
    return get_origin(hint)[parts] if parts else hint


_MODELS: dict[Any, type[Reply]] = {}
EvaluationReply = _model(
    EvaluationReport,
    schema_version=(int, Field(description=f"Of this format; {SCHEMA} now.")),
)
"""The report as JSON."""


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
        "left_out": report.dataset["unplaced"],
    }


def _found(report: EvaluationReport, row: Row) -> dict[str, Any]:
    budgets = [] if row.error else [f"recall@{one}" for one in report.settings["budgets"]]
    interval = row.interval
    return {
        "name": row.name,
        "mean_tokens": None if row.error else round(row.chunks["mean"], 1),
        "recall": {name: _points(row.means[name]) for name in budgets},
        "low": _points(interval.low) if interval else None,
        "high": _points(interval.high) if interval else None,
        "error": row.error,
    }


def _points(share: float) -> float:
    return round(100 * share, 1)
