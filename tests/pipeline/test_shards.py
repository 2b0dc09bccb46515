"""Shards of an ingest into one store, each with a ledger of its own."""

from pathlib import Path

import pytest
from folder_ingests import FolderIngests

from rag_nodes.pipeline import IngestReport
from rag_nodes.pipeline.report import Pruned
from rag_nodes.readers import FileShard
from rag_nodes.store import open_store

SHARDS = [FileShard(number, 3) for number in (1, 2, 3)]


def part(corpus: FolderIngests, shard: FileShard) -> Path:
    return corpus.folder.with_name(f"part-{shard.number}.sqlite")


def ingest_all(corpus: FolderIngests) -> list[IngestReport]:
    return [corpus.ingest(ledger=part(corpus, shard), shard=shard) for shard in SHARDS]


def is_as_anew(corpus: FolderIngests) -> bool:
    (info,) = corpus.store.collections()
    with open_store() as anew:
        FolderIngests(corpus.folder, anew, corpus.models, []).ingest()
        return anew.documents(info.name) == corpus.store.documents(info.name)


@pytest.fixture
def shared(corpus: FolderIngests) -> FolderIngests:
    """More files, and a store that stands for a server which all shards write to."""
    for number in range(12):
        corpus.write(f"page-{number}.md", f"# {number}\n\n{'Tea is a drink of leaves. ' * 20}")
    return corpus


def test_all_shards_together_are_one_ingest(shared: FolderIngests) -> None:
    reports = ingest_all(shared)
    found = [Path(file.path) for report in reports for file in report.files]
    assert sorted(found) == sorted(shared.folder.iterdir())
    assert all(report.files for report in reports)
    assert is_as_anew(shared)


def test_a_changed_file_is_replaced_by_its_shard_and_left_alone_by_the_others(
    shared: FolderIngests,
) -> None:
    ingest_all(shared)
    shared.write("page-0.md", "# Now\n\nShort.")
    opened = []
    for shard in SHARDS:
        shared.ingest(ledger=part(shared, shard), shard=shard)
        opened += shared.opened
    assert opened == ["page-0.md"]
    assert is_as_anew(shared)


def test_a_shard_that_lost_its_ledger_leaves_nothing_stale(shared: FolderIngests) -> None:
    ingest_all(shared)
    for shard in SHARDS:
        part(shared, shard).unlink()
    shared.write("page-0.md", "# Now\n\nShort.")
    assert sum(report.columns[0].written for report in ingest_all(shared)) == 1
    assert is_as_anew(shared)


def test_a_shard_prunes_no_page_that_the_crawl_of_another_may_have(corpus: FolderIngests) -> None:
    one, two = (FileShard(number, 2) for number in (1, 2))
    names = [corpus.folder / f"c{number}.json" for number in range(99)]
    first, second = (next(at for at in names if shard.holds(at, at)) for shard in (one, two))

    def documents() -> int:
        (info,) = corpus.store.collections()
        return len(corpus.store.documents(info.name))

    both = corpus.crawl(first.name, a="Tea."), corpus.crawl(second.name, a="Tea.", b="Milk.")
    corpus.ingest(*both, ledger=part(corpus, one), shard=one)
    corpus.ingest(*both, ledger=part(corpus, two), shard=two)
    corpus.crawl(second.name, b="Milk.")
    pruned = corpus.ingest(*both, ledger=part(corpus, two), shard=two, prune=True).pruned
    assert (pruned, documents()) == (Pruned((), 0), 2)
    corpus.crawl(first.name, c="Cocoa.")
    pruned = corpus.ingest(*both, ledger=part(corpus, two), prune=True).pruned
    assert pruned is not None
    assert (len(pruned.documents), documents()) == (1, 2)
