"""Files that did not change are not opened, and whatever else changed makes them due again."""

import os

import pytest
from folder_ingests import LONG_AGO, FolderIngests, contents, states

from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.pipeline.upkeep import Inventory, documents_named, removed
from rag_nodes.readers import Limits, read


def test_unchanged_files_are_not_opened_and_their_rows_say_the_same(corpus: FolderIngests) -> None:
    first = corpus.ingest()
    assert corpus.opened == ["0.md", "1.md", "2.md"]

    second = corpus.ingest()

    assert corpus.opened == []
    assert states(second) == ["unchanged"] * 3
    for before, after in zip(first.files, second.files, strict=True):
        assert (after.path, after.name, after.source) == (before.path, before.name, before.source)
        assert (after.pages, after.characters) == (before.pages, before.characters)
        assert after.document_id == before.document_id
        assert after.columns["fixed"].chunks == before.columns["fixed"].stored > 1
    [before_all], [after_all] = first.columns, second.columns
    assert after_all.unchanged == after_all.chunks == before_all.chunks == before_all.written
    assert (after_all.tokens, after_all.max_tokens) == (before_all.tokens, before_all.max_tokens)
    assert (after_all.parents, after_all.not_located) == (
        before_all.parents,
        before_all.not_located,
    )
    assert after_all.written == 0


def test_the_second_look_takes_no_query_of_the_store_per_file(
    corpus: FolderIngests, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.ingest()

    def refuse(*_: object) -> None:
        pytest.fail("the ledger knows it")

    for name in ("stored", "documents", "fetch", "vectors"):
        monkeypatch.setattr(corpus.store, name, refuse)

    assert states(corpus.ingest()) == ["unchanged"] * 3


def test_a_file_that_was_touched_is_hashed_and_not_opened(corpus: FolderIngests) -> None:
    corpus.ingest()
    os.utime(corpus.folder / "1.md", (1.65e9, 1.65e9))

    assert states(corpus.ingest()) == ["unchanged"] * 3
    assert corpus.opened == []
    files_by_path = corpus.ledger.known("default")
    assert (
        files_by_path[str((corpus.folder / "1.md").resolve())].file.mtime_ns == int(1.65e9) * 10**9
    )


def test_a_file_that_was_changed_just_now_is_not_believed_by_its_time(
    corpus: FolderIngests,
) -> None:
    path = corpus.folder / "0.md"
    path.write_text("# Tea 0\n\nGreen as grass.\n")
    corpus.ingest()
    times = path.stat()
    path.write_text("# Tea 0\n\nBlack as night.\n"[: times.st_size])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    corpus.ingest()

    assert corpus.opened == ["0.md"]


def test_a_changed_file_alone_is_opened_and_replaced(corpus: FolderIngests) -> None:
    before = corpus.ingest().columns[0].chunks
    corpus.write("1.md", "# Tea\n\nOne short line.\n")

    report = corpus.ingest()

    assert corpus.opened == ["1.md"]
    assert states(report) == ["unchanged", "read", "unchanged"]
    assert report.columns[0].written == 1
    assert corpus.store.count(report.columns[0].collection) == report.columns[0].chunks < before
    assert states(corpus.ingest()) == ["unchanged"] * 3


def test_a_new_parser_makes_all_files_due_and_the_old_one_still_knows_them(
    corpus: FolderIngests,
) -> None:
    corpus.ingest()
    old = corpus.parsers
    corpus.parsers = {"fixed": get_parser("fixed", chunk_size=60, chunk_overlap=0)}

    report = corpus.ingest()

    assert corpus.opened == ["0.md", "1.md", "2.md"]
    [former] = report.superseded
    assert former.parser == "FixedSizeNodeParser"
    assert former.documents == 3
    assert former.chunks == corpus.store.count(former.name) > 0
    assert corpus.ingest().superseded == (), "said once"
    corpus.parsers = old
    assert states(corpus.ingest()) == ["unchanged"] * 3
    assert corpus.opened == []


def test_two_parsers_side_by_side_are_none_the_former_of_the_other(corpus: FolderIngests) -> None:
    corpus.parsers["small"] = get_parser("fixed", chunk_size=40, chunk_overlap=0)

    assert corpus.ingest().superseded == ()


def test_other_limits_make_files_due_again(corpus: FolderIngests) -> None:
    corpus.ingest()

    report = corpus.ingest(limits=Limits(characters=10))

    assert states(report) == ["failed"] * 3


def test_an_encoding_that_is_named_makes_the_files_due_that_it_is_for(
    corpus: FolderIngests,
) -> None:
    corpus.ingest()

    named = Limits(encoding="1.*=cp1250")
    for limits, opened in ((named, ["1.md"]), (named, []), (None, ["1.md"])):
        corpus.ingest(limits=limits)
        assert corpus.opened == opened


def test_a_file_that_failed_is_tried_again_and_says_why_again(corpus: FolderIngests) -> None:
    corpus.write("0.md", " ")
    first = corpus.ingest()

    second = corpus.ingest()

    assert corpus.opened == ["0.md"]
    assert states(second) == ["failed", "unchanged", "unchanged"]
    assert second.files[0].error == first.files[0].error


def test_a_document_of_which_an_error_is_noted_is_read_again_which_clears_it(
    corpus: FolderIngests,
) -> None:
    first = corpus.ingest()
    [collection] = [column.collection for column in first.columns]
    with corpus.ledger as ledger:
        ledger.fail(collection, {str(first.files[0].document_id): "the disk was full"})

    assert states(corpus.ingest()) == ["unchanged"] * 3
    assert corpus.opened == ["0.md"]
    corpus.ingest()
    assert corpus.opened == []


def test_a_partial_file_is_left_with_its_warning_repeated(corpus: FolderIngests) -> None:
    path = corpus.write("0.md", "")
    path.write_bytes("# Thé\n\nDu thé vert, très frais, bien sûr.\n".encode("latin-1"))
    os.utime(path, LONG_AGO)
    first = corpus.ingest()
    assert states(first)[0] == "partial"

    second = corpus.ingest()

    assert corpus.opened == []
    assert second.files[0].status == "unchanged"
    assert second.files[0].error == first.files[0].error


def test_web_pages_are_due_again_after_a_day_though_unchanged(corpus: FolderIngests) -> None:
    path = corpus.crawl("crawl.json", a="Green tea.", b="Black tea.")
    beside = corpus.folder / "0.md"

    def at(seconds: float, ttl: float = 24) -> list[str]:
        with Ledger(corpus.ledger.path, clock=lambda: seconds) as ledger:
            report = corpus.ingest(path, beside, ledger=ledger, ttl=ttl)
        assert set(states(report)) <= {"read", "unchanged"}
        return corpus.opened

    assert at(0.0) == ["crawl.json", "0.md"]
    assert at(23 * 3600.0) == []
    assert at(25 * 3600.0) == ["crawl.json"], "looked at again, and no file beside it"
    assert at(26 * 3600.0) == [], "and good for another day"
    assert at(50 * 3600.0, ttl=0) == ["crawl.json"]
    assert at(1e9) == [], "for ever"


def test_a_file_is_due_again_when_a_page_of_it_was_removed(corpus: FolderIngests) -> None:
    path = corpus.crawl("crawl.json", a="Green tea.", b="Black tea.")
    before = corpus.ingest(path)
    stored = contents(corpus.store, before)
    with corpus.ledger as ledger:
        inventory = Inventory(corpus.store, ledger)
        collections = inventory.collections("default")
        listed = inventory.documents("default", collections)
        chosen = documents_named("default", ["https://tea.example/b"], listed)
        assert len(removed(inventory, "default", chosen, collections)) == 1
    assert contents(corpus.store, before) != stored

    after = corpus.ingest(path)

    assert corpus.opened == ["crawl.json"], "its bytes are those of before, its pages are not"
    assert contents(corpus.store, after) == stored


def test_documents_that_others_store_are_taken_into_account(corpus: FolderIngests) -> None:
    [column] = corpus.ingest().columns
    other = read(corpus.write("other.txt", "Somebody else's words. " * 30))
    ingest_documents([other], corpus.parsers, corpus.store, models=corpus.models)

    report = corpus.ingest()

    assert states(report) == ["unchanged"] * 3 + ["unchanged"]
    assert corpus.opened == ["other.txt"], "of which no file was known"
    assert report.columns[0].chunks > column.chunks


def test_a_file_that_is_too_large_to_be_read_is_not_read_for_its_hash_either(
    corpus: FolderIngests,
) -> None:
    corpus.write("3.md", "Tea. " * 1000)

    report = corpus.ingest(limits=Limits(file_bytes=4000))

    assert states(report) == ["read", "read", "read", "failed"]
    with corpus.ledger as ledger:
        hashed = {
            path[-4:]: bool(document_id.file.content_hash)
            for path, document_id in ledger.known("default").items()
        }
    assert hashed == {"0.md": True, "1.md": True, "2.md": True, "3.md": False}
