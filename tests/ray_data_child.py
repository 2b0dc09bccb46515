"""LlamaIndex's own pipeline on Ray, with a parser of ours: to an address, into a file."""

import json
import sys
from pathlib import Path

from llama_index.core.schema import Document

from rag_nodes.models.executors.ray import ray_session
from rag_nodes.parsers import HeadingHierarchyNodeParser

PARSER = HeadingHierarchyNodeParser(chunk_size=12, min_chunk_size=0)
PAGES = [
    Document(text=f"# Part {part}\n\nIt is made of steel.\n\n## Care\n\nOil.", id_=f"part {part}")
    for part in range(6)
]


def run(address: str, file: Path) -> None:
    """Write the nodes, by their ids."""
    options = {"chunk_size": PARSER.chunk_size, "min_chunk_size": PARSER.min_chunk_size}
    with ray_session(address):
        # It imports Ray, which reads its settings then.
        from llama_index.ingestion.ray import RayIngestionPipeline, RayTransformComponent

        cut = RayTransformComponent(HeadingHierarchyNodeParser, {"batch_size": 2}, options)
        nodes = RayIngestionPipeline(transformations=[cut]).run(documents=PAGES)
    file.write_text(json.dumps({node.id_: node.to_dict() for node in nodes}), encoding="utf-8")


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
