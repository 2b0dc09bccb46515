"""A dry run: an ingest as it would be, without a request to a model and without a stored chunk.

It is the same run without its writing, with a copy of the ledger and an embedding that asks nobody;
so what is due is what would be due, and texts are counted where they would be sent.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import PrivateAttr

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.embedding import EmbeddedText, SectionSummary
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.models.names import place_of
from rag_nodes.parsers import ForeignNodeParser
from rag_nodes.parsers.embedders import cutting_with

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import BaseNode, Document, TransformComponent

    from rag_nodes.embedding.build import Parse
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser


@contextmanager
def rehearsal(
    parsers: Mapping[str, SpanNodeParser],
    models: Models,
    steps: Sequence[TransformComponent],
) -> Iterator[tuple[Models, list[TransformComponent], Parse, tuple[str, ...]]]:
    """Replace models and parsers for a dry run; meanwhile parsers ask no model.

    Transformations are those that say what is embedded. The names at the end are of parsers whose
    model would decide where to split.
    """
    stand_in = _StandIn(models.embedding)
    with cutting_with(stand_in):
        yield (
            replace(models, embedding=stand_in, offline=True),
            [step for step in steps if _asks_nobody(step)],
            _cut_unasked,
            tuple(name for name, parser in parsers.items() if _names_model(parser.to_dict())),
        )


def _asks_nobody(step: TransformComponent) -> bool:
    return isinstance(step, EmbeddedText) or (isinstance(step, SectionSummary) and not step.llm)


def _cut_unasked(parser: SpanNodeParser, document: Document) -> list[BaseNode]:
    """The nodes of a document, unless a splitter would ask a model of its own for them."""
    if isinstance(parser, ForeignNodeParser):
        for name in ("embed_model", "embedding_model", "llm"):
            if getattr(parser.splitter, name, None) is not None:
                raise ConfigurationError(
                    f"{parser.splitter_class} splits with a model of its own, so a dry run "
                    f"cannot predict its chunks; leave it out, or ingest a few documents with it"
                )
    nodes: list[BaseNode] = parser([document])
    return nodes


def _names_model(options: object) -> bool:
    """Return True if a parser with these options splits by the vectors of a model."""
    if isinstance(options, dict):
        name = options.get("embedding")
        named = isinstance(name, str) and not name.startswith("lexical")
        return named or any(map(_names_model, options.values()))
    return isinstance(options, list | tuple) and any(map(_names_model, options))


class _StandIn(LexicalEmbedding):
    """Gives vectors of words in place of those of a model, where they would have been made."""

    _place: str = PrivateAttr()

    def __init__(self, model: BaseEmbedding) -> None:
        super().__init__(embed_batch_size=model.embed_batch_size)
        self.model_name, self._place = model.model_name, place_of(model)

    @property
    def place(self) -> str:
        """Place where texts would be sent; it decides whether they are counted."""
        return self._place
