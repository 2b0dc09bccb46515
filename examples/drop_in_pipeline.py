"""A rag_nodes parser inside a stock LlamaIndex `IngestionPipeline`.

    python examples/drop_in_pipeline.py

The parser is one line of `transformations`; everything else is plain LlamaIndex.
"""

from pathlib import Path

from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline

from rag_nodes.parsers import HeadingHierarchyNodeParser

MANUAL = Path(__file__).parent / "corpus" / "manual.md"


def main() -> None:
    """Split the manual at its headings and show where each chunk comes from."""
    document = Document(text=MANUAL.read_text(encoding="utf-8"), id_=MANUAL.name)
    pipeline = IngestionPipeline(
        transformations=[HeadingHierarchyNodeParser(chunk_size=300, min_chunk_size=30)],
        disable_cache=True,
    )
    nodes = pipeline.run(documents=[document])
    for node in nodes:
        start, end = node.start_char_idx, node.end_char_idx
        # Every node is an exact slice of its document.
        assert document.text[start:end] == node.text  # noqa: S101 - the point of the example
        path = " > ".join(node.metadata.get("heading_path", []))
        print(f"{start:6} {end:6} {node.metadata['token_count']:5} tokens  {path}")
    print(f"{len(nodes)} chunks, every one an exact slice")


if __name__ == "__main__":
    main()
