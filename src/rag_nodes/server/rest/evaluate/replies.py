"""What comes of an evaluation: the report as the command line writes it, and what is checked."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from rag_nodes.evaluation.report import SCHEMA, TIMES, EvaluationReport
from rag_nodes.parsers.offer import entries_of
from rag_nodes.server.failures import without_paths
from rag_nodes.server.rest.evaluate.bodies import LabelledQuestion
from rag_nodes.server.rest.replies import _OfLibrary

if TYPE_CHECKING:
    from rag_nodes.evaluation.checks import Check


class ConcernReply(_OfLibrary):
    """Something about a question that somebody should look at."""

    question: str = Field(description="Its id.")
    problem: str = Field(description="not placed, duplicate, found nearly, leakage, too long, …")
    detail: str = Field(description="In words, with what to do.")


class CheckReply(_OfLibrary):
    """What came of looking at questions before anything is measured with them."""

    sound: bool = Field(description="Every answer has its place and no question is asked twice.")
    questions: int = Field(description="That can be measured with.")
    documents: int = Field(description="Of the session.")
    drafts: int = Field(description="Questions made by a program and accepted by nobody yet.")
    leakage: float = Field(
        description="Share of the questions' content words that their answers have too, on average."
    )
    concerns: list[ConcernReply] = Field(description="One per thing to look at.")

    @classmethod
    def of(cls, check: Check) -> CheckReply:
        """A check as plain data."""
        return cls._of(check, sound=check.is_sound)


class Brought(BaseModel):
    """The session, and the questions that were read into it."""

    session: str = Field(description="Send it as X-Session with every further request.")
    format: str = Field(description="In which format they are.")
    documents: int = Field(description="Documents of the session, with those the file brought.")
    check: CheckReply | None = Field(description="Null while the session has no documents.")


class Drafted(BaseModel):
    """Questions made by a program, in the format in which they can be sent back."""

    version: int = Field(description="Of the format.")
    questions: list[LabelledQuestion] = Field(
        description="Drafts: send those that people would ask to /evaluate, without `draft`. With "
        "drafts alone no parser is compared with another."
    )


def public_report(report: EvaluationReport) -> EvaluationReport:
    """The report without paths of the server."""
    rows = (replace(row, error=without_paths(row.error)) if row.error else row
            for row in report.rows)  # fmt: skip
    left_out = (replace(one, reason=without_paths(one.reason)) for one in report.left_out)
    return replace(report, rows=tuple(rows), left_out=tuple(left_out))


def _model(source: type, **more: Any) -> type[BaseModel]:
    """A dataclass with what its docstring says of each field, for the OpenAPI document."""
    said, hints = entries_of(source), get_type_hints(source)
    summary = (source.__doc__ or "").partition("\n")[0]
    described: dict[str, Any] = {
        field.name: (_plain(hints[field.name]), Field(description=said.get(field.name, summary)))
        for field in fields(source)
        if field.name not in TIMES
    }
    made: type[BaseModel] = create_model(source.__name__, __doc__=summary, **(described | more))
    return made


def _plain(hint: Any) -> Any:
    """A type with models in place of dataclasses."""
    if is_dataclass(hint):
        if hint not in _MODELS:
            _MODELS[hint] = _model(hint)  # type: ignore[arg-type] # a class, not an object of one
        return _MODELS[hint]
    parts = tuple(_plain(one) for one in get_args(hint))
    if get_origin(hint) is types.UnionType:
        return Union[parts]  # noqa: UP007 -- made at run time
    return get_origin(hint)[parts] if parts else hint


_MODELS: dict[Any, type[BaseModel]] = {}
EvaluationReply = _model(
    EvaluationReport,
    schema_version=(int, Field(description=f"Of this format; {SCHEMA} now.")),
)
"""The report as JSON."""
