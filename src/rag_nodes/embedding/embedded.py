"""Transformations that choose which metadata is embedded with the text of a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.llms import LLM
from llama_index.core.schema import BaseNode, TransformComponent

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import BREADCRUMB, EMBEDDED_TEXTS, SUMMARY
from rag_nodes.embedding.summary import SectionSummary
from rag_nodes.models.kept import KeptAnswers


class EmbeddedText(TransformComponent):
    """Has a chunk embedded as its text alone, or with its summary beside its headings.

    Args:
        text: "plain" or "summary".
    """

    text: Literal["plain", "summary"]

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "EmbeddedText"

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """The nodes, of whose metadata others are hidden from the embedding model."""
        for node in nodes:
            hidden = {*node.excluded_embed_metadata_keys}
            if self.text == "summary":
                hidden.discard(SUMMARY)
            else:
                hidden |= {BREADCRUMB, *node.metadata}
            node.excluded_embed_metadata_keys = sorted(hidden)
        return list(nodes)


def embedded_as(
    text: str,
    given: Sequence[TransformComponent],
    llm: LLM | None = None,
    kept: KeptAnswers | None = None,
) -> list[TransformComponent]:
    """Transformations with those that have chunks embedded as a text.

    Args:
        text: "heading", which is embedded where nothing else is said, "plain" or "summary".
        given: transformations that there are; where one of them writes summaries, no other does.
        llm: writes summaries; None for sentences of the chunk.
        kept: keeps what was paid for.

    Raises:
        ConfigurationError: there is no such text.
    """
    if text == "heading":
        return [*given]
    if text == "plain":
        return [*given, EmbeddedText(text="plain")]
    if text != "summary":
        raise ConfigurationError(f"unknown text {text!r}; choose {', '.join(EMBEDDED_TEXTS)}")
    is_written = any(isinstance(step, SectionSummary) for step in given)
    written = [] if is_written else [SectionSummary(llm=llm, kept=kept)]
    return [*written, *given, EmbeddedText(text="summary")]
