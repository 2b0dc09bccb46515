"""Recall with embedding similarity beside the words, with MiniLM, on parts of labelled sets.

Two tables: the retriever's own path (hybrid search over chunks of 200 tokens, then sentences), and
`SentencePostprocessor` over a stock dense index. Recall of every question is kept in a file, so
that another state of the source can be compared, with 95 % intervals over documents:

    python benchmarks/similarity_weight.py --data FOLDER --pages PAGES.json --cache FOLDER \
        --save before.json
    python benchmarks/similarity_weight.py … --save after.json --before before.json

The model comes from `benchmarks/minilm.py`. Give it one thread (OPENBLAS_NUM_THREADS=1) on a
machine that does other work, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from labelled_sets import LANGUAGES, labelled_set, options_of
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore
from measuring import markdown_table
from minilm import MiniLM

from rag_nodes import SentencePostprocessor
from rag_nodes.evaluation.columns import Searched
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import evaluate
from rag_nodes.evaluation.scoring import best_recall
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.query import QueryOptions
from rag_nodes.query.cache import VectorCache
from rag_nodes.text.spans import Span

BUDGET, SHORT = 1000, 200
"""Tokens that are read; of documents of XQuAD, which have about 1,000, the smaller number."""
DOCUMENTS = {"evidence_inference": 45, "qmsum": 6, "de": 16, "zh": 12, "hi": 10}
"""Documents of each set that are embedded: those with the lowest hash of their path."""
FEWER = {"evidence_inference": 20}
"""The same for the postprocessor's table."""
SMALL_CORPORA = ("chatlogs.md", "state_of_the_union.md", "wikitexts.md")
"""Chroma's small files, which are searched together."""
CANDIDATES = 40
"""Nodes that the stock index gives the postprocessor."""
STOCK = {
    "SentenceSplitter()": SentenceSplitter(),
    "200": SentenceSplitter(chunk_size=200, chunk_overlap=0),
}
AT_200 = ("headed", "chroma")
"""Sets for which the postprocessor also gets nodes of 200 tokens."""
_DRAWS = 2000


class Row(NamedTuple):
    """Recall of every question of a set, in one way of reading, and the questions' documents."""

    recall: list[float]
    documents: list[str]


def part_of(dataset: Dataset, numbers: Mapping[str, int]) -> Dataset:
    """Return the part of a set that is embedded."""
    if dataset.name not in ("chroma", *numbers):
        return dataset
    paths = {
        document.id_: _path(str(document.metadata["source"])) for document in dataset.documents
    }
    if dataset.name == "chroma":
        kept = {document for document, path in paths.items() if path.endswith(SMALL_CORPORA)}
    else:
        kept = set(
            sorted(paths, key=lambda path_id: _digest(paths[path_id]))[: numbers[dataset.name]]
        )
    documents = tuple(document for document in dataset.documents if document.id_ in kept)
    questions = tuple(question for question in dataset.questions if question.document in kept)
    return replace(dataset, documents=documents, questions=questions)


def _path(source: str) -> str:
    """Return the path of a document in its set, such as `de/Normans.txt`."""
    return source.replace("\\", "/").rpartition("documents/")[2]


def _digest(path: str) -> str:
    return hashlib.sha256(f"sub {path}".encode()).hexdigest()


def retrieved(dataset: Dataset, models: Models, cache: Path) -> dict[str, Row]:
    """Measure the retriever's ways of reading a set."""
    parser = get_parser(DEFAULT_PARSER)
    sentences = QueryOptions(mode="hybrid", granularity="sentences")
    columns = {
        "product": Searched(parser, sentences),
        "words alone": Searched(parser, replace(sentences, mode="sparse")),
        "whole chunks, hybrid": Searched(parser, replace(sentences, granularity="chunks")),
        "whole chunks, dense": Searched(parser, QueryOptions(mode="dense", granularity="chunks")),
    }
    budget = _budget(dataset)
    plan = EvaluationPlan(budgets=(budget,), ks=(), sizes=(), target=None, draws=100)
    report = evaluate(dataset, columns, plan=plan, models=models, cache=cache)
    documents = [dataset.names[question.document] for question in dataset.questions]
    return {
        row.column: Row([outcome.scores[f"recall@{budget}"] for outcome in row.outcomes], documents)
        for row in report.of_role("own")
    }


def postprocessed(dataset: Dataset, models: Models, cache: Path) -> dict[str, Row]:
    """Measure a stock dense index with and without `SentencePostprocessor`."""
    rows: dict[str, Row] = {}
    names = [name for name in STOCK if name != "200" or dataset.name in AT_200]
    documents = [dataset.names[question.document] for question in dataset.questions]
    with VectorCache(cache) as vectors:
        model = vectors.of(models).embedding
        for name in names:
            nodes = STOCK[name](list(dataset.documents))
            texts = [node.get_content(MetadataMode.EMBED) for node in nodes]
            matrix = np.array(model.get_text_embedding_batch(texts))
            whole, read = [], []
            for question in dataset.questions:
                vector = np.array(model.get_query_embedding(question.text))
                ranked = _ranked(question, nodes, matrix @ vector)
                whole.append(_recall(dataset, question, _filled(ranked, _budget(dataset))))
                sentences = SentencePostprocessor(_budget(dataset))
                given = sentences.postprocess_nodes(ranked[:CANDIDATES], query_str=question.text)
                read.append(_recall(dataset, question, [node.node for node in given]))
            rows[f"{name}, whole chunks"] = Row(whole, documents)
            rows[f"{name}, postprocessor"] = Row(read, documents)
    return rows


def _ranked(
    question: Question, nodes: Sequence[BaseNode], similarities: np.ndarray
) -> list[NodeWithScore]:
    """Return the nodes of the documents that are asked, nearest first."""
    order = np.argsort(-similarities, kind="stable")
    return [
        NodeWithScore(node=nodes[at], score=float(similarities[at]))
        for at in order
        if question.within is None or nodes[at].ref_doc_id in question.within
    ]


def _filled(ranked: Sequence[NodeWithScore], budget: int) -> list[BaseNode]:
    """Return the nodes that fill a budget, the last one cut."""
    from rag_nodes.text.filling import Ranked, fill

    passages = [
        Ranked(str(node.node.ref_doc_id), _span(node.node), node.node.get_content())
        for node in ranked
    ]
    parts = fill(passages, budget, exact=True).parts
    return [
        node.node.model_copy(update={"start_char_idx": part.start, "end_char_idx": part.end})
        for node, own in zip(ranked, parts, strict=False)
        for part in own
    ]


def _recall(dataset: Dataset, question: Question, nodes: Sequence[BaseNode]) -> float:
    passages = [Passage(str(node.ref_doc_id), _span(node)) for node in nodes]
    return best_recall(passages, question.gold, dataset.texts)


def _span(node: BaseNode) -> Span:
    return Span(node.start_char_idx, node.end_char_idx)  # type: ignore[attr-defined] # text nodes


def _budget(dataset: Dataset) -> int:
    return SHORT if dataset.name in LANGUAGES else BUDGET


def cell(row: Row, before: Row | None) -> str:
    """Return the mean recall in percent, and its difference to another state of the source."""
    mean = f"{100 * fmean(row.recall):.1f}"
    if before is None:
        return mean
    gaps = 100 * (np.array(row.recall) - np.array(before.recall))
    if not gaps.any():
        return f"{mean} (the same)"
    low, high = _interval(gaps, row.documents)
    return f"{mean} ({gaps.mean():+.1f}: {low:+.1f} to {high:+.1f})"


def _interval(gaps: np.ndarray, documents: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % interval of a mean over documents drawn with replacement."""
    names = sorted(set(documents))
    sums = np.array([gaps[[document == name for document in documents]].sum() for name in names])
    counts = np.array([documents.count(name) for name in names])
    draws = np.random.default_rng(0).integers(0, len(names), (_DRAWS, len(names)))
    means = sums[draws].sum(1) / counts[draws].sum(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def tables(
    rows_by_set: Mapping[str, Mapping[str, Row]], before: Mapping[str, Mapping[str, Row]]
) -> Iterator[str]:
    """Yield a table of each kind: ways of reading by set."""
    for kind in ("retriever", "postprocessor"):
        sets = [name for name in rows_by_set if name.startswith(kind)]
        if not sets:
            continue
        rows = list(dict.fromkeys(row for name in sets for row in rows_by_set[name]))
        yield markdown_table(
            [
                kind,
                *(
                    f"{name.partition(' ')[2]} "
                    f"({len(next(iter(rows_by_set[name].values())).recall)})"
                    for name in sets
                ),
            ],
            [
                [
                    row,
                    *(
                        cell(rows_by_set[name][row], before.get(name, {}).get(row))
                        if row in rows_by_set[name]
                        else ""
                        for name in sets
                    ),
                ]
                for row in rows
            ],
        )


def load(path: Path | None) -> dict[str, dict[str, Row]]:
    """Return what an earlier run kept; nothing without a file."""
    if path is None or not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: {row: Row(*values) for row, values in rows.items()} for name, rows in kept.items()
    }


def main() -> None:
    """Measure, keep and print."""
    parser = options_of(__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps vectors")
    parser.add_argument("--save", type=Path, required=True, help="file for the recall of questions")
    parser.add_argument("--before", type=Path, help="file of another state of the source")
    parser.add_argument("--kinds", nargs="+", default=["retriever", "postprocessor"])
    options = parser.parse_args()
    models = Models.of(embed_model=MiniLM(), llm="extractive")
    rows_by_set = load(options.save)
    for kind in options.kinds:
        for name in options.sets:
            numbers = DOCUMENTS | (FEWER if kind == "postprocessor" else {})
            dataset = part_of(labelled_set(name, options.data, options.pages), numbers)
            measure = retrieved if kind == "retriever" else postprocessed
            rows_by_set[f"{kind} {name}"] = measure(dataset, models, options.cache)
            options.save.write_text(json.dumps(rows_by_set), encoding="utf-8")
            print(
                kind,
                name,
                {row: cell(value, None) for row, value in rows_by_set[f"{kind} {name}"].items()},
                flush=True,
            )
    for table in tables(rows_by_set, load(options.before)):
        print(f"\n{table}")


if __name__ == "__main__":
    main()
