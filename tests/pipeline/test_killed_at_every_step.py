"""An ingest that is killed at any step of a change is completed by the next one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from counting_models import CountingEmbedding
from folder_ingests import FolderIngests, states
from stored_points import points_of

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest_from_store
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.store import Store, open_store

STEPS = {
    Store: ("put", "delete_others", "count_of", "flush", "mark"),
    Ledger: ("open", "settle", "record", "mark", "forget_stored", "forget_files"),
}
"""All that an ingest does to store and ledger."""


class KilledError(BaseException):
    """Stands for SIGKILL: nothing catches it."""


@contextmanager
def killed_at(moment: int | None) -> Iterator[list[str]]:
    """Has an ingest end before one of its steps; gives those that were begun."""
    begun: list[str] = []

    def watch_calls(owner: type, name: str) -> Any:
        real = getattr(owner, name)

        def call(self: Any, *arguments: Any) -> Any:
            begun.append(name)
            if len(begun) - 1 == moment:
                raise KilledError
            return real(self, *arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, names in STEPS.items():
            for name in names:
                patch.setattr(owner, name, watch_calls(owner, name))
        yield begun


class Trial(FolderIngests):
    """A folder and two crawls with a page in common, before and after a change."""

    def __init__(self, root: Path, store: Store, models: Models) -> None:
        (root / "docs" / "old").mkdir(parents=True)
        super().__init__(root / "docs", store, models, [])
        self.parsers = {
            "fixed": get_parser("fixed", chunk_size=80, chunk_overlap=0),
            "family": get_parser("parent-child"),
        }
        self.place = root / "ledger.sqlite"
        self.begin()

    def begin(self) -> None:
        for number in range(2):
            self.write(f"{number}.md", f"# Tea {number}\n\nNumber {number} is green.\n" * 9)
        self.write("old/kept.md", "# Pot\n\nA pot is round.\n" * 5)
        self.crawl("a.json", both="Tea is green.", own="Only here.")
        self.crawl("b.json", both="Tea is not green.")

    def change(self) -> None:
        self.write("0.md", "# Coffee 0\n\nNumber 0 is black.\n" * 7)
        self.write("new.md", "# New\n\nNever seen.\n")
        (self.folder / "1.md").unlink()
        (self.folder / "old").rename(self.folder / "renamed")
        self.crawl("a.json", both="Tea is black, perhaps.")
        self.crawl("b.json", both="Tea is black.")

    def put_back(self) -> None:
        (self.folder / "renamed").rename(self.folder / "old")
        (self.folder / "new.md").unlink()
        self.begin()

    def run(self) -> IngestReport:
        crawls = (self.folder / "a.json", self.folder / "b.json")
        return self.ingest(self.folder, *crawls, ledger=self.place, prune=True)

    def embedded(self) -> set[str]:
        """Texts that both columns have a vector of."""
        each = []
        for collection in self.store.collections():
            stored = self.store.vectors_of(
                collection.name, [*self.store.documents(collection.name)]
            )
            each.append({text for _, text, _ in stored})
        return set.intersection(*each)

    def points(self) -> dict[str, dict[str, Any]]:
        return {
            collection.name: points_of(self.store, collection.name)
            for collection in self.store.collections()
        }


def anew(folder: Path) -> Path:
    """An unused folder, always at the same path."""
    root = folder / "root"
    if root.exists():
        root.rename(folder / f"done-{sum(1 for _ in folder.iterdir())}")
    return root


@contextmanager
def trial(root: Path, models: Models) -> Iterator[Trial]:
    """A folder that was ingested, always at the same path, and a store of its own."""
    with open_store(":memory:") as store:
        prepared = Trial(root, store, models)
        prepared.run()
        yield prepared


def test_an_ingest_that_is_killed_at_any_step_is_completed_by_the_next(
    tmp_path: Path, models: Models, embedding: CountingEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.pipeline.run.MOST_FILES", 2)
    monkeypatch.setattr("rag_nodes.pipeline.run.CHECKPOINT", 1)
    with trial(anew(tmp_path), models) as clean:
        before = clean.points()
        clean.change()
        with killed_at(None) as steps:
            clean.run()
        wanted = clean.points()
    assert {*steps} == {name for names in STEPS.values() for name in names}

    for moment in range(len(steps)):
        with trial(anew(tmp_path), models) as killed:
            killed.change()
            with killed_at(moment), pytest.raises(KilledError):
                killed.run()
            if is_back := moment % 3 == 0:
                killed.put_back()
            kept = killed.embedded()
            embedding.texts.clear()

            killed.run()

            assert killed.points() == (before if is_back else wanted), (moment, steps[moment])
            assert not kept & {*embedding.texts}, "what is stored is not paid for again"
            assert set(states(killed.run())) == {"unchanged"}, (moment, steps[moment])


def test_an_ingest_from_the_store_that_is_killed_at_any_step_is_completed_by_the_next(
    tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.pipeline.run.MOST_FILES", 2)
    monkeypatch.setattr("rag_nodes.pipeline.run.CHECKPOINT", 1)
    embedding = CountingEmbedding(embed_batch_size=1000)
    other = replace(models, embedding=embedding, embedding_name="other")

    def run(ingested: Trial) -> IngestReport:
        return ingest_from_store(
            ingested.parsers, ingested.store, models=other, ledger=ingested.place
        )

    with trial(anew(tmp_path), models) as clean, killed_at(None) as steps:
        run(clean)
        wanted = clean.points()

    for moment in range(len(steps)):
        with trial(anew(tmp_path), models) as killed:
            with killed_at(moment), pytest.raises(KilledError):
                run(killed)
            kept = killed.embedded() if len(killed.points()) == len(wanted) else set()
            embedding.texts.clear()

            run(killed)

            assert killed.points() == wanted, (moment, steps[moment])
            assert not kept & {*embedding.texts}, "what is stored is not paid for again"
            assert set(states(run(killed))) == {"unchanged"}, (moment, steps[moment])
