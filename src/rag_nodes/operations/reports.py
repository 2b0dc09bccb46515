"""The report of an evaluation as strangers get it: what it has, with what it says of each field."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from rag_nodes.evaluation.report import SCHEMA, TIMES, EvaluationReport
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
