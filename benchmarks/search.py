"""Embedded Qdrant: our engine in process next to LlamaIndex's vector store on local mode.

    python benchmarks/search.py --chunks 50000
    python benchmarks/search.py --sessions 100
    python benchmarks/search.py --indexes 30000

Both write the same embedded nodes into a folder and answer the same questions. CPU time of the
whole process, since other work on the machine does not count there.

Sessions are stores in memory, of four collections each, all of them open at once.

With `--indexes` longer chunks are written with indexes of no key of the payload, of those that
every collection has, and of all that filters may name; then one is made later, as by the first
filter, and one of a key that no chunk has.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import numpy as np
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.vector_stores.qdrant import QdrantVectorStore
from measuring import markdown_table
from qdrant_client import QdrantClient

from rag_nodes.core.metadata import ALSO_AT, FILE_NAME, HEADING_PATH, PAGE_END, PAGE_START
from rag_nodes.store import Query, open_store
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.conditions import INDEXES
from rag_nodes.store.edge import collection, shards
from rag_nodes.store.vector_store import RagNodesVectorStore

DIMENSION = 384
WORDS = 130
"""Of a chunk."""
QUESTIONS = 20
WRITES = 5
"""Of ten chunks each, with a question after each: one alone says what else the machine did."""
BATCH = 256
_FILES = 50
COLUMNS = 4
"""Collections of a session."""
SESSION_CHUNKS = 100
"""Chunks of each."""
LONGER = {"dimension": 1_024, "words": 300}
"""Chunks of some 512 tokens."""


def nodes(count: int, dimension: int = DIMENSION, words: int = WORDS) -> Iterator[TextNode]:
    """Chunks of words that are as unequally frequent as those of a language."""
    picked, numbers = random.Random(0), np.random.default_rng(0)  # noqa: S311 -- no secret
    vocabulary = [f"word{number}" for number in range(20_000)]
    weights = [1 / (1 + number) for number in range(len(vocabulary))]
    for number in range(count):
        vector = numbers.standard_normal(dimension).astype(np.float32)
        yield TextNode(
            id_=str(uuid5(NAMESPACE_DNS, str(number))),
            text=" ".join(picked.choices(vocabulary, weights, k=words)),
            embedding=(vector / np.linalg.norm(vector)).tolist(),
            metadata={
                FILE_NAME: f"file{number % _FILES}.pdf",
                PAGE_START: number % 100 + 1,
                PAGE_END: number % 100 + 1,
                HEADING_PATH: ["Manual", f"Chapter {number % 7}"],
            },
        )


def questions() -> list[tuple[list[float], str]]:
    """Vector and words of each."""
    picked, numbers = random.Random(1), np.random.default_rng(1)  # noqa: S311 -- no secret
    return [
        (
            numbers.standard_normal(DIMENSION).tolist(),
            " ".join(f"word{picked.randrange(200)}" for _ in range(6)),
        )
        for _ in range(QUESTIONS)
    ]


def stock(folder: str) -> BasePydanticVectorStore:
    """LlamaIndex's vector store on qdrant-client's local mode."""
    warnings.filterwarnings("ignore", category=UserWarning)
    return QdrantVectorStore(
        "chunks",
        client=QdrantClient(path=folder),
        enable_hybrid=True,
        sparse_doc_fn=document_vectors,
        sparse_query_fn=query_vectors,
        batch_size=BATCH,
        index_doc_id=False,
    )


def ours(folder: str) -> BasePydanticVectorStore:
    """The engine in process."""
    return RagNodesVectorStore(folder, "chunks")


SIDES: dict[str, Callable[[str], BasePydanticVectorStore]] = {"stock": stock, "ours": ours}


def cpu(work: Callable[[], object], times: int = 1) -> float:
    """Milliseconds of CPU that one call takes."""
    started = time.process_time()
    for _ in range(times):
        work()
    return 1000 * (time.process_time() - started) / times


def asked(vectors: Any, **options: Any) -> Callable[[], object]:
    """All questions, one after the other."""
    top_k = {"similarity_top_k": 10, "sparse_top_k": 10, "hybrid_top_k": 10, **options}

    def ask() -> None:
        for vector, words in questions():
            vectors.query(VectorStoreQuery(query_embedding=vector, query_str=words, **top_k))

    return ask


def measured(side: str, folder: str, count: int) -> dict[str, float]:
    """Milliseconds of CPU, of a question where it is not said otherwise."""
    every = list(nodes(count))
    vectors = SIDES[side](folder)

    def write() -> None:
        for first in range(0, count, BATCH):
            vectors.add(every[first : first + BATCH])

    hybrid = {"mode": VectorStoreQueryMode.HYBRID}
    one_file = MetadataFilters(filters=[MetadataFilter(key=FILE_NAME, value="file3.pdf")])
    seconds = {"write, per 1,000 chunks": cpu(write) * 1000 / count}
    seconds["first question"] = cpu(asked(vectors, **hybrid)) / QUESTIONS
    for name, options in {
        "dense": {},
        "hybrid": hybrid,
        "hybrid, one file": {**hybrid, "filters": one_file},
    }.items():
        seconds[name] = cpu(asked(vectors, **options)) / QUESTIONS
    after = 0.0
    for number, (vector, words) in enumerate(questions()[:WRITES]):
        vectors.add(every[10 * number : 10 * number + 10])
        query = VectorStoreQuery(
            query_embedding=vector, query_str=words, similarity_top_k=10, sparse_top_k=10, **hybrid
        )
        after += cpu(lambda query_asked=query: vectors.query(query_asked))
    seconds["first after a write"] = after / WRITES
    getattr(vectors, "close", vectors.client.close)()
    return seconds


def reopened(side: str, folder: str) -> None:
    """Print the milliseconds of a process that opens a folder and asks one question."""
    vector, words = questions()[0]
    query = VectorStoreQuery(query_embedding=vector, query_str=words, similarity_top_k=10)
    print(cpu(lambda: SIDES[side](folder).query(query)))


def memory() -> dict[str, float]:
    """Megabytes of this process: its own, and of mapped files, which the system may take back."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile")}


def of_sessions(count: int) -> None:
    """Print what so many sessions take while all are open, each of them asked once."""
    every = list(nodes(SESSION_CHUNKS))
    vector, words = questions()[0]
    with open_store() as warm_up:
        warm_up.add("warm", every)
    before, started = memory(), time.process_time()
    stores = [open_store() for _ in range(count)]
    for store in stores:
        for column in range(COLUMNS):
            store.add(f"column {column}", every)
    written, asked = time.process_time() - started, 0.0
    for store in stores:
        for column in range(COLUMNS):
            asked += cpu(
                lambda c=column, s=store: s.search(
                    f"column {c}", Query(vector=vector, text=words, limit=10)
                )
            )
    after = memory()
    for store in stores:
        store.close()
    grown = {name: after[name] - before[name] for name in before}
    rows = [
        ["memory of its own, MB", f"{grown['RssAnon']:.0f}"],
        ["mapped files, MB", f"{grown['RssFile']:.0f}"],
        ["writing a session, ms", f"{1000 * written / count:.0f}"],
        ["a question, ms", f"{asked / count / COLUMNS:.1f}"],
    ]
    print(f"{count} sessions of {COLUMNS} collections of {SESSION_CHUNKS} chunks\n")
    print(markdown_table(["", "together"], rows))


def of_indexes(folder: Path, count: int) -> None:
    """Print what writing takes with indexes of some keys, and what making one later does."""
    rows, original, sealed = [], shards.seal, 0.0

    def tidy(shard: Any) -> None:
        nonlocal sealed
        sealed += cpu(lambda: original(shard))

    shards.seal = tidy
    for name, keys in {"no": {}, "the usual": collection.USUAL, "all": INDEXES}.items():
        collection.USUAL, written, sealed = keys, 0.0, 0.0
        with open_store(folder / name) as store:
            every = nodes(count, **LONGER)
            while batch := list(islice(every, BATCH)):
                written += cpu(lambda s=store, n=batch: s.add("chunks", n))
            rows.append([name, *(f"{each / 1000:.1f}" for each in (written, sealed))])
            if not keys:
                find_by = store.engine.collection("chunks").find_by
                seconds = [
                    cpu(partial(find_by, {key: INDEXES[key]})) for key in (FILE_NAME, ALSO_AT)
                ]
        shutil.rmtree(folder / name)
    print(f"{count:,} chunks of {LONGER['dimension']:,} dimensions, seconds of CPU\n")
    print(markdown_table(["indexed keys", "to write", "of these, to seal"], rows))
    later, of_none = (each / 1000 for each in seconds)
    print(f"\nMade later: {later:.2f}; of a key that no chunk has: {of_none:.2f}")


def main() -> None:
    """Measure both sides, one after the other, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, help="measure so many sessions in memory instead")
    parser.add_argument("--indexes", type=int, help="measure indexes on so many chunks instead")
    parser.add_argument("--folder", help="where the folders are made; the system's choice if none")
    parser.add_argument("--reopen", nargs=2, metavar=("SIDE", "FOLDER"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.reopen:
        reopened(*chosen.reopen)
        return
    if chosen.sessions:
        of_sessions(chosen.sessions)
        return
    if chosen.indexes:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            of_indexes(Path(folder), chosen.indexes)
        return
    results: dict[str, dict[str, float]] = {}
    for side in SIDES:
        folder = tempfile.mkdtemp(dir=chosen.folder)
        try:
            results[side] = measured(side, folder, chosen.chunks)
            command = [sys.executable, __file__, "--reopen", side, folder]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 -- this very file
            results[side]["reopen and ask once"] = float(done.stdout)
        finally:
            shutil.rmtree(folder)
    rows = [
        [
            name,
            f"{value:,.1f}",
            f"{results['ours'][name]:,.1f}",
            f"{value / results['ours'][name]:.1f}",
        ]
        for name, value in results["stock"].items()
    ]
    print(f"{chosen.chunks:,} chunks of {DIMENSION} dimensions, milliseconds of CPU\n")
    print(markdown_table(["", "LlamaIndex on local mode", "ours", "ratio"], rows))


if __name__ == "__main__":
    if Path(__file__).parent not in map(Path, sys.path):
        sys.path.insert(0, str(Path(__file__).parent))
    main()
