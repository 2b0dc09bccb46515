"""Documents that a failing run of a LlamaIndex pipeline loses or doubles, stock and atomic.

    python benchmarks/failing_runs.py

Twenty documents make forty chunks in an embedded Qdrant. Each row is one fault and the run after.
"""

from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, Document, TransformComponent
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from rag_nodes import AtomicIngestionPipeline

KINDS = {"stock": IngestionPipeline, "atomic": AtomicIngestionPipeline}
STRATEGIES = (DocstoreStrategy.UPSERTS, DocstoreStrategy.DUPLICATES_ONLY)


class Embedding(TransformComponent):
    """Embeds, and fails as often as it is told to."""

    faults: int = 0

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> Sequence[BaseNode]:
        """Return the nodes with vectors.

        Raises:
            ConnectionError: a fault is due.
        """
        if self.faults:
            self.faults -= 1
            raise ConnectionError("the embedding server does not answer")
        return MockEmbedding(embed_dim=4)(nodes)


class Trial:
    """A pipeline of one kind with stores of its own.

    Args:
        kind: a class of `KINDS`.
        strategy: what is done about changed documents.
    """

    def __init__(self, kind: type[IngestionPipeline], strategy: DocstoreStrategy) -> None:
        self.embedding = Embedding()
        self.client = QdrantClient(":memory:")
        self.pipeline = kind(
            transformations=[SentenceSplitter(chunk_size=60, chunk_overlap=0), self.embedding],
            vector_store=QdrantVectorStore("chunks", client=self.client, index_doc_id=False),
            docstore=SimpleDocumentStore(),
            docstore_strategy=strategy,
        )

    def run(self, documents: Sequence[Document], *, faults: int = 0) -> tuple[int, int]:
        """Run once and return the stored documents and chunks."""
        self.embedding.faults = faults
        with suppress(ConnectionError):
            self.pipeline.run(documents=list(documents))
        if not self.client.collection_exists("chunks"):
            return 0, 0
        points, _ = self.client.scroll("chunks", limit=1000)
        return len({(point.payload or {})["doc_id"] for point in points}), len(points)


def documents(state: str = "old") -> list[Document]:
    """Return twenty documents of two chunks each."""
    sentence = f"The {state} pump of house {{}} starts when the soil is dry and then stops. "
    return [Document(text=sentence.format(i) * 6, id_=f"{i}.txt") for i in range(20)]


def failed_call(kind: str, strategy: DocstoreStrategy) -> tuple[int, int]:
    """Return the stored documents after an embedding call failed, and after the next run."""
    trial = Trial(KINDS[kind], strategy)
    return trial.run(documents(), faults=1)[0], trial.run(documents())[0]


def failed_change(kind: str) -> tuple[int, int]:
    """Return the same if two of twenty stored documents changed."""
    trial = Trial(KINDS[kind], DocstoreStrategy.UPSERTS)
    trial.run(documents())
    changed = [*documents("new")[:2], *documents()[2:]]
    return trial.run(changed, faults=1)[0], trial.run(changed)[0]


def killed(kind: str) -> tuple[int, int]:
    """Return the stored chunks after docstore and cache of a run were lost, and a run later."""
    trial = Trial(KINDS[kind], DocstoreStrategy.UPSERTS)
    stored = trial.run(documents())[1]
    trial.pipeline.docstore, trial.pipeline.cache = SimpleDocumentStore(), IngestionCache()
    return stored, trial.run(documents())[1]


def main() -> None:
    """Print a table."""
    print(f"llama-index-core {version('llama-index-core')}, 20 documents, 40 chunks\n")
    print("| fault | pipeline | after the failed run | after the next run |\n|---|---|--:|--:|")
    for kind in KINDS:
        for strategy in STRATEGIES:
            after, later = failed_call(kind, strategy)
            fault = f"an embedding call fails, `{strategy.name}`"
            print(f"| {fault} | {kind} | {after} documents | {later} documents |")
        after, later = failed_change(kind)
        print(f"| the same, 2 changed | {kind} | {after} documents | {later} documents |")
        after, later = killed(kind)
        fault = "killed before docstore and cache are saved"
        print(f"| {fault} | {kind} | {after} chunks | {later} chunks |")


if __name__ == "__main__":
    main()
