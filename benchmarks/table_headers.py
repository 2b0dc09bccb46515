"""Recall of cells of tables, and how many excerpts that begin inside a table have its header.

Questions are in `questions/tables.json`, their documents in a folder of yours. Each answer is a
cell, which the script finds by the text of its row up to it:

    python benchmarks/table_headers.py --documents FOLDER --write after.json
    python benchmarks/table_headers.py --documents FOLDER --before before.json

The second prints the differences to a file that the first wrote with another state of the source,
with 95 % intervals of a paired bootstrap. `--minilm` searches with all-MiniLM-L6-v2, by `--mode`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from llama_index.core.schema import Document
from measuring import markdown_table
from minilm import MiniLM

from rag_nodes import Comparison, QueryOptions, read
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.scoring import best_recall
from rag_nodes.text.formats import blocks_of, format_in
from rag_nodes.text.markdown import Kind
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from rag_nodes.query import Source
    from rag_nodes.text.markdown import Block

QUESTIONS = Path(__file__).parent / "questions" / "tables.json"
BUDGET = 500
COLUMNS = ("retrieval", "fixed", "token-overlap", "heading")
GRANULARITIES = ("sentences", "chunks")
PARTS = ("development", "test")
_SAMPLES = 10_000


class Asked(NamedTuple):
    """A question, the part of the set that it belongs to, and the cell that answers it."""

    question: str
    part: str
    cell: Passage


def labelled(folder: Path) -> tuple[dict[str, Document], list[Asked]]:
    """Read the documents and find each answer; stop at one that is not exactly there."""
    documents, asked = {}, []
    for entry in json.loads(QUESTIONS.read_text(encoding="utf-8"))["documents"]:
        document = read(str(folder / entry["file"]))
        documents[document.id_] = document
        for question in entry["questions"]:
            row, answer = question["row"], question["answer"]
            if document.text.count(row) != 1 or answer not in row:
                raise SystemExit(f"{entry['file']}: {row!r} is not there once, with {answer!r}")
            start = document.text.index(row) + row.rindex(answer)
            cell = Passage(document.id_, Span(start, start + len(answer)))
            asked.append(Asked(question["question"], question["part"], cell))
    return documents, asked


def main() -> None:
    """Print recall and the share of headed excerpts, for each column and part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=Path, required=True, help="folder with the files")
    parser.add_argument("--mode", default="sparse", choices=["sparse", "dense", "hybrid"])
    parser.add_argument("--minilm", action="store_true", help="embed with all-MiniLM-L6-v2")
    parser.add_argument("--write", type=Path, help="file for the values of each question")
    parser.add_argument("--before", type=Path, help="file of another state to compare with")
    options = parser.parse_args()
    documents, asked = labelled(options.documents)
    values: dict[str, list[float | None]] = defaultdict(list)
    for granularity in GRANULARITIES:
        for name, value in measured(documents, asked, options, granularity):
            values[name].append(value)
    for name in [name_of_part for name_of_part in values if name_of_part.endswith(PARTS[0])]:
        both = name.removesuffix(PARTS[0]) + "both"
        values[both] = values[name] + values[name.removesuffix(PARTS[0]) + PARTS[1]]
    if options.write:
        options.write.write_text(json.dumps(values))
    before = json.loads(options.before.read_text()) if options.before else {}
    rows = [
        [name, str(sum(value is not None for value in own)), *_shown(own, before.get(name))]
        for name, own in values.items()
    ]
    print(
        markdown_table(
            ["measure: column, reading, part", "questions", "%", "before", "difference"], rows
        )
    )


def measured(
    documents: dict[str, Document], asked: list[Asked], options: Any, granularity: str
) -> Iterator[tuple[str, float | None]]:
    """Yield recall of each question, and the share of its excerpts inside tables with a header.

    By name; means of the columns have the name "all". A share is None if no excerpt begins inside a
    table.
    """
    tables = {name: _tables_of(document) for name, document in documents.items()}
    settings: Any = {"mode": options.mode, "granularity": granularity, "step_factor": 1.0}
    model = MiniLM() if options.minilm else "lexical"
    texts = {name: document.text for name, document in documents.items()}
    with Comparison(
        {name: name for name in COLUMNS},
        documents=list(documents.values()),
        options=QueryOptions(budget=BUDGET, **settings),
        embed_model=model,
    ) as comparison:
        for question in asked:
            recalls, shares = [], []
            for column in comparison.ask(question.question).columns:
                name = f"{column.name}, {granularity}, {question.part}"
                sources = column.answer.sources
                read_by = [
                    Passage(each.hit.read.ref_doc_id, each.span)
                    for source in sources
                    for each in source.excerpts
                ]
                headed = [share for source in sources for share in _headed(source, tables)]
                recalls.append(best_recall(read_by, [(question.cell,)], texts))
                shares += headed
                yield f"recall: {name}", recalls[-1]
                yield f"header: {name}", fmean(headed) if headed else None
            yield f"recall: all, {granularity}, {question.part}", fmean(recalls)
            yield f"header: all, {granularity}, {question.part}", fmean(shares) if shares else None


def _headed(source: Source, tables: dict[str, list[Block]]) -> Iterator[float]:
    """Yield 1 for an excerpt that begins inside a table and is read below its header, else 0.

    The header is a line, or the rows themselves, in an excerpt before it.
    """
    for number, each in enumerate(source.excerpts):
        if each.span is None:
            continue
        for table in tables[each.hit.read.ref_doc_id]:
            if table.start < each.span.start < table.end:
                before = source.excerpts[:number]
                rows = any(span.span.start <= table.start < span.span.end for span in before)
                yield float(rows or "\nTable: " in f"\n{source.text}")


def _tables_of(document: Document) -> list[Block]:
    blocks = blocks_of(document.text, format_in(document.metadata, document.text))
    return [block for block in blocks if block.kind is Kind.TABLE]


def _shown(own: list[float | None], before: list[float | None] | None) -> list[str]:
    """Return a mean, that of before, and the difference with its interval, in percent.

    Of the questions that have a value in both states.
    """
    mean = _percent(own)
    if not before:
        return [mean, "", ""]
    pairs = [(a, b) for a, b in zip(own, before, strict=True) if a is not None and b is not None]
    differences = 100 * (np.array([a for a, _ in pairs]) - np.array([b for _, b in pairs]))
    rng = np.random.default_rng(0)
    means = rng.choice(differences, (_SAMPLES, len(differences))).mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return [mean, _percent(before), f"{differences.mean():+.1f} ({low:+.1f} to {high:+.1f})"]


def _percent(values: list[float | None]) -> str:
    return f"{100 * fmean(value for value in values if value is not None):.1f}"


if __name__ == "__main__":
    main()
