"""Chunks of small documents, and the names of two collections they are kept in."""

import uuid

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.store import collection_name

HEADING = collection_name("tests", "f1", "HeadingParser", "fake-2")
FIXED = collection_name("tests", "f2", "FixedParser", "fake-2")
NOON = 1_700_000_000.0


def nodes_of(
    document: str, chunks: int, *, total: int | None = None, name: str = ""
) -> list[TextNode]:
    """Chunks of a document, of which it says there are `total`."""
    nodes = []
    for number in range(chunks):
        node = TextNode(
            id_=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document}/{number}")),
            text=f"part {number} of {document}",
            start_char_idx=number * 100,
            metadata={
                "source_hash": f"hash of {document}",
                "total_chunks": total or chunks,
                "token_count": 4,
                "start_char": number * 100,
                "source": f"/docs/{name or document}",
                "file_name": name or document,
            },
        )
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
        node.embedding = [1.0, float(number)]
        nodes.append(node)
    return nodes
