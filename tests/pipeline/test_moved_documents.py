"""Documents that were renamed, copied or moved with their store are not embedded again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from counting_models import CountingEmbedding
from folder_ingests import FolderIngests, states, stored_files

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.store import open_store


def test_files_that_were_renamed_and_copied_keep_their_vectors(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    corpus.ingest()
    embedding.texts.clear()
    (corpus.folder / "1.md").rename(corpus.folder / "moved.md")
    shutil.copy(corpus.folder / "2.md", corpus.folder / "copy.md")

    report = corpus.ingest(prune=True)

    assert embedding.texts == []
    assert states(report) == ["unchanged", "unchanged", "read", "read"]
    assert stored_files(corpus) == {"0.md", "2.md", "copy.md", "moved.md"}


@pytest.fixture
def moved(tmp_path: Path, models: Models) -> Iterator[FolderIngests]:
    """A store that was moved with its documents, in one folder."""
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    with open_store(project / "store") as store:
        corpus = FolderIngests(project / "docs", store, models, [])
        for number in range(3):
            corpus.write(f"{number}.md", f"# Tea {number}\n\nNumber {number} is green.\n" * 9)
        corpus.crawl("crawl.json", page="Green tea is not black.")
        corpus.ingest(corpus.folder, corpus.folder / "crawl.json")
    project = project.rename(tmp_path / "moved")
    with open_store(project / "store") as store:
        yield FolderIngests(project / "docs", store, models, [])


def test_a_store_that_was_moved_with_its_documents_has_each_of_them_once(
    moved: FolderIngests, embedding: CountingEmbedding
) -> None:
    [info] = moved.store.collections()
    embedding.texts.clear()

    report = moved.ingest(moved.folder, moved.folder / "crawl.json")

    assert (report.gone, report.pruned, embedding.texts) == (0, None, [])
    assert [collection.points for collection in moved.store.collections()] == [info.points]
    with moved.ledger as ledger:
        assert all(path.startswith(str(moved.folder)) for path in ledger.paths("default"))
        assert ledger.moved() is None


def test_files_not_moved_with_the_store_are_pruned(moved: FolderIngests) -> None:
    (moved.folder / "1.md").unlink()
    report = moved.ingest()
    assert report.gone == 1
    report = moved.ingest(prune=True)
    assert report.pruned
    assert report.pruned.documents == (str(moved.folder.parents[1] / "project/docs/1.md"),)
    assert stored_files(moved) == {"0.md", "2.md", "page"}


def test_another_parser_keeps_what_it_has_of_documents_that_were_moved(
    moved: FolderIngests,
) -> None:
    [info] = moved.store.collections()
    moved.parsers = {"other": get_parser("fixed", chunk_size=60, chunk_overlap=0)}

    report = moved.ingest()

    assert report.gone == 3
    assert info in moved.store.collections()
