"""Shards of an ingest into one store, each with a ledger of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rag_nodes.ledger import Ledger
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.pipeline.report import Pruned
from rag_nodes.readers import FileShard, files
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.models import Models
    from rag_nodes.pipeline import IngestReport
    from rag_nodes.store import Store

NAMES = [f"page-{number}.md" for number in range(12)]
SHARDS = [FileShard(number, 3) for number in (1, 2, 3)]
PARSERS = {"fixed": get_parser("fixed", chunk_size=40, chunk_overlap=0)}


class Shared:
    """A folder of files and a store, which stands for a server that all shards write to."""

    def __init__(self, place: Path, store: Store, models: Models, opened: list[str]) -> None:
        self.place = place
        self.docs = place / "docs"
        self.store = store
        self.models = models
        self.opened = opened
        self.docs.mkdir()
        for name in NAMES:
            self.write(name, f"# {name}\n\n{'Tea is a drink of leaves. ' * 20}")

    def write(self, name: str, text: str) -> None:
        (self.docs / name).write_text(text, encoding="utf-8")
        os.utime(self.docs / name, (1.6e9 + len(text), 1.6e9 + len(text)))

    def part(self, shard: FileShard) -> Path:
        return self.place / f"part-{shard.number}.sqlite"

    def ingest(self, ledger: Path, shard: FileShard | None = None) -> IngestReport:
        self.opened.clear()
        with Ledger(ledger) as kept:
            return ingest(
                [self.docs], PARSERS, self.store, models=self.models, ledger=kept, shard=shard
            )

    def ingest_all(self) -> list[IngestReport]:
        return [self.ingest(self.part(shard), shard) for shard in SHARDS]

    @property
    def collection(self) -> str:
        (info,) = self.store.collections()
        return info.name

    def is_as_anew(self) -> bool:
        with open_store(self.place / "anew") as anew:
            ingest([self.docs], PARSERS, anew, models=self.models)
            return anew.documents(self.collection) == self.store.documents(self.collection)


@pytest.fixture
def shared(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shared]:
    opened: list[str] = []
    reading = files.readings
    monkeypatch.setattr(
        files, "readings", lambda path, **how: (opened.append(path.name), reading(path, **how))[1]
    )
    with open_store(tmp_path / "store") as store:
        yield Shared(tmp_path, store, models, opened)


def test_all_shards_together_are_one_ingest(shared: Shared) -> None:
    reports = shared.ingest_all()
    found = [Path(file.path).name for report in reports for file in report.files]
    assert sorted(found) == sorted(NAMES)
    assert all(report.files for report in reports)
    assert shared.is_as_anew()


def test_a_changed_file_is_replaced_by_its_shard_and_left_alone_by_the_others(
    shared: Shared,
) -> None:
    shared.ingest_all()
    shared.write(NAMES[0], "# Now\n\nShort.")
    opened = []
    for shard in SHARDS:
        shared.ingest(shared.part(shard), shard)
        opened += shared.opened
    assert opened == [NAMES[0]]
    assert shared.is_as_anew()


def test_a_shard_that_lost_its_ledger_leaves_nothing_stale(shared: Shared) -> None:
    shared.ingest_all()
    for shard in SHARDS:
        shared.part(shard).unlink()
    shared.write(NAMES[0], "# Now\n\nShort.")
    reports = shared.ingest_all()
    assert sum(report.columns[0].written for report in reports) == 1
    assert shared.is_as_anew()


def test_a_shard_prunes_no_page_that_the_crawl_of_another_may_have(
    tmp_path: Path, models: Models
) -> None:
    def crawl(name: str, *pages: str) -> None:
        told = [
            {
                "markdown": f"Page {one} of pumps. " * 9,
                "metadata": {"sourceURL": f"https://x.org/{one}"},
            }
            for one in pages
        ]
        (docs / name).write_text("\n".join(map(json.dumps, told)), encoding="utf-8")

    def run(number: int | None, *, prune: bool = False) -> IngestReport:
        shard = FileShard(number, 2) if number else None
        own = tmp_path / f"{number or 2}.sqlite"
        both = [docs / one for one in of.values()]
        return ingest(both, PARSERS, store, models=models, ledger=own, shard=shard, prune=prune)

    docs = tmp_path
    names = [f"c{number}.jsonl" for number in range(99)]
    of = {number: next(one for one in names if FileShard(number, 2).holds(docs / one, docs / one))
          for number in (1, 2)}  # fmt: skip
    crawl(of[1], "a")
    crawl(of[2], "a", "b")
    with open_store(tmp_path / "store") as store:
        run(1)
        run(2)
        (info,) = store.collections()
        crawl(of[2], "b")
        assert run(2, prune=True).pruned == Pruned((), 0)
        assert len(store.documents(info.name)) == 2
        crawl(of[1], "c")
        pruned = run(None, prune=True).pruned
        assert pruned is not None
        assert len(pruned.documents) == 1
        assert len(store.documents(info.name)) == 2
