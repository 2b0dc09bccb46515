"""Transformations that choose which metadata is embedded with the text of a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from llama_index.core.llms import LLM
from llama_index.core.schema import BaseNode, TransformComponent

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import BREADCRUMB, EMBEDDED_METADATA, EMBEDDED_TEXTS, SUMMARY
from rag_nodes.core.own_metadata import check_embeddable, keys_to_hide
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
        """Hide the metadata of nodes that is not to be embedded from the embedding model."""
        for node in nodes:
            hidden = {*node.excluded_embed_metadata_keys}
            if self.text == "summary":
                hidden.discard(SUMMARY)
            else:
                hidden |= {BREADCRUMB, *node.metadata}
            node.excluded_embed_metadata_keys = sorted(hidden)
        return list(nodes)


class HiddenMetadata(TransformComponent):
    """Hides the metadata of documents that is not ours from the embedding model.

    It stands before the parser: what transformations add to chunks is embedded.
    """

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "HiddenMetadata"

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """The documents; copies where a key has to be hidden."""
        return list(map(without_own_keys, nodes))


class EmbeddedMetadata(TransformComponent):
    """Has the values of some metadata keys embedded with the text, and indexed as words.

    Args:
        names: keys; what a document lists of them in `excluded_embed_metadata_keys` is embedded.
    """

    names: tuple[str, ...]

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "EmbeddedMetadata"

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """The nodes, with what they have of the keys shown to the embedding model."""
        for node in nodes:
            if shown := [name for name in self.names if node.metadata.get(name) is not None]:
                hidden = {*node.excluded_embed_metadata_keys} - {*shown}
                node.metadata[EMBEDDED_METADATA] = shown
                node.excluded_embed_metadata_keys = sorted(hidden | {EMBEDDED_METADATA})
                node.excluded_llm_metadata_keys = sorted(
                    {*node.excluded_llm_metadata_keys, EMBEDDED_METADATA}
                )
        return list(nodes)


Node = TypeVar("Node", bound=BaseNode)


def without_own_keys(document: Node) -> Node:
    """Return a document that hides metadata which is not ours from the embedding model."""
    hidden_keys = document.excluded_embed_metadata_keys
    own = [key for key in keys_to_hide(document.metadata) if key not in hidden_keys]
    if not own:
        return document
    return document.model_copy(update={"excluded_embed_metadata_keys": [*hidden_keys, *own]})


def embedded_as(
    text: str,
    given: Sequence[TransformComponent],
    llm: LLM | None = None,
    kept: KeptAnswers | None = None,
    *,
    metadata: Sequence[str] = (),
) -> list[TransformComponent]:
    """Transformations with those that have chunks embedded as a text.

    Args:
        text: "heading", which is embedded where nothing else is said, "plain" or "summary".
        given: transformations that there are; where one of them writes summaries, no other does.
        llm: writes summaries; None for sentences of the chunk.
        kept: keeps what was paid for.
        metadata: keys whose values are embedded beside it.

    Raises:
        ConfigurationError: there is no such text, or a key cannot be embedded.
    """
    names = check_embeddable(metadata)
    shown = [EmbeddedMetadata(names=names)] if names else []
    return [*_embedded_as(text, given, llm, kept), *shown]


def _embedded_as(
    text: str, given: Sequence[TransformComponent], llm: LLM | None, kept: KeptAnswers | None
) -> list[TransformComponent]:
    if text == "heading":
        return [*given]
    if text == "plain":
        return [*given, EmbeddedText(text="plain")]
    if text != "summary":
        raise ConfigurationError(f"unknown text '{text}'; choose {', '.join(EMBEDDED_TEXTS)}")
    is_written = any(isinstance(step, SectionSummary) for step in given)
    written = [] if is_written else [SectionSummary(llm=llm, kept=kept)]
    return [*written, *given, EmbeddedText(text="summary")]
