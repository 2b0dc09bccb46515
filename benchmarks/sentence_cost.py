"""What reading by sentences costs beside reading whole chunks: CPU time per question.

    python benchmarks/sentence_cost.py --chunks 50000
    python benchmarks/sentence_cost.py --kept       what it would cost to keep sentences with chunks

One embedded collection, the same questions asked in both ways in turn; the median of the questions.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import cache
from statistics import fmean, median

from answer_speed import CHARACTERS, QUESTIONS
from corpora import text_of
from llama_index.core import Document
from measuring import markdown_table

from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions, RagNodesQueryEngine
from rag_nodes.store import Store, open_store
from rag_nodes.store.payload import payload_of
from rag_nodes.text.languages import stemmed
from rag_nodes.text.packing import Packer
from rag_nodes.text.passages.units import units_in
from rag_nodes.text.spans import Span
from rag_nodes.text.words import term_id, words

WAYS = {
    "chunks": QueryOptions(granularity="chunks"),
    "sentences": QueryOptions(),
}
PAGES = 500
"""Chunks of one document."""
READ = 120
"""Chunks that are read for a question: those found, and those beside them."""


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
    vector = engine.retriever.question_vector(question).vector
    written_seconds, answered = [], []
    for _ in range(runs):
        started = time.process_time()
        engine.retriever.hits(question, vector)
        written_seconds.append(time.process_time() - started)
        started = time.process_time()
        engine.answer(question)
        answered.append(time.process_time() - started)
    return 1000 * min(written_seconds), 1000 * min(answered)


def least(work: Callable[[], object], runs: int) -> float:
    """Milliseconds of CPU, the least of some runs."""
    times = []
    for _ in range(runs):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return 1000 * min(times)


def kept(runs: int) -> None:
    """Print what sentences and their stems would take in the payload, and what that would spare."""
    text = text_of("plain", CHARACTERS * READ)
    chunks = get_parser("retrieval")([Document(text=text)])

    def spans(text: str) -> list[Span]:
        return list(units_in(Packer(text, language="en")))

    def cut() -> list[list[str]]:
        return [[span.of(chunk.text) for span in spans(chunk.text)] for chunk in chunks]

    def stems() -> list[list[list[int]]]:
        number = cache(lambda word: term_id(stemmed(word, "en")))
        return [[list(map(number, words(unit))) for unit in units] for units in sentences]

    sentences = cut()
    bounds = [list(map(list, spans(chunk.text))) for chunk in chunks]
    size = fmean(len(json.dumps(payload_of(chunk))) for chunk in chunks)
    rows = []
    for name, values, saved in (("bounds", bounds, cut), ("stems", stems(), stems)):
        texts = [json.dumps(value) for value in values]
        taken = fmean(map(len, texts))
        share = READ / len(chunks)
        made_ms = share * least(saved, runs)
        loaded = share * least(lambda texts=texts: [json.loads(text) for text in texts], runs)
        rows.append(
            [name, f"{taken:.0f}", f"{taken / size:.0%}", f"{made_ms:.1f}", f"{loaded:.1f}"]
        )
    print(f"{len(chunks)} chunks with payloads of {size:.0f} bytes, {READ} read for a question")
    heads = ["kept", "bytes per chunk", "of the payload", "ms to find", "ms to read"]
    print(markdown_table(heads, rows))


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kept", action="store_true", help="what keeping sentences would cost")
    options = parser.parse_args()
    if options.kept:
        kept(options.runs)
        return
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
