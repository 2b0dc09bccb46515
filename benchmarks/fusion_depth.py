"""How deep the rankings of a hybrid question must go for the fused one to be as good as complete.

    python benchmarks/fusion_depth.py --data FOLDER --pages PAGES.json --chunks 10000 50000

One collection holds the documents of all labelled sets, each set's among those of the others, and
documentation of the Linux kernel (see `kernel_docs.py`) up to so many chunks. Every question is
asked of all of it, at several depths of the product's own search, with means and deviations of what
was ranked alone, and with a sample of what is behind it: what `ask` reads, by sentences, and whole
chunks in their order. Differences are paired by question, intervals by document.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np
from kernel_docs import kernel_documentation
from labelled_sets import labelled_set, options_of
from llama_index.core.schema import Document
from measuring import markdown_table, save

from rag_nodes.evaluation import Dataset, EvaluationPlan, Searched, StoredCollection, evaluate
from rag_nodes.evaluation.sign_flips import SignFlips
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions
from rag_nodes.store import Hit, Query, Store, open_store, parser_collection
from rag_nodes.store.edge import collection as searching
from rag_nodes.store.terms import scores_in

SETS = ("chroma", "headed", "evidence_inference", "qmsum")
"""Those in English, as the documentation is."""
ALL = "complete"
CUTS: dict[str, tuple[int, bool]] = {
    "200": (200, False),
    "1,000": (1_000, False),
    "5,000": (5_000, False),
    "200 and a sample": (200, True),
    ALL: (10**9, False),
}
"""Depth of both rankings, and whether a sample of the others counts."""
BUDGETS = (500, 1000, 2000)
WAYS = {
    "sentences": QueryOptions(granularity="sentences"),
    "chunks": QueryOptions(granularity="chunks"),
}
PAGE = 100_000
"""Characters of a document of the kernel's documentation."""
SPARE = 540
"""Characters of it that are read for a chunk that is wanted, and some more."""


class AtDepth(Store):
    """A store whose hybrid questions go to one depth, whatever the rule says."""

    def __init__(self, store: Store, depth: int, *, sampled: bool) -> None:
        super().__init__(store.engine)
        self.depth, self.sampled = depth, sampled
        self.seconds: list[float] = []

    def search(self, collection: str, query: Query) -> list[Hit]:
        """The best chunks; CPU time is noted."""
        with ExitStack() as patched:
            patched.enter_context(patch.object(searching, "depth_of", self._rule))
            if not self.sampled:
                none = lambda *results: scores_in(*results)._replace(rest=None)  # noqa: E731
                patched.enter_context(patch.object(searching, "scores_in", none))
            started = time.process_time()
            hits = super().search(collection, query)
        self.seconds.append(time.process_time() - started)
        return hits

    def _rule(self, limit: int, every: int) -> int:
        return max(limit, min(self.depth, every))


def grown(
    store: Store, models: Models, documents: Sequence[Document], sizes: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """Number of chunks and name of a collection that grows from size to size."""
    parser = get_parser(DEFAULT_PARSER)
    collection = parser_collection("default", parser, models.embedding_name)
    text = kernel_documentation(max(sizes) * SPARE)
    pages = (
        Document(text=text[start : start + PAGE], id_=f"kernel {start}")
        for start in range(0, len(text), PAGE)
    )
    due = list(documents)
    for size in sizes:
        while store.count(collection) < size:
            report = ingest_documents(due, {"chunks": parser}, store, models=models)
            if error := report.columns[0].error:
                raise SystemExit(error)
            due = list(islice(pages, 1))
            if not due:  # that is all there is
                break
        yield store.count(collection), collection


def measured(
    dataset: Dataset, store: Store, collection: str, models: Models
) -> dict[str, dict[str, list[float]]]:
    """By way and cut recall at each budget, and by cut the milliseconds of each search."""
    stores = {
        name: AtDepth(store, depth, sampled=sampled) for name, (depth, sampled) in CUTS.items()
    }
    measured_values: dict[str, dict[str, list[float]]] = {"ms": {}}
    for way, options in WAYS.items():
        columns = {
            name: Searched(StoredCollection(opened, collection), options)
            for name, opened in stores.items()
        }
        plan = EvaluationPlan(budgets=BUDGETS, ks=(), sizes=(), target=None, draws=100)
        report = evaluate(dataset, columns, plan=plan, models=models)
        for row in report.of_role("own"):
            if row.error:
                raise SystemExit(f"{dataset.name}, {row.name}: {row.error}")
            for budget in BUDGETS:
                scores = [outcome.scores[f"recall@{budget}"] for outcome in row.outcomes]
                measured_values.setdefault(f"{way}@{budget}", {})[row.name] = scores
        measured_values["ms"] = {
            name: [1000 * s for s in opened.seconds] for name, opened in stores.items()
        }
    return measured_values


def table(
    values_by_row: Mapping[str, Mapping[str, Sequence[float]]], documents: Sequence[str]
) -> str:
    """Recall of complete rankings in percent, and what each depth gains or loses."""
    rows = []
    for name, by_cut in values_by_row.items():
        if name == "ms":
            cells = [f"{median(values):.1f}" for values in by_cut.values()]
            rows.append(["CPU ms of a search", cells[-1], *cells[:-1]])  # complete comes last
            continue
        complete = np.asarray(by_cut[ALL])
        cells = [f"{100 * complete.mean():.1f}"]
        for cut in CUTS:
            if cut == ALL:
                continue
            table = np.stack([by_cut[cut], complete], axis=1)
            gap = SignFlips(table, [(0, 1)], documents).intervals[0]
            cells.append(f"{100 * gap.mean:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})")
        rows.append([name.replace("@", ", "), *cells])
    return markdown_table(["read, tokens", ALL, *(cut for cut in CUTS if cut != ALL)], rows)


def joined(
    parts: Sequence[Mapping[str, Mapping[str, Sequence[float]]]],
) -> dict[str, dict[str, list[float]]]:
    """The questions of all sets, one after the other."""
    return {
        name: {cut: [value for part in parts for value in part[name][cut]] for cut in by_cut}
        for name, by_cut in parts[0].items()
    }


def main() -> None:
    """Print a table per size, and one per set."""
    parser = options_of(__doc__, SETS)
    parser.add_argument("--chunks", nargs="+", type=int, default=[10_000, 50_000])
    parser.add_argument("--embedding", choices=["lexical", "minilm"], default="lexical")
    parser.add_argument("--folder", help="where the store is made; the system's choice if none")
    options = parser.parse_args()
    sets = [labelled_set(name, options.data, options.pages) for name in options.sets]
    sets = [_anywhere(dataset) for dataset in sets]
    models = Models.of(embed_model=_embedding(options.embedding), llm="extractive")
    asked = [dataset.names[question.document] for dataset in sets for question in dataset.questions]
    kept = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, open_store(folder) as store:
        documents = [document for dataset in sets for document in dataset.documents]
        for count, collection in grown(store, models, documents, sorted(options.chunks)):
            measured_values = {
                dataset.name: measured(dataset, store, collection, models) for dataset in sets
            }
            kept[count] = measured_values
            print(f"\n{count:,} chunks, {len(asked)} questions, {models.embedding_name}\n")
            print(table(joined(list(measured_values.values())), asked))
            for dataset in sets:
                print(f"\n{dataset.name}, {len(dataset.questions)} questions\n")
                names = [dataset.names[question.document] for question in dataset.questions]
                print(table(measured_values[dataset.name], names), flush=True)
    print(f"\nraw numbers: {save(f'fusion-depth-{options.embedding}', kept)}")


def _anywhere(dataset: Dataset) -> Dataset:
    """The set with its questions asked of all documents."""
    return replace(
        dataset, questions=tuple(replace(question, within=None) for question in dataset.questions)
    )


def _embedding(name: str) -> object:
    if name == "lexical":
        return name
    from minilm import MiniLM

    return MiniLM()


if __name__ == "__main__":
    if Path(__file__).parent not in map(Path, sys.path):
        sys.path.insert(0, str(Path(__file__).parent))
    main()
