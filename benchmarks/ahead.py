"""What encoding in other threads gains, by the clock and in CPU time: run it alone.

    python benchmarks/ahead.py

1 is the tokenizer on the same text in one thread. On a machine whose two processors share a core,
threads cost CPU time and still save time by the clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from corpora import text_of
from llama_index.core.schema import Document
from measuring import MEGABYTE, markdown_table

from rag_nodes.parsers import (
    FixedSizeNodeParser,
    HeadingHierarchyNodeParser,
    SpanNodeParser,
    TokenOverlapNodeParser,
)
from rag_nodes.text import ahead
from rag_nodes.text.tokens import load_encoding

RUNS = 4
MANY = 4_000
"""Characters of each of many documents."""
NEVER = sys.maxsize
PARSERS: dict[str, SpanNodeParser] = {
    "TokenOverlap 512/64": TokenOverlapNodeParser(
        chunk_size=512, chunk_overlap=64, whole_document_below=0
    ),
    "FixedSize 512/64 tokens": FixedSizeNodeParser(chunk_size=512, chunk_overlap=64, unit="tokens"),
    "HeadingHierarchy 512": HeadingHierarchyNodeParser(chunk_size=512),
}
TEXTS = {
    f"{kind}, {shape}": (kind, shape)
    for kind in ("plain", "markdown", "pdf")
    for shape in ("one", "many")
}


def timed(work: Callable[[], object], best: tuple[float, float]) -> tuple[float, float]:
    """The better of this run and the best so far: seconds by the clock, and of CPU."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return min(best[0], time.perf_counter() - clock), min(best[1], time.process_time() - cpu)


def ratios(kind: str, shape: str) -> dict[str, str]:
    """By parser: clock and CPU with threads, clock without."""
    text = text_of(kind, MEGABYTE)
    step = len(text) if shape == "one" else MANY
    texts = [text[start : start + step] for start in range(0, len(text), step)]
    documents = [Document(text=text, id_=str(number)) for number, text in enumerate(texts)]
    encode = load_encoding("cl100k_base").encode_ordinary
    worth = ahead._WORTH  # noqa: SLF001 - to turn threads off
    reference = (float("inf"), float("inf"))
    best = {(name, size): reference for name in PARSERS for size in (worth, NEVER)}
    for _ in range(RUNS):
        reference = timed(lambda: [encode(text) for text in texts], reference)
        for (name, size), known in best.items():
            ahead._WORTH = size  # noqa: SLF001 - the same
            best[name, size] = timed(lambda name=name: PARSERS[name](documents), known)
    ahead._WORTH = worth  # noqa: SLF001 - the same
    found = {}
    for name in PARSERS:
        clock, cpu = best[name, worth]
        alone, _ = best[name, NEVER]
        found[name] = (
            f"{reference[0] / clock:.2f} / {reference[1] / cpu:.2f} / {reference[0] / alone:.2f}"
        )
    return found


def main() -> int:
    """Print the table."""
    columns = {name: ratios(*what) for name, what in TEXTS.items()}
    print("clock with threads / CPU with threads / clock without\n")
    rows = [[name, *(column[name] for column in columns.values())] for name in PARSERS]
    print(markdown_table(["parser", *columns], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
