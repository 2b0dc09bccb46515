"""An evaluation measures what the product does: a row in memory is that of a stored collection."""

from dataclasses import replace
from pathlib import Path

from tests.evaluation.labelled import BARE, corpus

from rag_nodes.evaluation import Dataset, evaluate
from rag_nodes.evaluation.columns import StoredCollection
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.readers import read
from rag_nodes.store import open_store

PARSERS = {
    "recursive": get_parser("recursive", chunk_size=60, chunk_overlap=0),
    "sentence-window": get_parser("sentence-window"),
    "heading": get_parser("heading", chunk_size=100),
    "parent-child": get_parser("parent-child"),
}


def _store_corpus(folder: Path) -> Dataset:
    """Write the documents of the labelled corpus into a folder, and read them from there."""
    original = corpus(4)
    ids = {}
    for document in original.documents:
        path = folder / str(document.metadata["file_name"])
        path.write_text(document.text, encoding="utf-8")
        ids[document.id_] = read(path)
    questions = tuple(
        replace(
            question,
            gold=tuple(
                tuple(part._replace(document=ids[part.document].id_) for part in each)
                for each in question.gold
            ),
            within=None,
        )
        for question in original.questions
    )
    return Dataset(original.name, tuple(ids.values()), questions)


def test_every_row_in_memory_equals_that_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    dataset = _store_corpus(tmp_path / "files")
    with open_store(tmp_path / "store") as store:
        kept = ingest(tmp_path / "files", PARSERS, store)
        columns = {
            column.parser: StoredCollection(store, column.collection) for column in kept.columns
        }
        in_folder = evaluate(dataset, columns, plan=BARE)
    in_memory = evaluate(dataset, PARSERS, plan=BARE)
    for name in PARSERS:
        memory, folder = in_memory.row(name), in_folder.row(name)
        assert memory.error is None
        assert memory.chunks == folder.chunks
        assert memory.outcomes == folder.outcomes
