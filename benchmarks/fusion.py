"""Which ranking finds the passages that answer: by meaning, by words, or both, fused three ways.

    python benchmarks/fusion.py --data FOLDER

FOLDER holds `questions_dev.json` and `corpora/*.md` of the Chroma report on chunking; they are not
part of this repository. Measured is recall within a token budget, so that rankings of large and of
small chunks compare; a question's recall is its mean over the strategies.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llama_index.core.schema import Document
from measuring import markdown_table, save

from rag_nodes.core.metadata import SOURCE, SOURCE_HASH
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation import Passage, recall
from rag_nodes.evaluation.scoring import ContextRead
from rag_nodes.models import Models, choose_models
from rag_nodes.parsers import COMPARED, PRESETS, get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.store import Hit, Query, Store, open_store, parser_collection
from rag_nodes.text.filling import Ranked
from rag_nodes.text.spans import Span

RANKINGS: dict[str, dict[str, Any]] = {
    "dense": {"mode": "dense"},
    "sparse (BM25)": {"mode": "sparse"},
    "rank fusion": {"fusion": "rank"},
    "score fusion (z-score)": {"fusion": "score"},
}
"""What is compared, as options of a query; the default of the library comes last."""
DEFAULT = "score fusion (z-score)"
DEPTH = 100
"""Chunks looked at per question: more than any budget here holds."""
_RESAMPLES = 10_000
_SEED = 20_26
_LEVELS = (2.5, 97.5)
"""Percentiles of a 95 % interval."""


class Labelled(NamedTuple):
    """A question and the passages that answer it."""

    corpus: str
    question: str
    gold: list[Passage]


def labelled(folder: Path) -> list[Labelled]:
    """The questions of the data set."""
    rows = json.loads((folder / "questions_dev.json").read_text(encoding="utf-8"))
    return [
        Labelled(
            row["corpus"],
            row["question"],
            [
                Passage(row["corpus"], Span(reference["start"], reference["end"]))
                for reference in row["references"]
            ],
        )
        for row in rows
    ]


def recalls(
    folder: Path, strategies: Iterable[str], models: Models, budget: int
) -> dict[str, list[float]]:
    """Recall of every question by ranking, each the mean over the strategies."""
    asked = labelled(folder)
    texts = {corpus: _text(folder, corpus) for corpus in {question.corpus for question in asked}}
    vectors = [models.embedding.get_query_embedding(question.question) for question in asked]
    sums = {name: np.zeros(len(asked)) for name in RANKINGS}
    names = list(strategies)
    for strategy in names:
        with open_store() as store:
            collections = _ingested(
                folder, {question.corpus for question in asked}, strategy, store, models
            )
            for number, (question, vector) in enumerate(zip(asked, vectors, strict=True)):
                for name, options in RANKINGS.items():
                    hits = store.search(
                        collections[question.corpus],
                        Query(
                            vector=vector,
                            text=question.question,
                            limit=DEPTH,
                            **options,
                        ),
                    )
                    sums[name][number] += _recall(question, hits, budget, texts)
    return {name: (values / len(names)).tolist() for name, values in sums.items()}


def _ingested(
    folder: Path, corpora: Iterable[str], strategy: str, store: Store, models: Models
) -> dict[str, str]:
    """The collection of each corpus, filled."""
    parser = get_parser(strategy)
    collections = {}
    for corpus in sorted(corpora):
        text = _text(folder, corpus)
        metadata = {SOURCE: corpus, SOURCE_HASH: corpus}
        document = Document(text=text, id_=corpus, metadata=metadata)
        report = ingest_documents(
            [document], {strategy: parser}, store, models=models, corpus=corpus
        )
        if error := report.columns[0].error:
            raise SystemExit(f"{corpus}, {strategy}: {error}")
        collections[corpus] = parser_collection(corpus, parser, models.embedding_name)
    return collections


def _text(folder: Path, corpus: str) -> str:
    return (folder / "corpora" / f"{corpus}.md").read_bytes().decode("utf-8")


def _recall(asked: Labelled, hits: Sequence[Hit], budget: int, texts: Mapping[str, str]) -> float:
    passages = []
    for hit in hits:
        start, end = hit.node.start_char_idx, hit.node.end_char_idx
        if start is None or end is None:
            raise SystemExit(f"{hit.node.node_id}: a chunk without offsets cannot be judged")
        span = Span(start, end)
        passages.append(Ranked(asked.corpus, span, span.of(texts[asked.corpus])))
    return recall(ContextRead.of(passages, budget).passages, asked.gold)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Bootstrap interval of a mean over questions, at 95 %."""
    recall_values = np.asarray(values)
    rng = np.random.default_rng(_SEED)
    means = recall_values[
        rng.integers(0, len(recall_values), (_RESAMPLES, len(recall_values)))
    ].mean(axis=1)
    low, high = np.percentile(means, _LEVELS)
    return float(low), float(high)


def table(recalls_by_ranking: Mapping[str, Sequence[float]], corpora: Sequence[str]) -> str:
    """Recall per corpus and over all questions in percent, and what each loses to the default."""
    names = sorted(set(corpora))
    rows = []
    for ranking, values in recalls_by_ranking.items():
        cells = [
            _percent(np.mean([v for v, corpus in zip(values, corpora, strict=True) if corpus == c]))
            for c in names
        ]
        low, high = interval(values)
        whole = f"{_percent(np.mean(values))} ({_percent(low)} to {_percent(high)})"
        rows.append(
            [ranking, *cells, whole, _difference(values, recalls_by_ranking[DEFAULT], ranking)]
        )
    header = [
        "ranking",
        *(_readable(name) for name in names),
        "all questions",
        "minus score fusion",
    ]
    return markdown_table(header, rows)


def _difference(values: Sequence[float], default: Sequence[float], ranking: str) -> str:
    """Paired over questions, which says more than two intervals that overlap."""
    if ranking == DEFAULT:
        return "-"
    paired = np.subtract(values, default)
    low, high = interval(paired.tolist())
    return f"{100 * paired.mean():+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


def _percent(share: Any) -> str:
    return f"{100 * share:.1f}"


def _readable(corpus: str) -> str:
    return corpus.replace("_", " ")


def main(arguments: list[str] | None = None) -> int:
    """Print the table and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--data", type=Path, required=True, help="folder of the data set")
    options.add_argument("--parser", action="append", choices=list(PRESETS), metavar="NAME")
    options.add_argument("--budget", type=int, default=1000, help="tokens of context")
    options.add_argument("--embedding", default="lexical", help="as in rag_nodes.toml")
    chosen = options.parse_args(arguments)
    models = choose_models(Settings(embedding=chosen.embedding, llm="extractive"))
    strategies = chosen.parser or COMPARED
    recalls_by_ranking = recalls(chosen.data, strategies, models, chosen.budget)
    corpora = [question.corpus for question in labelled(chosen.data)]
    print(f"{len(corpora)} questions, {models.embedding_name}, {', '.join(strategies)}\n")
    print(table(recalls_by_ranking, corpora))
    print(f"\nraw numbers: {save('fusion', {'corpora': corpora, 'recall': recalls_by_ranking})}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
