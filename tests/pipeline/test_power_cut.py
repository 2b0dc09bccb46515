"""A power cut at any moment: what was written and not flushed is gone, the next ingest mends it."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from counting_models import CountingEmbedding
from dict_engine import DictEngine
from folder_ingests import FolderIngests, states
from llama_index.core.schema import Document, MetadataMode

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest_documents
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.store import Point, Store
from rag_nodes.store.payload import node_in

Points = dict[str, dict[str, list[float]]]


class PowerCutError(BaseException):
    """The machine is off: nothing catches it."""


class Disk(Store):
    """A store that has in memory what is written, and on its disk what was flushed."""

    def __init__(self) -> None:
        super().__init__(DictEngine())
        self._disk: dict[str, Any] = {}
        self._marks: dict[str, dict[str, str]] = {}
        self._marks_on_disk: dict[str, dict[str, str]] = {}
        self.calls = 0
        self.cut_at: int | None = None
        self.ledger: Path | None = None

    @property
    def _all(self) -> dict[str, Any]:
        return self.engine._all

    def _call(self) -> None:
        self.calls += 1
        if self.calls == self.cut_at:
            raise PowerCutError

    def _check(self) -> None:
        """Every version that is stored is that of the ledger, or the document is open there."""
        if self.ledger:
            with Ledger(self.ledger) as ledger:
                for name in self._all:
                    stored = self.documents(name)
                    versions = {key: row.version for key, row in ledger.stored(name).items()}
                    for key, nodes in stored.items():
                        assert not versions[key] or {
                            node.source_hash for node in nodes.values()
                        } == {versions[key]}

    def put(self, collection: str, points: Sequence[Point]) -> None:
        self._call()
        super().put(collection, points)
        self._check()

    def delete_others(self, collection: str, kept: Mapping[str, Sequence[str]]) -> None:
        self._call()
        super().delete_others(collection, kept)
        self._check()

    def flush(self, collection: str) -> None:
        self._call()
        self._check()
        for memory, disk in ((self._all, self._disk), (self._marks, self._marks_on_disk)):
            if collection in memory:
                disk[collection] = deepcopy(memory[collection])

    def marks(self, collection: str) -> dict[str, str]:
        return dict(self._marks.get(collection, {}))

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> bool:
        self._call()
        if collection not in self._all:
            return False
        both = self.marks(collection) | dict(marks)
        self._marks[collection] = {key: point for key, point in both.items() if point is not None}
        return True

    def cut(self) -> None:
        """What was in memory is gone."""
        self.engine._all = deepcopy(self._disk)
        self._marks = deepcopy(self._marks_on_disk)
        self.cut_at = None

    def embedded_on_disk(self) -> set[str]:
        """What the chunks that a power cut leaves were embedded as."""
        return {
            _embedded_text(name, point)
            for name, collection in self._disk.items()
            for point in collection.select(None, None)
        }

    def points(self) -> Points:
        return {
            name: {
                element.node_id: list(element.vector or ())
                for element in collection.select(None, None)
            }
            for name, collection in self._all.items()
        }


def _embedded_text(collection: str, point: Point) -> str:
    """What a chunk was embedded as."""
    node = node_in(point.payload, point.node_id, collection)
    return node.get_content(MetadataMode.EMBED)


class Corpus(FolderIngests):
    """Ingests into such a store, with a ledger in a folder of its own."""

    def __init__(self, folder: Path, ledger: Path, models: Models) -> None:
        super().__init__(folder, Disk(), models, [])
        self.disk, self.place = self.store, ledger
        self.disk.ledger = ledger

    def again(self) -> list[str]:
        return states(self.ingest(ledger=self.place))

    def change(self) -> None:
        for number in range(2):
            self.write(f"{number}.md", f"# Coffee {number}\n\nNumber {number} is black.\n" * 9)
        self.write("new.md", "# New\n\nNever seen.\n")


Corpora = Callable[[str], Corpus]


@pytest.fixture
def corpora(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Corpora:
    """Makes a corpus that was ingested, one file at a time."""
    monkeypatch.setattr("rag_nodes.pipeline.run.MOST_FILES", 1)
    folder = tmp_path / "documents"
    folder.mkdir()

    def make(name: str) -> Corpus:
        corpus = Corpus(folder, tmp_path / name / "ledger.sqlite", models)
        for number in range(2):
            corpus.write(f"{number}.md", f"# Tea {number}\n\nNumber {number} is green.\n" * 9)
        (folder / "new.md").unlink(missing_ok=True)
        corpus.again()
        corpus.change()
        return corpus

    return make


@pytest.mark.parametrize(
    ("checkpoint", "keeps_commits"),
    [(1, False), (1000, True)],
    ids=["flushed often, the ledger's last commits lost too", "flushed at the end"],
)
def test_a_power_failure_at_any_moment_is_mended_by_the_next_ingest(
    corpora: Corpora, monkeypatch: pytest.MonkeyPatch, checkpoint: int, keeps_commits: bool
) -> None:
    monkeypatch.setattr("rag_nodes.pipeline.run.CHECKPOINT", checkpoint)
    clean = corpora("clean")
    before = clean.disk.calls
    clean.again()
    wanted, moments = clean.disk.points(), clean.disk.calls - before
    assert moments > 5
    for moment in range(1, moments + 1):
        corpus = corpora(f"cut-{moment}-{keeps_commits}")
        corpus.disk.cut_at = corpus.disk.calls + moment
        saved = None if keeps_commits else Saved(corpus.place, monkeypatch)
        with pytest.raises(PowerCutError):
            corpus.again()
        corpus.disk.cut()
        if saved:
            saved.restore()

        corpus.again()

        assert corpus.disk.points() == wanted, moment
        assert corpus.again() == ["unchanged"] * 3, moment


class Saved:
    """A ledger as a disk has it: only what SQLite committed with FULL is there for certain."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch) -> None:
        self._place, self._kept = place, place.with_suffix(".kept")
        self._keep()
        real = Ledger.open

        def open_and_keep(ledger: Ledger, *arguments: Any) -> None:
            real(ledger, *arguments)
            self._keep()

        patch.setattr(Ledger, "open", open_and_keep)

    def _keep(self) -> None:
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(self._place.parent, self._kept, ignore=shutil.ignore_patterns("*.kept"))

    def restore(self) -> None:
        """Lose what was committed since."""
        for path in self._place.parent.glob("ledger.sqlite*"):
            if path.is_file():
                path.unlink()
        for path in self._kept.glob("ledger.sqlite*"):
            shutil.copy(path, self._place.parent)


def test_flushed_points_survive_a_power_failure(
    corpora: Corpora, embedding: CountingEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.pipeline.run.CHECKPOINT", 1)
    corpus = corpora("one")
    embedding.texts.clear()
    corpus.disk.cut_at = corpus.disk.calls + 9
    with pytest.raises(PowerCutError):
        corpus.again()
    corpus.disk.cut()
    paid = set(embedding.texts)
    flushed = corpus.disk.embedded_on_disk()
    embedding.texts.clear()
    corpus.again()
    assert paid & flushed
    assert not [text for text in embedding.texts if text in flushed]


def test_pruned_points_stay_gone_after_a_power_failure(corpora: Corpora) -> None:
    corpus = corpora("pruned")
    corpus.again()
    (corpus.folder / "1.md").unlink()
    corpus.ingest(ledger=corpus.place, prune=True)
    wanted = corpus.disk.points()

    corpus.disk.cut()

    assert corpus.disk.points() == wanted


def test_chunks_of_a_document_that_is_blank_now_do_not_come_back_with_a_power_failure(
    tmp_path: Path, models: Models
) -> None:
    disk = Disk()

    def ingest(text: str) -> None:
        given = [Document(text=text, id_="tea")]
        ingest_documents(
            given, {"page": get_parser("page")}, disk, models=models, ledger=tmp_path / "l"
        )

    ingest("Tea is green. " * 50)
    assert any(disk.points().values())
    ingest(" ")

    disk.cut()

    assert not any(disk.points().values())


class Unmarkable(Disk):
    """A store of somebody else, whose marks fail in a way of its own once there is anything."""

    fails = False

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> bool:
        if collection in self._all and self.fails:
            raise RuntimeError("no marks today")
        return super().mark(collection, marks)


def test_nothing_is_stored_that_could_not_be_opened_before(tmp_path: Path, models: Models) -> None:
    store, place = Unmarkable(), tmp_path / "ledger"

    def ingest(text: str) -> IngestReport:
        given, parsers = [Document(text=text, id_="tea")], {"page": get_parser("page")}
        return ingest_documents(given, parsers, store, models=models, ledger=place)

    ingest("Tea is green. " * 50)
    store.fails = True
    report = ingest("Tea is black. " * 50)

    assert report.files[0].status == "incomplete"
    with Ledger(place) as ledger:
        for name in store.points():
            versions = {point.source_hash for point in store.stored(name, "tea").values()}
            assert versions == {ledger.stored(name)["tea"].version}
    store.fails = False
    assert ingest("Tea is black. " * 50).files[0].status == "read"
