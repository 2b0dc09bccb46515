"""An edit of a splitter, a transformation or a model of one's own makes documents due."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core import Document

from rag_nodes.parsers import ForeignNodeParser, get_parser
from rag_nodes.pipeline import ingest, ingest_documents
from rag_nodes.store import open_store
from rag_nodes.upkeep import Inventory

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.pipeline import IngestReport

WORDS = " ".join(f"word{number}" for number in range(200)) + "\n"
SPLITTER = """
class Mine:
    def split_text(self, text):
        return [text[at : at + 300] for at in range(0, len(text), 300)]
"""
STEP = """
from llama_index.core.schema import TransformComponent
class Step(TransformComponent):
    def __call__(self, nodes, **_):
        for node in nodes:
            node.metadata["mood"] = "calm"
        return nodes
"""
MODEL = """
from llama_index.core import MockEmbedding
class Model(MockEmbedding):
    asked: int = 0
    def _get_text_embedding(self, text):
        object.__setattr__(self, "asked", self.asked + 1)
        return [1.0, 2.0]
    def _get_query_embedding(self, text):
        return [1.0, 2.0]
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a module and imports it, as the next process would."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("own_split", "own_step", "own_model"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def written(name: str, text: str) -> Any:
        (folder / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return written


@pytest.fixture
def corpus(tmp_path: Path) -> Any:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"# Part {number}\n\n{WORDS}")
    with open_store(tmp_path / "store") as store:
        yield folder, store


def run(corpus: Any, parsers: dict[str, Any], **options: Any) -> IngestReport:
    folder, store = corpus
    return ingest([folder], parsers, store, **{"embed_model": "lexical", **options})


def statuses(report: IngestReport) -> set[str]:
    return {one.status for one in report.files}


def test_a_changed_splitter_replaces_its_chunks_in_the_same_collection(
    corpus: Any, write: Any
) -> None:
    first = run(corpus, {"mine": write("own_split", SPLITTER).Mine()})
    again = run(corpus, {"mine": write("own_split", SPLITTER).Mine()})
    assert (statuses(first), statuses(again)) == ({"read"}, {"unchanged"})
    [former], edited = first.columns, SPLITTER.replace("300", "200")
    report = run(corpus, {"mine": write("own_split", edited).Mine()})
    [column] = report.columns
    assert statuses(report) == {"read"}
    assert column.collection == former.collection
    assert column.chunks > former.chunks
    assert column.deleted == former.chunks
    assert corpus[1].count(column.collection) == column.chunks
    assert statuses(run(corpus, {"mine": write("own_split", edited).Mine()})) == {"unchanged"}


def test_a_changed_splitter_leaves_other_columns_unchanged(corpus: Any, write: Any) -> None:
    ours = {"heading": get_parser("heading")}
    run(corpus, ours)
    for text in (SPLITTER, SPLITTER.replace("300", "200")):
        report = run(corpus, {**ours, "mine": write("own_split", text).Mine()})
        heading, mine = report.columns
        assert (heading.written, heading.unchanged) == (0, heading.chunks)
        assert mine.written == mine.chunks
    assert statuses(run(corpus, ours)) == {"unchanged"}


def test_a_dry_run_says_of_a_changed_splitter_what_an_ingest_does(corpus: Any, write: Any) -> None:
    parsers = {"mine": write("own_split", SPLITTER).Mine()}
    run(corpus, parsers)
    assert run(corpus, parsers, dry_run=True).due == {"mine": 0}
    parsers = {"mine": write("own_split", SPLITTER.replace("300", "200")).Mine()}
    rehearsal = run(corpus, parsers, dry_run=True)
    assert rehearsal.due == {"mine": 3}
    assert rehearsal.columns[0].deleted == run(corpus, parsers).columns[0].deleted
    assert run(corpus, parsers, dry_run=True).due == {"mine": 0}


def test_an_inventory_calls_what_a_splitter_of_ones_own_made_stored(
    corpus: Any, write: Any
) -> None:
    run(corpus, {"mine": write("own_split", SPLITTER).Mine()})
    from rag_nodes.ledger import Ledger

    with Ledger.of(corpus[1].location) as ledger:  # type: ignore[union-attr]
        inventory = Inventory(corpus[1], ledger)
        listed = inventory.documents("default", inventory.collections("default"))
    assert {one.state for one in listed} == {"stored"}


def test_a_closure_that_was_given_something_else_replaces_its_chunks() -> None:
    def made(size: int) -> Any:
        def cut(text: str) -> list[str]:
            return [text[at : at + size] for at in range(0, len(text), size)]

        return cut

    documents = [Document(text=WORDS, id_="a")]
    with open_store() as store:
        chunks = []
        for size in (500, 100, 100):
            report = ingest_documents(documents, {"mine": made(size)}, store, embed_model="lexical")
            chunks.append((report.columns[0].chunks, report.columns[0].written))
            assert store.count(report.columns[0].collection) == report.columns[0].chunks
    [(large, _), (small, written), (_, none)] = chunks
    assert small > large
    assert (written > 0, none) == (True, 0)


def test_a_changed_transformation_makes_every_document_due(corpus: Any, write: Any) -> None:
    parsers = {"heading": get_parser("heading")}
    for text, expected in (
        (STEP, "read"),
        (STEP, "unchanged"),
        (STEP.replace("calm", "x"), "read"),
    ):
        steps = [write("own_step", text).Step()]
        assert statuses(run(corpus, parsers, transformations=steps)) == {expected}


def test_a_changed_model_embeds_everything_again_in_the_same_collection(
    corpus: Any, write: Any
) -> None:
    parsers = {"heading": get_parser("heading")}
    asked, collections = [], set()
    for text in (MODEL, MODEL, MODEL.replace("2.0]", "3.0]")):
        model = write("own_model", text).Model(embed_dim=2)
        report = run(corpus, parsers, embed_model=model)
        collections.add(report.columns[0].collection)
        asked.append(report.columns[0].written)
        assert model.asked == report.columns[0].written
    assert asked == [asked[0], 0, asked[0]]
    assert len(collections) == 1


def test_what_cannot_be_told_is_due_in_every_run_and_said(corpus: Any, write: Any) -> None:
    text = SPLITTER.replace("300)]", "300) if FILE]") + "import sys\nFILE = sys.__stdout__\n"
    for _ in range(2):
        parser = ForeignNodeParser(splitter=write("own_split", text).Mine())
        report = run(corpus, {"mine": parser})
        [said] = report.untold
        assert said.startswith("Nobody can tell whether the code of own_split:Mine changed (FILE")
        assert statuses(report) == {"read"}
        assert corpus[1].count(report.columns[0].collection) == report.columns[0].chunks
    assert run(corpus, {"mine": parser}, dry_run=True).due == {"mine": 3}


def test_a_transformation_that_cannot_be_told_is_run_by_every_ingest(
    corpus: Any, write: Any
) -> None:
    text = STEP.replace('"calm"', "str(FILE)") + "import sys\nFILE = sys.__stdout__\n"
    for _ in range(2):
        steps = [write("own_step", text).Step()]
        report = run(corpus, {"heading": get_parser("heading")}, transformations=steps)
        assert statuses(report) == {"read"}
        assert "own_step:Step" in report.untold[0]


def test_another_release_makes_documents_due(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parsers = {"heading": get_parser("heading")}
    run(corpus, parsers)
    monkeypatch.setattr("rag_nodes.pipeline.recipe.version", lambda _: "999")
    report = run(corpus, parsers)
    assert statuses(report) == {"read"}
    assert report.columns[0].written == report.columns[0].chunks
