"""Replies for visitors: the library's names with their descriptions, and no path."""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field, create_model, model_validator

from rag_nodes.core.own_metadata import Value, own_metadata
from rag_nodes.evaluation.compare import Column, ComparisonReport
from rag_nodes.operations.base import Reply
from rag_nodes.operations.boxes import BoxReply
from rag_nodes.query import Answer, Citation, Hit, OtherPlace
from rag_nodes.query.types import Mark


class ChunkOrigin(Reply):
    """Location of a chunk, and the values of metadata keys of the documents' owner."""

    model_config = ConfigDict(extra="allow")

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
    __pydantic_extra__: dict[str, Value] = Field(init=False)

    @model_validator(mode="before")
    @classmethod
    def _own_keys_alone(cls, metadata: Any) -> Any:
        own_keys = {key: metadata[key] for key in cls.model_fields if key in metadata}
        return {**own_metadata(metadata), **own_keys}


class ReadReply(Reply):
    """Text read in the place of a chunk: its window of sentences, or its parent."""

    text: str
    """Exactly as in the document; of a splitter of another package as it gave it."""
    start: int | None
    """Offset of its first character."""
    end: int | None
    """Offset after its last character."""


class CopyReply(ReadReply):
    """A place in another document that says the same as a chunk, or sentences of it."""

    metadata: ChunkOrigin
    """Location in its document."""


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
    """Location in its document."""
    read: ReadReply | None
    """Text read in its place; null if it is read itself."""
    also: tuple[CopyReply, ...]
    """Places in other documents that say the same as what is read, or sentences of it."""
    start_line: int | None = None
    """First line of the chunk in a text file, from 1; null for other formats, and where many
    parsers answer."""
    end_line: int | None = None
    """Last line."""


class StatisticsReply(Reply):
    """Chunks that a parser made of all documents."""

    chunks: int
    """Chunks."""
    mean_tokens: float
    """Tokens of a chunk on average."""
    max_tokens: int
    """Tokens of the largest chunk."""
    not_located: int
    """Chunks whose place in the document is not known, of splitters of other packages."""
    embedding_tokens: int
    """Tokens embedded to store them."""
    embedding_cost: float | None
    """US dollars for them; null when unknown."""
    error: str | None
    """Reason why some documents are left out; null if none is."""


_HIDDEN = {
    Answer: {"sources", "left_out_tokens", "budget"},
    Citation: {"source", "node"},
    OtherPlace: {"source"},
    Column: {"parser"},
    ComparisonReport: {"files", "schema_version"},
}
"""Fields that strangers do not see: paths, corpora, and what a view or one run alone needs."""
_MODELS: dict[Any, Any] = {Hit: HitReply}
"""Replies by what they are of; a dataclass that is not here gets one that has its docstring."""
_SECTION = re.compile(r"^Attributes:\n((?:(?: .*)?\n?)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
_OUTSIDE = {
    "Answer": Answer,
    "ParserOutcome": StatisticsReply,
    "FileOutcome": object,
    "TextNode": object,
}
"""Classes in hints that a module imports for type checkers alone."""


class _MadeReply(Reply):
    # No class statement to find docstrings in: pydantic would search every frame of the caller.
    model_config = ConfigDict(use_attribute_docstrings=False)


def _model(source: Any, **more: Any) -> type[Reply]:
    """A dataclass or named tuple as a reply, described by its docstring."""
    descriptions, hints = _said_of_fields(source), get_type_hints(source, localns=_OUTSIDE)
    summary = (source.__doc__ or "").partition("\n")[0]
    names = [item.name for item in fields(source)] if is_dataclass(source) else source._fields
    described: dict[str, Any] = {
        name: (_plain(hints[name]), Field(description=_in_json(descriptions[name])))
        for name in names
        if name not in _HIDDEN.get(source, ())
    }
    name, summary = f"{source.__name__}Reply", _in_json(summary)
    reply: type[Reply] = create_model(
        name, __base__=_MadeReply, __doc__=summary, **(described | more)
    )
    return reply


def _in_json(words: str) -> str:
    return re.sub(r"\bNone\b", "null", words[:1].upper() + words[1:])


def _said_of_fields(source: Any) -> dict[str, str]:
    section = _SECTION.search(inspect.cleandoc(source.__doc__ or ""))
    entries = _ENTRY.findall(section[1]) if section else ()
    return {name: " ".join(text.split()) for name, text in entries}


def _plain(hint: Any) -> Any:
    """A type with replies in place of dataclasses."""
    if hint in _MODELS or is_dataclass(hint) or hint is Mark:
        if hint not in _MODELS:
            _MODELS[hint] = _model(hint)
        return _MODELS[hint]
    parts = tuple(_plain(part) for part in get_args(hint))
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


CitationReply: Any = _MODELS[Citation]


class LocatedCitationReply(CitationReply):  # type: ignore[misc] # made at run time
    """A source the answer names, with its boxes if they were asked for."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    boxes: list[BoxReply] | None = None
    """A box for each printed line of the quote; null unless asked for, empty for what is no PDF."""
    boxes_error: str | None = None
    """Reason why there are no boxes in a PDF."""
    start_line: int | None = None
    """First line of the quote in a text file, from 1; null for other formats."""
    end_line: int | None = None
    """Last line."""


class AskedReply(AnswerReply):  # type: ignore[misc] # made at run time
    """An answer with its evidence, and what was asked."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    citations: tuple[LocatedCitationReply, ...]
    """The cited sources only, in order of first mention."""
    parser: str
    """Parser that split the documents."""
    models: str
    """Models that ran, and their place."""
    incomplete: str | None
    """Reason why some documents could not be searched; null if all were."""
