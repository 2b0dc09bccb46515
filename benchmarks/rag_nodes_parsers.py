"""Our parsers as competitors: documents in, complete nodes out."""

from __future__ import annotations

from collections.abc import Callable

from llama_index.core.schema import Document
from peers import Peer

from rag_nodes.parsers import (
    FixedSizeNodeParser,
    HeadingHierarchyNodeParser,
    SpanNodeParser,
    TokenOverlapNodeParser,
)

SIZE, OVERLAP = 512, 64


def own() -> list[Peer]:
    """Our parsers at the sizes the peers run at."""
    configured: dict[str, SpanNodeParser] = {
        "rag_nodes TokenOverlap 512/64": TokenOverlapNodeParser(
            chunk_size=SIZE, chunk_overlap=OVERLAP, whole_document_below=0
        ),
        "rag_nodes FixedSize 512/64 tokens": FixedSizeNodeParser(
            chunk_size=SIZE, chunk_overlap=OVERLAP, unit="tokens"
        ),
        "rag_nodes FixedSize 1000/200 characters": FixedSizeNodeParser(),
        "rag_nodes HeadingHierarchy 512": HeadingHierarchyNodeParser(chunk_size=SIZE),
    }
    return [Peer(name, _nodes(parser)) for name, parser in configured.items()] + [
        Peer("rag_nodes FixedSize characters, spans only", _spans(FixedSizeNodeParser()))
    ]


def _nodes(parser: SpanNodeParser) -> Callable[[list[str]], Callable[[], object]]:
    def prepare(texts: list[str]) -> Callable[[], object]:
        documents = [Document(text=text, id_=str(n)) for n, text in enumerate(texts)]
        return lambda: parser(documents)

    return prepare


def _spans(parser: SpanNodeParser) -> Callable[[list[str]], Callable[[], object]]:
    return lambda texts: lambda: [parser.split_text(text) for text in texts]
