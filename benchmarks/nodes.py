"""What a node costs: ours, with everything in it, and LlamaIndex's own way for the same spans.

    python benchmarks/nodes.py

Both get the spans ready-made. Ours adds ids, offsets, pages, headings, an exact token count and
neighbours; LlamaIndex's `build_nodes_from_splits` and `_postprocess_parsed_nodes` add ids,
relations and offsets.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from corpora import text_of
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.node_parser.node_utils import build_nodes_from_splits
from llama_index.core.schema import Document
from measuring import MEGABYTE, interleaved, markdown_table, ratio, save

from rag_nodes.parsers import ChunkSpan, SourceText, SpanNodeParser, get_parser
from rag_nodes.parsers.nodes import build_nodes, link_neighbours
from rag_nodes.parsers.source import origins_of

GOAL = 1 / 3
"""Most of LlamaIndex's time that ours may take."""
MANY = 4_000
PRESETS = {"fixed": {}, "token-overlap": {"chunk_size": 512, "chunk_overlap": 64}}
MICROSECONDS = 1_000_000

Parsed = list[tuple[Document, SourceText, list[ChunkSpan]]]


def parsed(parser: SpanNodeParser, texts: list[str]) -> Parsed:
    """Documents with their spans; their tokens, blocks and headings are worked out already."""
    parses = []
    for number, text in enumerate(texts):
        document = Document(text=text, id_=str(number), metadata={"source": "a/b.md"})
        source = SourceText(text, title="", encoding=parser.tokenizer, language=parser.language)
        cuts = list(parser.spans(source))
        source.packer.headings.path_at(0)
        parses.append((document, source, cuts))
    return parses


def ours(documents: Parsed, name: str) -> list[Any]:
    """Nodes as our engine makes them."""
    nodes = []
    for document, source, cuts in documents:
        for origin in origins_of([document]):
            nodes += build_nodes(origin, source, cuts, parser=name, inherit=True)
    link_neighbours(nodes, relate=True)
    return nodes


def theirs(documents: Parsed, splits: list[list[str]], parser: SentenceSplitter) -> list[Any]:
    """Nodes as LlamaIndex makes them of the same texts."""
    nodes: list[Any] = []
    for (document, _, _), texts in zip(documents, splits, strict=True):
        nodes += build_nodes_from_splits(texts, document, id_func=parser.id_func)
    by_id = {document.node_id: document for document, _, _ in documents}
    return parser._postprocess_parsed_nodes(nodes, by_id)  # noqa: SLF001 -- what is measured


def measure(preset: str, shape: str, megabytes: int, runs: int) -> dict[str, Any]:
    """Microseconds per node of either way, for one preset's spans."""
    text = text_of("markdown", megabytes * MEGABYTE)
    texts = [text] if shape == "one" else [text[i : i + MANY] for i in range(0, len(text), MANY)]
    parser = get_parser(preset, **PRESETS[preset])
    documents = parsed(parser, texts)
    splits = [[d.text[cut.start : cut.end] for cut in cuts] for d, _, cuts in documents]
    stock = SentenceSplitter()
    best = interleaved(
        {
            "ours": lambda: ours(documents, parser.class_name()),
            "theirs": lambda: theirs(documents, splits, stock),
        },
        runs,
    )
    count = sum(map(len, splits))
    each = {name: seconds / count * MICROSECONDS for name, seconds in best.items()}
    return {"preset": preset, "shape": shape, "megabytes": megabytes, "nodes": count, **each}


def table(rows: list[dict[str, Any]]) -> str:
    """One row per kind of spans."""
    header = ["spans of", "nodes", "ours, µs each", "LlamaIndex, µs each", "ours / LlamaIndex"]
    body = []
    for row in rows:
        share = row["ours"] / row["theirs"]
        marked = ratio(share) if share <= GOAL else f"**{ratio(share)}**"
        name = f"{row['preset']}, {row['shape']}, {row['megabytes']} MB"
        body.append([name, str(row["nodes"]), f"{row['ours']:.0f}", f"{row['theirs']:.0f}", marked])
    return markdown_table(header, body)


def main(arguments: list[str] | None = None) -> int:
    """Print the table and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--size", type=int, default=1, help="megabytes")
    options.add_argument("--runs", type=int, default=5)
    chosen = options.parse_args(arguments)
    rows = [
        measure(preset, shape, chosen.size, chosen.runs)
        for preset in PRESETS
        for shape in ("one", "many")
    ]
    print(table(rows))
    print(f"\nraw numbers: {save('nodes', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
