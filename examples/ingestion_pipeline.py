"""`build_pipeline`: a pipeline with an extractor, a docstore, a cache and two workers.

    python examples/ingestion_pipeline.py [preset]

It is an `IngestionPipeline` of LlamaIndex, so `arun`, `persist` and `load` are as you know them.
The second run finds the document in the docstore and does nothing.
"""

import asyncio
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from llama_index.core.extractors import BaseExtractor
from llama_index.core.ingestion import DocstoreStrategy
from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from stand_ins import EMBEDDING, documents, preset_or

from rag_nodes import AtomicIngestionPipeline, build_pipeline


class Numbers(BaseExtractor):
    """Notes the numbers in every chunk; use LlamaIndex's `TitleExtractor` in the same way."""

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
        """One dictionary of metadata per chunk."""
        return [{"numbers": re.findall(r"\d+", node.get_content())} for node in nodes]


def pipeline_of(preset: str) -> AtomicIngestionPipeline:
    """The pipeline, as it is made for every run."""
    return build_pipeline(
        preset,
        embed_model=EMBEDDING,
        transformations=[Numbers()],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY,
    )


async def run(preset: str) -> None:
    """Run, save, load, and run again."""
    pipeline = pipeline_of(preset)
    nodes = await pipeline.arun(documents=documents(), num_workers=2)
    found = sum(bool(node.metadata["numbers"]) for node in nodes)
    print(f"{len(nodes)} chunks, {found} with numbers in them")
    with tempfile.TemporaryDirectory() as folder:
        pipeline.persist(folder)
        again = pipeline_of(preset)
        again.load(folder)
        print(f"{len(await again.arun(documents=documents()))} chunks in the second run")


def main(preset: str) -> None:
    """Run it."""
    asyncio.run(run(preset))


if __name__ == "__main__":
    main(preset_or("heading"))
