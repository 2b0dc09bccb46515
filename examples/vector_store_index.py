"""A rag_nodes parser in `VectorStoreIndex.from_documents`, with an embedding that needs no key.

    python examples/vector_store_index.py "your question"

Retrieval is LlamaIndex's own; the parser gives it nodes that know their headings and offsets.
"""

import sys
from pathlib import Path

from llama_index.core import Document, VectorStoreIndex

from rag_nodes.models import get_embedding
from rag_nodes.parsers import get_parser

MANUAL = Path(__file__).parent / "corpus" / "manual.md"
QUESTION = "How do I start?"


def main(preset: str, question: str = QUESTION) -> None:
    """Index the manual and print the best passages for a question."""
    document = Document(text=MANUAL.read_text(encoding="utf-8"), id_=MANUAL.name)
    index = VectorStoreIndex.from_documents(
        [document],
        transformations=[get_parser(preset)],
        embed_model=get_embedding("lexical"),
    )
    print(question)
    for rank, hit in enumerate(index.as_retriever(similarity_top_k=3).retrieve(question), start=1):
        path = " > ".join(hit.node.metadata.get("heading_path", []))
        first_line = hit.node.get_content().strip().splitlines()[0]
        print(f"{rank}. {hit.score:.3f}  {path}  {first_line[:60]}")


if __name__ == "__main__":
    main("heading", " ".join(sys.argv[1:]) or QUESTION)
