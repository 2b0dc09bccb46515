"""Metadata of nodes as plain values, for vector stores that refuse lists and mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.schema import BaseNode, TransformComponent

from rag_nodes.core.foreign_metadata import flat
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.metadata import FLATTENED
from rag_nodes.core.several import several_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence


@checks_keywords
class FlatMetadata(TransformComponent):
    r"""Writes lists and mappings in the metadata of nodes as JSON text.

    Chroma, Pinecone and other vector stores of LlamaIndex with flat metadata refuse nodes with
    `heading_path` or `page_starts`, and documents of `read` behind any splitter. Put this behind
    the parser and extractors. `SentencePostprocessor`, the engines, parsers and `Filter` of
    rag-nodes read the lists back; a store compares such a value as the text that it is.

    Examples:
        >>> from llama_index.core import Document
        >>> from rag_nodes import FlatMetadata, get_parser
        >>> nodes = get_parser("heading")([Document(text="# Tea\n\nGreen tea.", id_="tea.md")])
        >>> [node] = FlatMetadata()(nodes)
        >>> node.metadata["heading_path"]
        '["Tea"]'
    """

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "FlatMetadata"

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """Return the nodes; copies of those with values that are not flat."""
        return [_flat(node) for node in several_nodes(nodes)]


def _flat(node: BaseNode) -> BaseNode:
    metadata = flat(node.metadata)
    if metadata == node.metadata:
        return node
    changes: dict[str, Any] = {"metadata": metadata}
    for field in ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys"):
        changes[field] = [*getattr(node, field), FLATTENED]
    return node.model_copy(update=changes)
