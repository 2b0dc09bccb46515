"""Documents go into every store and come out as cited answers."""

from pathlib import Path

from rag_nodes import get_parser
from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.pipeline import ingest
from rag_nodes.query import ask
from rag_nodes.store import Store

DRY = "# Pump\n\nThe pump starts when the soil is dry.\n\n# Tank\n\nThe tank holds 90 litres.\n"
QUESTION = "When does the pump start?"
PARSERS = {
    "heading": get_parser("heading", chunk_size=20, min_chunk_size=1),
    "parent-child": get_parser(
        "parent-child",
        parent_options={"min_chunk_size": 0},
        child_options={"chunk_size": 16, "chunk_overlap": 0, "whole_document_below": 0},
    ),
}


def test_files_are_ingested_once_and_their_answer_is_cited(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "garden.md"
    file.write_text(DRY)
    models = choose_models(Settings(embedding="lexical"))
    first, again = (ingest([file], PARSERS, store, models=models) for _ in range(2))
    assert [column.error for column in first.columns] == [None, None]
    assert [column.written for column in again.columns] == [0, 0]
    for column in first.columns:
        assert store.count(column.collection) == column.chunks
        answer = ask(QUESTION, store=store, collection=column.collection, models=models)
        [citation] = answer.citations
        assert (citation.quote, citation.file_name) == (
            "The pump starts when the soil is dry.",
            "garden.md",
        )
    assert {info.name for info in store.collections()} == {
        column.collection for column in first.columns
    }
