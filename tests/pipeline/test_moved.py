"""What an ingest says of files that were moved since they were stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.pipeline import ingest

if TYPE_CHECKING:
    from folder_ingests import FolderIngests

    from rag_nodes.pipeline import IngestReport


def moved_to(corpus: FolderIngests, name: str) -> IngestReport:
    """The ingest of the folder from another place."""
    place = corpus.folder.with_name(name)
    corpus.folder.rename(place)
    return ingest([place], corpus.parsers, corpus.store, models=corpus.models)


def test_files_that_were_moved_are_known_by_their_content(corpus: FolderIngests) -> None:
    assert corpus.ingest().moved == ()
    (corpus.folder / "1.md").unlink()
    report = moved_to(corpus, "elsewhere")
    assert report.moved == (str(corpus.folder / "0.md"), str(corpus.folder / "2.md"))
    assert report.as_dict()["moved"] == list(report.moved)


def test_what_was_renamed_and_pruned_is_not_to_be_removed_again(corpus: FolderIngests) -> None:
    corpus.ingest()
    (corpus.folder / "1.md").rename(corpus.folder / "4.md")
    renamed = (str(corpus.folder / "1.md"),)
    assert corpus.ingest().moved == renamed
    report = corpus.ingest(prune=True)
    assert report.pruned
    assert (report.pruned.documents, report.moved) == (renamed, ())


def test_copies_of_files_that_are_still_there_are_not_told(corpus: FolderIngests) -> None:
    corpus.ingest()
    other = corpus.folder.with_name("copies")
    other.mkdir()
    (other / "0.md").write_bytes((corpus.folder / "0.md").read_bytes())
    report = ingest([other], corpus.parsers, corpus.store, models=corpus.models)
    assert report.moved == ()


def test_a_page_of_a_crawl_that_was_moved_is_the_same_document_and_stays(
    corpus: FolderIngests,
) -> None:
    page = '{"url": "https://example.org/a", "markdown": "# Tea\\n\\nGreen tea is not black."}\n'
    crawl = corpus.write("crawl.jsonl", page)
    ingest([crawl], corpus.parsers, corpus.store, models=corpus.models)
    later = crawl.with_name("later.jsonl")
    crawl.rename(later)
    report = ingest([later], corpus.parsers, corpus.store, models=corpus.models)
    assert report.moved == ()
