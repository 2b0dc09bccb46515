"""What it is worth to embed more than a chunk's text: headings, neighbours, summaries, contexts.

On documentation with headings, chunks of the preset `retrieval`, search by meaning and by both.
Recall of every question is kept in `benchmarks/results`; `scripts/docs/make_results.py` makes the
table. Rows that ask a model are measured where one is configured (`RAG_NODES_LLM` and its
like, see docs/guides/models.md) and left out where not: a mock's words mean nothing. What was paid
for is kept in the cache, and its tokens and price are printed.

    python benchmarks/contextual.py --data FOLDER --pages PAGES.json --cache FOLDER
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from labelled_sets import labelled_set, options_of
from llama_index.core.llms import LLM
from llama_index.core.schema import BaseNode, TransformComponent
from minilm import MiniLM
from quality import Measurement
from results.contextual import (
    CONTEXT,
    EXTRACT,
    HEADINGS,
    NEIGHBOURS,
    SUMMARY,
    TEXT_ALONE,
    step_of,
)
from results.kept import Kept

from rag_nodes import ChunkContext, NeighbourText, SectionSummary, choose_models, get_parser
from rag_nodes.evaluation.columns import StoredCollection
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.metadata import BREADCRUMB
from rag_nodes.models import Models
from rag_nodes.models.names import is_mock
from rag_nodes.models.prices import dollars
from rag_nodes.parsers import DEFAULT_PARSER
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions
from rag_nodes.settings import Settings
from rag_nodes.store import Store, open_store
from rag_nodes.transforms import ChunkWriter, TextJournal

MODES = ("dense", "hybrid")


class WithoutHeadings(TransformComponent):
    """Has the text embedded alone, without the headings above it."""

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "WithoutHeadings"

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> Sequence[BaseNode]:
        """The nodes, with one key more that is not embedded."""
        for node in nodes:
            node.excluded_embed_metadata_keys = [*node.excluded_embed_metadata_keys, BREADCRUMB]
        return nodes


def variants(llm: LLM | None, journal: TextJournal | None) -> dict[str, TransformComponent | None]:
    """What stands between parser and embedding, by row; those with a model where there is one."""
    found: dict[str, TransformComponent | None] = {
        HEADINGS: None,
        TEXT_ALONE: WithoutHeadings(),
        NEIGHBOURS: NeighbourText(),
        EXTRACT: SectionSummary(embed=True),
    }
    if llm is not None:
        found[SUMMARY] = SectionSummary(llm=llm, embed=True, journal=journal)
        found[CONTEXT] = ChunkContext(llm, journal=journal)
    return found


def columns(
    dataset: Dataset, store: Store, models: Models, steps: dict[str, TransformComponent | None]
) -> Iterator[tuple[str, StoredCollection]]:
    """A collection for each row."""
    for number, (name, step) in enumerate(steps.items()):
        report = ingest_documents(
            dataset.documents,
            {DEFAULT_PARSER: get_parser(DEFAULT_PARSER)},
            store,
            models=models,
            corpus=f"contextual-{number}",
            transformations=[step] if step else [],
        )
        [column] = report.columns
        if column.error or any(file.status == "incomplete" for file in report.files):
            raise SystemExit(f"{name}: not every document was stored: {column.error}")
        yield name, StoredCollection(store, column.collection)


def measure(dataset: Dataset, llm: LLM | None, journal: TextJournal | None) -> Kept:
    """All rows, with each embedding and way of searching."""
    kept = Kept(
        "contextual",
        [one.id for one in dataset.questions],
        [dataset.names[one.document] for one in dataset.questions],
    )
    steps = variants(llm, journal)
    for embedding, model in (("lexical", "lexical"), ("MiniLM", MiniLM())):
        models = Models.of(embed_model=model, llm="extractive")
        with open_store() as store:
            found = dict(columns(dataset, store, models, steps))
            for mode in MODES:
                options = QueryOptions(mode=mode)  # type: ignore[arg-type] # one of two
                measurement = Measurement(dataset, None, models=models, options=options)
                for system in measurement.systems(found):
                    kept.put(step_of(embedding, mode), system)
                print(step_of(embedding, mode), flush=True)
    for name, step in steps.items():
        if isinstance(step, ChunkWriter) and step.spent.requests:
            print(f"{name}: {step.spent}, {dollars(step.spent.cost)}")
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
        print("no model is configured: rows that ask one are not measured here")
    journal = None
    if llm is not None and options.cache:
        options.cache.mkdir(parents=True, exist_ok=True)
        journal = TextJournal(options.cache / "contextual.jsonl")
    measure(dataset, llm, journal).save()


if __name__ == "__main__":
    main()
