"""Files to stored chunks on disk: ours next to a stock pipeline of LlamaIndex, and our memory.

    python benchmarks/ingest.py                     a minute: 4 MB of text, 4 PDFs, 2,000 chunks
    python benchmarks/ingest.py --megabytes 100 --files 8000 --pdfs 40 --chunks 10000 100000
    taskset -c 0,1 python benchmarks/ingest.py --only sides --workers 2 --megabytes 20
    python benchmarks/ingest.py --only write --chunks 10000
    python benchmarks/ingest.py --only memory --chunks 10000 100000
    python benchmarks/ingest.py --only again --megabytes 8 --files 8000 --pdfs 0

Both sides embed with the same offline model and weigh words by the same BM25; both cut to 512
tokens with an overlap of 64. Theirs is `SimpleDirectoryReader`, for PDFs PyMuPDF page by page, and
`IngestionPipeline` with `SentenceSplitter` and `QdrantVectorStore` on local mode. Each side has a
process of its own, which stores one file before the watches start; `--workers` is for ours, and
theirs has none. CPU time and memory count children, each with all that it holds; other work on the
machine shows on the clock only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora import endless, fill, taken
from llama_index.core.schema import BaseNode, Document
from measuring import MEGABYTE, Watch, markdown_table, memory, save

if TYPE_CHECKING:
    from rag_nodes.store import Store

SIZE, OVERLAP = 512, 64
_TOGETHER = 200
"""Chunks that are written together, as an ingest does."""
_WATCH = 0.1
"""Seconds between two looks at the memory of a child."""
_BEGUN = "begun"
"""What a child says when it is warm and starts what is measured."""
_BYTE_CODE = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}
"""Variables that say whether and where byte code is kept."""
_REPEATS = 5
"""Runs of each command of which the least is told."""


def ours(corpus: Path, store: Path, workers: int) -> int:
    """What `rag-nodes ingest --workers` does; gives the number of chunks."""
    from rag_nodes.models.executors import Pool
    from rag_nodes.parsers import get_parser
    from rag_nodes.pipeline import ingest
    from rag_nodes.store import open_store

    parser = get_parser("token-overlap", chunk_size=SIZE, chunk_overlap=OVERLAP)
    executor = Pool(workers) if workers > 1 else None
    with open_store(store) as opened:
        report = ingest(
            [corpus], {"chunks": parser}, opened, embed_model="lexical", executor=executor
        )
    return report.columns[0].chunks


def stock(corpus: Path, store: Path, _workers: int) -> int:
    """LlamaIndex, with the same embedding and the same BM25; gives the number of chunks."""
    from llama_index.core import SimpleDirectoryReader
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

    from rag_nodes.models.lexical import LexicalEmbedding
    from rag_nodes.store.bm25 import document_vectors, query_vectors

    warnings.filterwarnings("ignore", category=UserWarning)
    client = QdrantClient(path=str(store))
    vectors = QdrantVectorStore(
        "chunks",
        client=client,
        enable_hybrid=True,
        sparse_doc_fn=document_vectors,
        sparse_query_fn=query_vectors,
        index_doc_id=False,
    )
    splitter = SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)
    pipeline = IngestionPipeline(
        transformations=[splitter, LexicalEmbedding()], vector_store=vectors, disable_cache=True
    )
    texts = SimpleDirectoryReader(str(corpus), recursive=True, exclude=["*.pdf"]).load_data()
    pages = [page for path in sorted(corpus.rglob("*.pdf")) for page in _pages(path)]
    chunks = len(pipeline.run(documents=[*texts, *pages]))
    client.close()
    return chunks


def _pages(path: Path) -> Iterator[Document]:
    """A PDF as LlamaIndex's reader on PyMuPDF gives it."""
    import pymupdf

    with pymupdf.open(path) as opened:
        for number, page in enumerate(opened, start=1):
            facts = {"file_path": str(path), "source": number}
            yield Document(text=page.get_text(), metadata=facts)


SIDES = {work.__name__: work for work in (stock, ours)}


def forgotten(store: Path, chunks: int) -> int:
    """Like `streamed`, but all that would be stored is made and dropped: what is ours alone."""
    from rag_nodes.store.edge.memory import MemoryEdge
    from rag_nodes.store.payload import points_of
    from rag_nodes.store.store import Store

    class Forgetful(Store):
        def add(self, collection: str, nodes: Sequence[BaseNode]) -> None:
            del collection
            points_of(nodes)

    store.mkdir()
    with Forgetful(MemoryEdge()) as opened:
        return _streamed(opened, chunks)


def streamed(store: Path, chunks: int) -> int:
    """Store chunks of documents that are made as they are taken; gives their number."""
    from rag_nodes.store import open_store

    with open_store(store) as opened:
        return _streamed(opened, chunks)


def _streamed(store: Store, chunks: int) -> int:
    from rag_nodes.parsers import get_parser
    from rag_nodes.pipeline import ingest_documents

    parser = get_parser("fixed", chunk_size=SIZE, chunk_overlap=0)
    text = endless("plain", None, random.Random(1))  # noqa: S311 -- no secret
    documents = (
        Document(text=taken(text, 10 * SIZE), id_=str(number)) for number in range(chunks // 10)
    )
    report = ingest_documents(documents, {"chunks": parser}, store, embed_model="lexical")
    return report.columns[0].chunks


def alone(store: Path, chunks: int) -> int:
    """Store such chunks without an ingest: what the engine takes by itself."""
    from llama_index.core.schema import TextNode

    from rag_nodes.models.lexical import LexicalEmbedding
    from rag_nodes.store import open_store

    text = endless("plain", None, random.Random(1))  # noqa: S311 -- no secret
    model = LexicalEmbedding()
    with open_store(store) as opened:
        for first in range(0, chunks, _TOGETHER):
            numbers = range(min(_TOGETHER, chunks - first))
            opened.add("chunks", model([TextNode(text=taken(text, SIZE)) for _ in numbers]))
    return chunks


def written(side: str, store: Path, nodes: Sequence[BaseNode]) -> int:
    """Store embedded nodes, which `search.py` makes, in a vector store of LlamaIndex."""
    import search

    vectors = search.SIDES[side](str(store))
    for first in range(0, len(nodes), search.BATCH):
        vectors.add(list(nodes[first : first + search.BATCH]))
    getattr(vectors, "close", vectors.client.close)()
    return len(nodes)


STREAMS = {work.__name__: work for work in (streamed, forgotten, alone)}


def _cpu() -> float:
    return sum(os.times()[:4])


def child(work: str, folder: Path, corpus: Path, number: int) -> None:
    """Print what a side or a stream takes, after a first file.

    Args:
        work: name of the side, or of what else is measured.
        folder: an empty one.
        corpus: the files of a side.
        number: of workers of a side, of chunks of all else.
    """
    store = folder / "store"
    if work in SIDES:
        first = folder / "first"
        first.mkdir()
        (first / "first.txt").write_text("A sentence of some words. " * 200, encoding="utf-8")
        SIDES[work](first, folder / "warm", 1)
        run = partial(SIDES[work], corpus, store, number)
    elif work in STREAMS:
        STREAMS[work](folder / "warm", 10)
        run = partial(STREAMS[work], store, number)
    else:
        import search

        nodes = list(search.nodes(number))
        run = partial(written, work.removeprefix("write-"), store, nodes)
    print(_BEGUN, flush=True)
    cpu, clock = _cpu(), time.perf_counter()
    stored = run()
    figures = {
        "cpu": _cpu() - cpu,
        "wall": time.perf_counter() - clock,
        "peak": memory("self", "VmHWM"),
    }
    disk = sum(path.stat().st_blocks * 512 for path in store.rglob("*") if path.is_file())
    print(json.dumps({"chunks": stored, "disk": disk / MEGABYTE, **figures}))


def measured(work: str, place: str | None, corpus: Path, number: int) -> dict[str, float]:
    """What a child says, and its memory."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        command = [sys.executable, __file__, "--child", work, folder, str(corpus), str(number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603 -- this very file
            lines = iter(running.stdout or ())
            _ = next((line for line in lines if line == f"{_BEGUN}\n"), "")
            with Watch(running.pid, _WATCH) as watch:
                output = list(lines)
        if running.returncode:
            raise subprocess.CalledProcessError(running.returncode, command)
        figures: dict[str, float] = json.loads(output[-1])
        return {**figures, "anonymous": watch.most}


def again(place: str | None, corpus: Path) -> dict[str, float]:
    """CPU seconds of whole commands over files of which none changed, the least of some runs."""
    figures: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        # With byte code, as there is where pip installed the package.
        environment = {name: value for name, value in os.environ.items() if name not in _BYTE_CODE}
        environment["PYTHONPYCACHEPREFIX"] = f"{folder}/byte-code"
        at = ["--store", f"{folder}/store"]
        ingest = ["ingest", str(corpus), *at, "--parser", "token-overlap", "--embedding", "lexical"]
        commands = {
            "ingest": ["-m", "rag_nodes.cli", *ingest],
            "status": ["-m", "rag_nodes.cli", "status", *at],
            "list": ["-m", "rag_nodes.cli", "list", *at],
            "import llama_index.core": ["-c", "import llama_index.core"],
        }
        for number in range(_REPEATS + 1):
            for name, command in commands.items():
                before = _cpu()
                subprocess.run(  # noqa: S603 - our own commands
                    [sys.executable, *command], check=True, capture_output=True, env=environment
                )
                figures[name if number else f"{name}, the first time"].append(_cpu() - before)
    least = {name: min(seconds) for name, seconds in figures.items()}
    rows = [[name, f"{seconds:.2f}"] for name, seconds in least.items()]
    print("\n" + markdown_table(["command", "CPU seconds"], rows), flush=True)
    return least


def _table(figures: dict[str, dict[str, float]]) -> dict[str, Any]:
    for run in figures.values():
        run["per chunk"] = 1000 * run["cpu"] / run["chunks"]
    rows = []
    for name, key, digits in (
        ("chunks", "chunks", 0),
        ("CPU seconds", "cpu", 1),
        ("seconds", "wall", 1),
        ("CPU milliseconds a chunk", "per chunk", 2),
        ("peak of memory, MB", "peak", 0),
        ("of it not mapped from files, MB", "anonymous", 0),
        ("MB on disk", "disk", 0),
    ):
        values = [run[key] for run in figures.values()]
        times = f"{values[0] / values[1]:.1f}" if len(values) > 1 else ""
        rows.append([name, *(f"{value:,.{digits}f}" for value in values), times])
    print(markdown_table(["", *figures, "ratio" if len(figures) > 1 else ""], rows), flush=True)
    return figures


def streams(chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure streamed runs, and print their memory, with the engine's and without."""
    figures = {
        f"{number:,} {name}": measured(name, chosen.folder, Path(), number)
        for name in STREAMS
        for number in chosen.chunks
    }
    rows = [
        [name, *(f"{run[key]:,.0f}" for key in ("cpu", "anonymous", "peak", "disk"))]
        for name, run in figures.items()
    ]
    header = ["chunks", "CPU seconds", "not mapped, MB", "peak, MB", "on disk, MB"]
    print("\n" + markdown_table(header, rows), flush=True)
    return figures


def main() -> None:
    """Make the files, measure, and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=4, help="of text")
    parser.add_argument("--files", type=int, default=400, help="of text")
    parser.add_argument("--pdfs", type=int, default=4)
    parser.add_argument("--source", type=Path, help="folder of texts to take paragraphs from")
    parser.add_argument("--workers", type=int, default=1, help="processes of ours")
    parser.add_argument("--chunks", type=int, nargs="+", default=[2_000])
    parser.add_argument("--only", choices=["sides", "ours", "write", "again", "memory"])
    parser.add_argument("--folder", help="where all is made; the system's choice if none")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        work, folder, files, number = chosen.child
        child(work, Path(folder), Path(files), int(number))
        return
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        corpus = Path(folder)
        if chosen.only not in {"memory", "write"}:
            fill(corpus, chosen.megabytes, chosen.files, chosen.pdfs, chosen.source)
            print(f"{chosen.megabytes:g} MB in {chosen.files:,} texts, {chosen.pdfs} PDFs\n")
        if chosen.only in {None, "sides", "ours"}:
            names = ["ours"] if chosen.only == "ours" else list(SIDES)
            results["sides"] = _table(
                {name: measured(name, chosen.folder, corpus, chosen.workers) for name in names}
            )
        if chosen.only in {None, "write"}:
            print()
            many = chosen.chunks[0]
            results["write"] = _table(
                {side: measured(f"write-{side}", chosen.folder, Path(), many) for side in SIDES}
            )
        if chosen.only in {None, "again"}:
            results["again"] = again(chosen.folder, corpus)
        if chosen.only in {None, "memory"}:
            results["memory"] = streams(chosen)
    save("ingest", results)


if __name__ == "__main__":
    main()
