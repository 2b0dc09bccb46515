"""What reading by sentences costs beside reading whole chunks: CPU time per question.

    python benchmarks/sentence_cost.py --chunks 50000

One embedded collection, the same questions asked in both ways in turn; the median of the questions.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

from answer_speed import CHARACTERS, QUESTIONS
from corpora import text_of
from llama_index.core import Document
from measuring import markdown_table

from rag_nodes.models import choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions, RagNodesQueryEngine
from rag_nodes.settings import Settings
from rag_nodes.store import Store, open_store

WAYS = {
    "chunks": QueryOptions(granularity="chunks"),
    "sentences": QueryOptions(),
}
PAGES = 500
"""Chunks of one document."""


def filled(store: Store, chunks: int) -> str:
    """A collection of about so many chunks of 200 tokens, in documents of 500."""
    models = choose_models(Settings(embedding="lexical", llm="extractive"))
    parser = get_parser("recursive", unit="tokens", chunk_size=200, chunk_overlap=0)
    text = text_of("plain", CHARACTERS * chunks)
    size = CHARACTERS * PAGES
    documents = [
        Document(text=text[start : start + size], id_=f"manual {start}")
        for start in range(0, len(text), size)
    ]
    report = ingest_documents(documents, {"recursive": parser}, store, models=models)
    return report.columns[0].collection


def cpu(engine: RagNodesQueryEngine, question: str, runs: int) -> tuple[float, float]:
    """Milliseconds of CPU that retrieval and the whole answer take, the least of some runs."""
    vector = engine.retriever.embed(question)
    found, answered = [], []
    for _ in range(runs):
        started = time.process_time()
        engine.retriever.hits(question, vector)
        found.append(time.process_time() - started)
        started = time.process_time()
        engine.answer(question)
        answered.append(time.process_time() - started)
    return 1000 * min(found), 1000 * min(answered)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    models = choose_models(Settings(embedding="lexical", llm="extractive"))
    with open_store(":memory:") as store:
        collection = filled(store, options.chunks)
        engines = {
            name: RagNodesQueryEngine(
                store=store, collection=collection, models=models, options=way
            )
            for name, way in WAYS.items()
        }
        rows = []
        for name, engine in engines.items():
            times = [cpu(engine, question, options.runs) for question in QUESTIONS]
            cells = [f"{median(column):.1f}" for column in zip(*times, strict=True)]
            rows.append([name, *cells])
        count = store.count(collection)
    print(f"{count:,} chunks")
    print(markdown_table(["read", "retrieval, ms of CPU", "answer, ms of CPU"], rows))


if __name__ == "__main__":
    main()
