"""Four strategies of 10,000 chunks each asked at once, next to LlamaIndex's own engines.

    python benchmarks/answers.py --speed

Both sides read the same chunks with the same embedding model, LlamaIndex out of qdrant-client's
local mode; the LLM answers at once, so what is timed is everything around it. LlamaIndex asks one
engine after the other, as its engines do; an embedding model behind a network is played by a wait
per request.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from corpora import text_of
from llama_index.core import QueryBundle, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import BaseNode, TextNode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from measuring import markdown_table, ratio, save
from qdrant_client import QdrantClient

from rag_nodes.core.metadata import FILE_NAME, PAGE_END, PAGE_START, SOURCE
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.evaluation.engines import StoredCollection
from rag_nodes.models import Models, choose_models
from rag_nodes.query import Delta, Failed, QueryOptions
from rag_nodes.store import Store, open_store
from rag_nodes.store.bm25 import document_vectors, query_vectors

Work = Callable[[str], object]

SIZES = (500, 600, 700, 800)
"""Make four different parsers; the chunks come from `fill`."""
GOAL = 2.0
"""How many times as fast as LlamaIndex's engines four columns are to be."""
TOP_K = 5
CHARACTERS = 600
"""Of a chunk."""
QUESTIONS = (
    "Which alarm is raised when the probe does not answer?",
    "How long does manual control last?",
    "When must the filter be cleaned?",
    "What does the controller do after a power cut?",
)


class Waiting(BaseEmbedding):
    """An embedding model that takes its time, as one behind a network does."""

    inner: Any
    seconds: float = 0.0

    def _get_query_embedding(self, query: str) -> list[float]:
        time.sleep(self.seconds)
        vector: list[float] = self.inner.get_query_embedding(query)
        return vector

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = self.inner.get_text_embedding(text)
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Immediate(CustomLLM):
    """A model that answers at once."""

    @property
    def metadata(self) -> LLMMetadata:
        """Room for any prompt."""
        return LLMMetadata(context_window=100_000, num_output=100, model_name="immediate")

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        """One word and its source."""
        return CompletionResponse(text="Yes [Source 1].")

    def stream_complete(self, *_: Any, **__: Any) -> Generator[CompletionResponse, None, None]:
        """The same in one piece."""
        yield CompletionResponse(text="Yes [Source 1].", delta="Yes [Source 1].")


def fill(store: Store, names: Sequence[str], embedding: BaseEmbedding, chunks: int) -> None:
    """Fill collections of a store, each with that many chunks of different text."""
    text = text_of("plain", CHARACTERS * (chunks + 1))
    for number, name in enumerate(names):
        shift = number * CHARACTERS // len(names)
        nodes = [_node(text, index, shift + index * CHARACTERS) for index in range(chunks)]
        for node in nodes:
            node.embedding = embedding.get_text_embedding(node.text)
        store.vector_store(name).add(nodes)


def _node(text: str, index: int, start: int) -> TextNode:
    own = text[start : start + CHARACTERS]
    page = 1 + index // 3
    place = {FILE_NAME: "manual.md", SOURCE: "manual.md", PAGE_START: page, PAGE_END: page}
    return TextNode(text=own, metadata=place, start_char_idx=start, end_char_idx=start + len(own))


def _embedded(store: Store, name: str) -> list[BaseNode]:
    """The nodes of a collection with their vectors."""
    nodes = store.vector_store(name).get_nodes()
    vectors = store.vectors(name, [node.node_id for node in nodes])
    for node in nodes:
        _, node.embedding = vectors[node.node_id]
    return list(nodes)


def stock(
    store: Store, names: Sequence[str], models: Models, mode: str
) -> list[RetrieverQueryEngine]:
    """LlamaIndex's engines over the same chunks, in its own terms and its own embedded Qdrant."""
    client = QdrantClient(":memory:")
    engines = []
    for name in names:
        vectors = QdrantVectorStore(
            collection_name=name,
            client=client,
            enable_hybrid=True,
            sparse_doc_fn=document_vectors,
            sparse_query_fn=query_vectors,
            index_doc_id=False,
        )
        vectors.add(_embedded(store, name))
        index = VectorStoreIndex.from_vector_store(vectors, embed_model=models.embedding)
        retriever = index.as_retriever(
            similarity_top_k=TOP_K,
            sparse_top_k=TOP_K,
            vector_store_query_mode="default" if mode == "dense" else mode,
        )
        engines.append(RetrieverQueryEngine.from_args(retriever, llm=models.llm, streaming=True))
    return engines


def compared(comparison: Comparison, store: Store, mode: str) -> dict[str, tuple[Work, Work]]:
    """What is timed, by name: LlamaIndex's way and ours, each with a question to ask."""
    engines = stock(store, comparison.names, comparison.models, mode)
    own = [comparison.engine(name) for name in comparison.names]

    def retrieve_stock(question: str) -> object:
        return [engine.retrieve(QueryBundle(question)) for engine in engines]

    def retrieve_ours(question: str) -> object:
        vector = comparison.question_vector(question).vector
        with ThreadPoolExecutor(len(own)) as pool:
            return list(pool.map(lambda column: column.retriever.hits(question, vector), own))

    def first_tokens_stock(question: str) -> object:
        answers: list[Any] = [engine.query(question) for engine in engines]
        return [next(iter(answer.response_gen)) for answer in answers]

    def first_tokens_ours(question: str) -> object:
        with comparison.stream(question) as events:
            waiting = set(comparison.names)
            for name, event in events:
                if isinstance(event, Failed):
                    raise event.error
                waiting -= {name} if isinstance(event, Delta) else set()
                if not waiting:
                    break
        return waiting

    return {
        "retrieval": (retrieve_stock, retrieve_ours),
        "first token": (first_tokens_stock, first_tokens_ours),
    }


def timed(work: Work, runs: int) -> float:
    """Milliseconds per question, the best of the runs for each."""
    work(QUESTIONS[0])
    best = []
    for question in QUESTIONS:
        times = []
        for _ in range(runs):
            started = time.perf_counter()
            work(question)
            times.append(time.perf_counter() - started)
        best.append(min(times))
    return 1000 * sum(best) / len(best)


def measure(chunks: int, runs: int, waits: Sequence[float]) -> list[dict[str, Any]]:
    """One row per mode, wait and kind of work."""
    embedding = Waiting(inner=choose_models(Settings(embedding="lexical")).embedding)
    models = Models(
        embedding=embedding,
        embedding_name="lexical",
        llm=Immediate(),
        answer_name="immediate",
        offline=True,
        prompt="{context}\n\n{question}",
    )
    names = [f"fixed-{size}" for size in SIZES]
    rows: list[dict[str, Any]] = []
    with open_store() as store:
        fill(store, names, embedding, chunks)
        columns = {name: StoredCollection(store, name) for name in names}
        for mode in ("dense", "hybrid"):
            options = QueryOptions(budget=None, top_k=TOP_K, mode=mode, cache_ttl_hours=0)
            comparison = Comparison(columns, models=models, options=options)
            for wait in waits:
                embedding.seconds = wait
                for kind, works in compared(comparison, store, mode).items():
                    theirs, ours = (timed(work, runs) for work in works)
                    row = {"kind": kind, "mode": mode, "wait": wait, "stock": theirs, "ours": ours}
                    print(row, file=sys.stderr)  # it takes minutes: show that it goes on
                    rows.append(row)
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Milliseconds for four columns and the ratio; bold where the goal is missed."""
    body = []
    for row in rows:
        gain = row["stock"] / row["ours"]
        times = ratio(gain) if gain >= GOAL else f"**{ratio(gain)}**"
        what = f"{row['kind']}, {row['mode']}, embedding {1000 * row['wait']:.0f} ms"
        body.append([what, f"{row['stock']:.0f}", f"{row['ours']:.0f}", times])
    return markdown_table(
        ["four strategies", "LlamaIndex, ms", "rag_nodes, ms", "times as fast"], body
    )


def main(arguments: list[str] | None = None) -> int:
    """Print the table and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--chunks", type=int, default=10_000, help="per strategy")
    options.add_argument("--runs", type=int, default=1)
    options.add_argument("--wait", type=float, nargs="*", default=[0.0, 0.1], help="seconds")
    chosen = options.parse_args(arguments)
    rows = measure(chosen.chunks, chosen.runs, chosen.wait)
    print(table(rows))
    print(f"\nraw numbers: {save('answer-speed', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
