"""What it is worth to embed more than a chunk's text: its headings, or these and a summary.

On documentation with headings, chunks of the preset `retrieval`, search by meaning and by both.
Recall of every question is kept in `benchmarks/results`; `scripts/docs/make_results.py` makes the
table. The row that asks a model is measured where one is configured (`RAG_NODES_LLM` and its
like, see docs/guides/models.md) and left out where not: a mock's words mean nothing. What was paid
for is kept in the cache.

    python benchmarks/contextual.py --data FOLDER --pages PAGES.json --cache FOLDER
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from labelled_sets import labelled_set, options_of
from llama_index.core.llms import LLM
from minilm import MiniLM
from quality import Measurement
from results.contextual import EXTRACT, HEADINGS, SUMMARY, TEXT_ALONE, step_of
from results.kept import Kept

from rag_nodes import SectionSummary, choose_models, get_parser
from rag_nodes.core.metadata import EmbeddedAs
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.columns import StoredCollection
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.models import Models
from rag_nodes.models.kept import KeptAnswers
from rag_nodes.models.names import is_mock
from rag_nodes.parsers import DEFAULT_PARSER
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions
from rag_nodes.store import Store, open_store

MODES = ("dense", "hybrid")


class Embedding(NamedTuple):
    """What of a chunk is embedded, and what writes its summary."""

    text: EmbeddedAs
    summary: SectionSummary | None = None


def variants(llm: LLM | None, answers: KeptAnswers | None) -> dict[str, Embedding]:
    """What is embedded, by row; that with a model where there is one."""
    embeddings = {
        HEADINGS: Embedding("heading"),
        TEXT_ALONE: Embedding("plain"),
        EXTRACT: Embedding("summary"),
    }
    if llm is not None:
        embeddings[SUMMARY] = Embedding("summary", SectionSummary(llm=llm, kept=answers))
    return embeddings


def columns(
    dataset: Dataset, store: Store, models: Models, rows: dict[str, Embedding]
) -> Iterator[tuple[str, StoredCollection]]:
    """A collection for each row."""
    for number, (name, row) in enumerate(rows.items()):
        report = ingest_documents(
            dataset.documents,
            {DEFAULT_PARSER: get_parser(DEFAULT_PARSER)},
            store,
            models=models,
            corpus=f"contextual-{number}",
            transformations=[row.summary] if row.summary else [],
            text=row.text,
        )
        [column] = report.columns
        if column.error or any(file.status == "incomplete" for file in report.files):
            raise SystemExit(f"{name}: not every document was stored: {column.error}")
        yield name, StoredCollection(store, column.collection)


def measure(dataset: Dataset, llm: LLM | None, answers: KeptAnswers | None) -> Kept:
    """All rows, with each embedding and way of searching."""
    kept = Kept(
        "contextual",
        [question.id for question in dataset.questions],
        [dataset.names[question.document] for question in dataset.questions],
    )
    rows = variants(llm, answers)
    for embedding, model in (("lexical", "lexical"), ("MiniLM", MiniLM())):
        models = Models.of(embed_model=model, llm="extractive")
        with open_store() as store:
            variant_columns = dict(columns(dataset, store, models, rows))
            for mode in MODES:
                options = QueryOptions(mode=mode)  # type: ignore[arg-type] # one of two
                measurement = Measurement(dataset, None, models=models, options=options)
                for system in measurement.systems(variant_columns):
                    kept.put(step_of(embedding, mode), system)
                print(step_of(embedding, mode), flush=True)
    return kept


def real_model() -> LLM | None:
    """The model that the settings name; None for none, and for a mock."""
    llm = choose_models(Settings()).llm
    return None if llm is None or is_mock(llm) else llm


def main() -> None:
    """Measure, and keep what was found."""
    parser = options_of(__doc__ or "", sets=("headed",))
    parser.add_argument("--cache", type=Path, help="folder that keeps what a model wrote")
    options = parser.parse_args()
    dataset = labelled_set("headed", options.data, options.pages)
    llm = real_model()
    if llm is None:
        print("no model is configured: the row that asks one is not measured here")
    answers = None
    if llm is not None and options.cache:
        options.cache.mkdir(parents=True, exist_ok=True)
        answers = KeptAnswers(options.cache / "contextual.sqlite")
    measure(dataset, llm, answers).save()


if __name__ == "__main__":
    main()
