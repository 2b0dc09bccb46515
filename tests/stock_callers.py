"""What the contract tests of LlamaIndex's components share: documents, parsers, a scripted LLM."""

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, TextNode, TransformComponent
from parser_laws import SMALL

from rag_nodes.models import get_embedding
from rag_nodes.parsers import PRESETS, get_parser

EVERY = pytest.mark.parametrize("name", PRESETS)
EVERY_KIND = pytest.mark.parametrize("name", ["heading", "sentence-window", "parent-child"])
"""A preset of each kind of node: chunks, chunks with a window to read, chunks with parents."""
EMBEDDING = MockEmbedding(embed_dim=4)

MANUAL = """# The pump

The pump starts when the soil is dry. It stops by itself after ten minutes 👩‍👩‍👧, or when the tank
is empty. Dr. Smith checks it at 5 p.m. every day.

## Filters

Rinse both filters monthly. A clogged filter halves the flow.

| part | months |
|---|---|
| filter | 1 |
| hose | 12 |

## Wiring

```sh
# not a heading
pumpctl --start
```

泵在夜间运行。过滤器每月清洗。The red wire is live.
"""
NOTES = "Quiet hours begin at ten. " * 6 + "\n\nThe key is under the mat. " + "Ring twice. " * 9


def documents() -> list[Document]:
    """Two documents as a reader makes them, with metadata and one hidden key."""
    return [
        Document(
            text=MANUAL,
            id_="manual.md",
            metadata={"file_name": "manual.md", "author": "Mo", "secret": 7},
            excluded_embed_metadata_keys=["secret"],
            excluded_llm_metadata_keys=["secret", "author"],
        ),
        Document(text=NOTES, id_="notes.txt", metadata={"file_name": "notes.txt"}),
    ]


def small(name: str, **options: Any) -> NodeParser:
    """The preset with sizes that cut the documents above many times."""
    if name != "parent-child":
        return get_parser(name, **{**SMALL[name], **options})
    family = {
        "parent_options": {"chunk_size": 60, "min_chunk_size": 10},
        "child_options": {"chunk_size": 24, "chunk_overlap": 0, "whole_document_below": 0},
    }
    return get_parser(name, **{**family, **options})


def plain(nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
    """Everything about the nodes but their vectors."""
    return [node.model_dump(exclude={"embedding"}) for node in nodes]


def text_nodes(nodes: Sequence[BaseNode]) -> list[TextNode]:
    """The same nodes, known to be text."""
    assert all(type(node) is TextNode for node in nodes)
    return [node for node in nodes if isinstance(node, TextNode)]


def lexical_index(nodes: Sequence[BaseNode]) -> VectorStoreIndex:
    """An index that finds nodes by their words."""
    return VectorStoreIndex(nodes, embed_model=get_embedding("lexical"))


class EveryPreset(TransformComponent):
    """All presets as one transformation, so that starting processes is paid for once."""

    parsers: list[Any]

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """The nodes of each parser, one after the other."""
        return [node for parser in self.parsers for node in parser(nodes, **kwargs)]
