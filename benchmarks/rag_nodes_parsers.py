"""Our parsers as competitors: documents in, complete nodes out."""

from __future__ import annotations

from typing import Any

from free_embedding import FreeEmbedding
from llama_index.core.schema import Document
from measuring import Work
from peers import OVERLAP, SIZE, Peer, Prepare

from rag_nodes.parsers import (
    PRESETS,
    AutoNodeParser,
    FixedSizeNodeParser,
    HeadingHierarchyNodeParser,
    RecursiveNodeParser,
    SemanticNodeParser,
    SentenceNodeParser,
    SpanNodeParser,
    TokenOverlapNodeParser,
    get_parser,
)

TOKEN_OVERLAP = "rag_nodes TokenOverlap 512/64"  # noqa: S105 -- tokens of text
FIXED_TOKENS = "rag_nodes FixedSize 512/64 tokens"
FIXED_CHARACTERS = "rag_nodes FixedSize 1000/200 characters"
FIXED_SPANS = "rag_nodes FixedSize characters, spans only"
HEADING = "rag_nodes HeadingHierarchy 512"
SEMANTIC = "rag_nodes Semantic percentile, free vectors"


def own() -> list[Peer]:
    """Our parsers at the sizes the peers run at."""
    sizes: dict[str, Any] = {"chunk_size": SIZE, "chunk_overlap": OVERLAP}
    free = FreeEmbedding()
    configured: dict[str, SpanNodeParser] = {
        TOKEN_OVERLAP: TokenOverlapNodeParser(**sizes, whole_document_below=0),
        FIXED_TOKENS: FixedSizeNodeParser(**sizes, unit="tokens"),
        FIXED_CHARACTERS: FixedSizeNodeParser(),
        HEADING: HeadingHierarchyNodeParser(chunk_size=SIZE),
        SEMANTIC: SemanticNodeParser(embed_model=free),
        "rag_nodes Recursive 512/64 tokens": RecursiveNodeParser(**sizes, unit="tokens"),
        "rag_nodes Sentence 512/64 tokens": SentenceNodeParser(**sizes, unit="tokens"),
        "rag_nodes Auto 512/64": AutoNodeParser(**sizes, whole_document_below=0),
    }
    splitters = [Peer(name, nodes_of(parser)) for name, parser in configured.items()]
    return [*splitters, Peer(FIXED_SPANS, _spans_of(FixedSizeNodeParser()))]


def preset_parser(name: str) -> SpanNodeParser:
    """The parser of a preset; where it embeds, the embedding costs nothing."""
    if "embed_model" in PRESETS[name].parser.model_fields:
        return get_parser(name, embed_model=FreeEmbedding())
    return get_parser(name)


def nodes_of(parser: SpanNodeParser) -> Prepare:
    """Complete nodes of all texts."""

    def prepare(texts: list[str]) -> Work:
        documents = [Document(text=text, id_=str(n)) for n, text in enumerate(texts)]
        return lambda: parser(documents)

    return prepare


def _spans_of(parser: SpanNodeParser) -> Prepare:
    return lambda texts: lambda: [parser.split_text(text) for text in texts]
