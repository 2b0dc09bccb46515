"""The embedding models of parsers that compare sentences: found by name, and named."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding

from rag_nodes.models.names import written_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEXICAL = "lexical"
"""Prefix of the names of local models that only compare words."""
_IN_PLACE: ContextVar[BaseEmbedding | None] = ContextVar("in_place", default=None)


@contextmanager
def cutting_with(model: BaseEmbedding) -> Iterator[None]:
    """Meanwhile let parsers compare sentences by this model, but those that only compare words."""
    token = _IN_PLACE.set(model)
    try:
        yield
    finally:
        _IN_PLACE.reset(token)


def model_named(name: str, model: BaseEmbedding | None) -> BaseEmbedding:
    """The model itself where it was given, else the one of that name."""
    in_place = _IN_PLACE.get()
    if in_place is not None and not name.startswith(_LEXICAL):
        return in_place
    if model is not None:
        return model
    from rag_nodes.models import get_embedding

    return get_embedding(name)


def named_after(option: str, data: Any) -> Any:
    """Options of a parser; the model that is given as `option` names `embedding`."""
    if isinstance(data, dict) and isinstance(model := data.get(option), BaseEmbedding):
        return {**data, "embedding": written_name(model)}
    return data
