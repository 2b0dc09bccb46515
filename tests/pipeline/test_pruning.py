"""What is gone from the folders goes from the store, and nothing that only looks as if it were."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from counting_models import CountingEmbedding
from folder_ingests import FolderIngests, states, stored_files

from rag_nodes.core.errors import ConfigurationError, FileMissingError, StoreDamagedError
from rag_nodes.embedding import Progress
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.pipeline.ledger import DocumentRow, FileRow, Ledger
from rag_nodes.pipeline.pruning import compared
from rag_nodes.pipeline.report import Pruned
from rag_nodes.pipeline.upkeep import Inventory
from rag_nodes.store import open_store


def test_a_deleted_file_stays_until_it_is_pruned(corpus: FolderIngests) -> None:
    corpus.ingest()
    (corpus.folder / "1.md").unlink()

    assert corpus.ingest().pruned is None
    assert stored_files(corpus) == {"0.md", "1.md", "2.md"}

    report = corpus.ingest(prune=True)

    assert report.pruned
    assert [Path(document).name for document in report.pruned.documents] == ["1.md"]
    assert report.pruned.nodes > 1
    assert stored_files(corpus) == {"0.md", "2.md"}
    again = corpus.ingest(prune=True)
    assert again.pruned == Pruned((), 0)
    assert states(again) == ["unchanged"] * 2
    assert corpus.opened == []


def test_a_dry_run_counts_what_is_gone_and_takes_nothing_out(corpus: FolderIngests) -> None:
    corpus.ingest()
    (corpus.folder / "1.md").unlink()
    planned = corpus.ingest(prune=True, dry_run=True)
    assert (planned.gone, planned.pruned) == (1, None)
    assert stored_files(corpus) == {"0.md", "1.md", "2.md"}


@pytest.mark.parametrize("linked", ["sub/a.md", "sub"])
def test_files_behind_outside_links_count_as_gone(corpus: FolderIngests, linked: str) -> None:
    (corpus.folder / "sub").mkdir()
    corpus.write("sub/a.md", "# Tea\n\nGreen tea is not black.")
    corpus.ingest()
    place = corpus.folder / linked
    elsewhere = corpus.folder.with_name("elsewhere")
    place.rename(elsewhere)
    place.symlink_to(elsewhere)

    report = corpus.ingest()
    assert report.gone == 1
    assert corpus.ingest(prune=True).pruned == Pruned((str(corpus.folder / "sub/a.md"),), 1)
    assert stored_files(corpus) == {"0.md", "1.md", "2.md"}


@pytest.fixture
def killed(corpus: FolderIngests, monkeypatch: pytest.MonkeyPatch) -> FolderIngests:
    """Files of which the last one is stored, by a run that was killed before it said so."""
    record = Ledger.record

    def record_and_fail(ledger: Ledger, file: FileRow, documents: Sequence[DocumentRow]) -> None:
        if file.path.endswith("2.md"):
            raise KeyboardInterrupt
        record(ledger, file, documents)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "record", record_and_fail)
        with pytest.raises(KeyboardInterrupt):
            corpus.ingest()
    assert stored_files(corpus) == {"0.md", "1.md", "2.md"}
    return corpus


def test_leftovers_of_a_killed_ingest_are_pruned_with_their_file(
    killed: FolderIngests,
) -> None:
    (killed.folder / "2.md").unlink()

    report = killed.ingest(prune=True)

    assert report.pruned
    assert [Path(document).name for document in report.pruned.documents] == ["2.md"]
    assert stored_files(killed) == {"0.md", "1.md"}


def test_leftovers_of_a_briefly_unreadable_file_are_kept(
    killed: FolderIngests,
) -> None:
    killed.write("2.md", "%PDF-1.7 this is no Markdown")

    report = killed.ingest(prune=True)

    assert (states(report)[2], report.pruned) == ("failed", Pruned((), 0))
    assert stored_files(killed) == {"0.md", "1.md", "2.md"}


def test_a_file_in_whose_place_is_a_folder_is_gone(corpus: FolderIngests) -> None:
    corpus.ingest()
    (corpus.folder / "1.md").unlink()
    (corpus.folder / "1.md").mkdir()
    corpus.write("1.md/3.md", "# Tea 3\n\nTea number 3 is black.\n")

    corpus.ingest(prune=True)

    assert stored_files(corpus) == {"0.md", "2.md", "3.md"}


def test_it_goes_from_collections_of_other_parsers_and_from_one_that_the_ledger_forgot(
    corpus: FolderIngests,
) -> None:
    [forgotten] = [column.collection for column in corpus.ingest().columns]
    for size in (40, 60):
        corpus.parsers = {"small": get_parser("fixed", chunk_size=size, chunk_overlap=0)}
        corpus.ingest()
    with corpus.ledger as ledger:
        ledger.forget_collection(forgotten)
    (corpus.folder / "1.md").unlink()

    corpus.ingest(prune=True)

    assert len(corpus.store.collections()) == 3
    assert stored_files(corpus) == {"0.md", "2.md"}


def test_nothing_is_pruned_while_a_collection_is_damaged(
    corpus: FolderIngests, tmp_path: Path
) -> None:
    [former] = [column.collection for column in corpus.ingest().columns]
    corpus.parsers = {"small": get_parser("fixed", chunk_size=40, chunk_overlap=0)}
    corpus.ingest()
    (corpus.folder / "1.md").unlink()
    corpus.store.close()
    abouts = tmp_path.glob("store/collections/*/collection.json")
    [about] = [about for about in abouts if former in about.read_text(encoding="utf-8")]
    whole = about.read_text(encoding="utf-8")

    about.write_text(whole[:20], encoding="utf-8")
    with open_store(tmp_path / "store") as corpus.store:
        with pytest.raises(StoreDamagedError, match="damaged"):
            corpus.ingest(prune=True)
        assert "1.md" in stored_files(corpus)

    about.write_text(whole, encoding="utf-8")
    with open_store(tmp_path / "store") as corpus.store:
        corpus.ingest(prune=True)
        assert stored_files(corpus) == {"0.md", "2.md"}


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("content", ["", "%PDF-1.7 this is no Markdown"], ids=["empty", "damaged"])
def test_the_stored_version_of_a_file_that_cannot_be_read_any_more_is_kept(
    corpus: FolderIngests, content: str, *, prune: bool
) -> None:
    corpus.ingest()
    corpus.write("1.md", content)

    report = corpus.ingest(prune=prune)

    assert states(report) == ["unchanged", "failed", "unchanged"]
    assert (report.gone, stored_files(corpus)) == (0, {"0.md", "1.md", "2.md"})
    inventory = Inventory(corpus.store, corpus.ledger)
    rows = inventory.documents("default", inventory.collections())
    assert [(row.name, row.state, bool(row.chunks)) for row in rows] == [
        ("0.md", "stored", True),
        ("1.md", "failed", True),
        ("2.md", "stored", True),
    ]


def test_a_page_that_a_crawl_has_no_more_is_pruned(corpus: FolderIngests) -> None:
    for pages in ({"a": "Tea.", "b": "Milk."}, {"b": "Milk.", "cc": "Cocoa."}):
        corpus.ingest(corpus.crawl("crawl.json", **pages), prune=True)
        assert stored_files(corpus) == set(pages)


@pytest.mark.parametrize("gone", ["first.json", "second.json"])
@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_page_that_another_crawl_still_has_is_not_pruned(
    corpus: FolderIngests, gone: str, is_deleted: bool
) -> None:
    crawls = {
        name: corpus.crawl(name, both="Tea.", **{name.removesuffix(".json"): f"Milk {name}."})
        for name in ("first.json", "second.json")
    }
    corpus.ingest(*crawls.values())
    if is_deleted:
        crawls[gone].unlink()
    else:
        corpus.crawl(gone, another="Cocoa.")

    report = corpus.ingest(corpus.folder, *filter(Path.exists, crawls.values()), prune=True)

    assert report.pruned
    assert len(report.pruned.documents) == 1, "the page that no other crawl has"
    assert "both" in stored_files(corpus)


def test_other_folders_are_not_pruned(corpus: FolderIngests, tmp_path: Path) -> None:
    other = tmp_path / "docs-2"
    other.mkdir()
    (other / "other.md").write_text("# Coffee\n\nBlack.\n")
    corpus.ingest(corpus.folder, other)
    (other / "other.md").unlink()

    corpus.ingest(prune=True)

    assert "other.md" in stored_files(corpus)


def test_another_corpus_of_the_same_files_is_not_touched(corpus: FolderIngests) -> None:
    corpus.ingest()
    corpus.ingest(corpus="second")
    (corpus.folder / "1.md").unlink()

    corpus.ingest(prune=True, corpus="second")

    assert corpus.ingest().columns[0].chunks
    assert "1.md" in stored_files(corpus)


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_folder_that_may_not_be_mounted_empties_no_store(
    corpus: FolderIngests, tmp_path: Path, how: str
) -> None:
    corpus.ingest()
    before = stored_files(corpus)
    shutil.move(corpus.folder, tmp_path / "elsewhere")
    if how == "empty":
        corpus.folder.mkdir()

    with pytest.raises(
        FileMissingError, match=r"docs: .*nothing was ingested or removed.*remove FILE"
    ):
        corpus.ingest(prune=True)

    assert stored_files(corpus) == before


def test_a_folder_that_goes_away_while_it_is_ingested_empties_no_store(
    corpus: FolderIngests, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus.ingest()
    before = stored_files(corpus)

    def move(step: Progress) -> None:
        if step.name == "2.md":
            shutil.move(corpus.folder, tmp_path / "elsewhere")

    report = corpus.ingest(prune=True, progress=move)

    assert (states(report), report.pruned) == (["unchanged"] * 3, None)
    assert report.missing_paths == (str(corpus.folder),)
    assert stored_files(corpus) == before
    assert caplog.messages == [report.missing_in_words]


def test_a_file_that_cannot_be_asked_for_is_not_taken_for_gone(
    corpus: FolderIngests, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.ingest()
    hidden = corpus.folder / "1.md"
    hidden.rename(corpus.folder / ".hidden")
    stat = os.lstat

    def refuse(path: Any, **options: Any) -> os.stat_result:
        if str(path).endswith("1.md"):
            raise PermissionError(13, "Permission denied")
        return stat(path, **options)

    monkeypatch.setattr(os, "lstat", refuse)

    corpus.ingest(prune=True)

    assert "1.md" in stored_files(corpus)


def test_nothing_is_pruned_while_something_is_not_stored(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    corpus.ingest()
    (corpus.folder / "1.md").rename(corpus.folder / "moved.md")
    corpus.write("new.md", "# New\n\nNever seen.\n")

    def fail(_: list[str]) -> None:
        raise ConnectionError

    embedding.fail(fail)

    assert corpus.ingest(prune=True).pruned is None
    assert "1.md" in stored_files(corpus)


def test_nothing_is_pruned_while_a_collection_has_an_error_of_its_own(
    corpus: FolderIngests,
) -> None:
    corpus.ingest()
    (corpus.folder / "1.md").unlink()
    report = corpus.ingest()
    (column,) = report.columns
    failed = replace(report, columns=(replace(column, error="no index could be made"),))
    assert "incomplete" not in states(failed)

    ended = compared(failed, corpus.store, corpus.ledger, [corpus.folder], prune=True)

    assert ended.pruned is None
    assert "1.md" in stored_files(corpus)
    ended = compared(report, corpus.store, corpus.ledger, [corpus.folder], prune=True)
    assert ended.pruned
    assert "1.md" not in stored_files(corpus)


def test_a_store_without_a_ledger_cannot_be_pruned(corpus: FolderIngests, models: Models) -> None:
    with open_store() as memory, pytest.raises(ConfigurationError, match="no ledger"):
        ingest([corpus.folder], corpus.parsers, memory, models=models, prune=True)
